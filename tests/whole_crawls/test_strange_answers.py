"""One crawl of a site whose server writes what browsers read and others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from crawling import crawl, stats_of
from localweb import Answer, LocalWeb, linked

BAD = [f"/bad/{number}" for number in range(12)]
LINKS = [
    "/bounce", "/loop", "/r/backslash", "/r/http3", "/r/bytes", "/r/two", "/r/same", "/300",
    "/pipe|x", "/br[0]?a[]=|", "/%zz", "/%25zz", *BAD,
]  # fmt: skip


def redirect(*locations: bytes, more: bytes = b"", status: bytes = b"302 Found") -> Answer:
    lines = b"".join(b"Location: " + location + b"\r\n" for location in locations)
    return Answer(raw=b"HTTP/1.1 " + status + b"\r\n" + lines + more + b"Content-Length: 0\r\n\r\n")


class Strange(LocalWeb):
    """Its front page, and `/bounce`, want a cookie back; `/loop` sets another one each time."""

    def __init__(self) -> None:
        super().__init__(self._page)
        self.times: Counter[str] = Counter()

    def _page(self, path: str, host: str) -> Answer | str:
        self.times[path] += 1
        fixed = {
            "/robots.txt": Answer(raw=b"http/1.1 200 OK\nX-Thing : a\nContent-Length: 0\nContent-Length : 0\n\n"),
            "/back": redirect(b"/bounce"),
            "/loop": redirect(b"/loop", more=b"Set-Cookie: n=%d\r\n" % self.times["/loop"]),
            "/r/backslash": redirect(b"\\bs\\x"),
            "/r/http3": redirect(b"http:///" + host.encode() + b"/http3"),
            "/r/bytes": redirect(b"/caf\xe9?a|[]"),
            "/r/two": redirect(b"/one", b"/two"),
            "/r/same": redirect(b"/same", b"/same"),
            "/300": Answer(b'<a href="/choice">choose', 300, {"Content-Type": "text/html"}),
        }
        if path in fixed:
            return fixed[path]
        if path in BAD:
            return Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n")
        if path == "/" and self.times[path] == 1:
            return redirect(b"/", more=b"Set-Cookie: front=1\r\n")
        if path == "/bounce" and self.times[path] == 1:
            return redirect(b"/back", more=b"Set-Cookie: bounce=1\r\n")
        return linked(*(LINKS if path == "/" else [f"/of{path}"] if path == "/bounce" else []), title=f"page {path}")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Strange]:
    """After the crawl; `stats` are those that it ended with."""
    with Strange() as web:
        done = crawl(f"{web.root}/", tmp_path_factory.mktemp("strange") / "job", STATS_DUMP=True, LOG_LEVEL="INFO")
        web.stats, web.log = stats_of(done.stderr), done.stderr  # type: ignore[attr-defined]
        yield web


def test_redirects_lead_where_a_browser_goes(web: Strange) -> None:
    """One parser reads every Location; of 300 the page itself says where to go."""
    assert {"/bs/x", "/http3", "/caf%E9?a|[]", "/same", "/choice"} <= web.times.keys()


def test_a_redirect_to_two_places_leads_nowhere(web: Strange) -> None:
    """Browsers refuse it (Fetch, section 2.2.6); a statistic counts it."""
    assert not {"/one", "/two"} & web.times.keys()
    assert web.stats["redirects/ambiguous"] == 1  # type: ignore[attr-defined]


def test_urls_are_sent_as_a_browser_sends_them(web: Strange) -> None:
    """Nothing is escaped but what the URL standard escapes."""
    assert {"/pipe|x", "/br[0]?a[]=|", "/%zz", "/%25zz"} <= web.times.keys()


def test_a_circle_that_sets_cookies_is_asked_with_them(web: Strange) -> None:
    """Though cookies are not kept: the host is named once, and the pages behind the circles come."""
    assert (web.times["/"], web.times["/of/bounce"]) == (2, 1)
    assert "front=1" in next(hit.headers["Cookie"] for hit in web.hits[::-1] if hit.path == "/")
    assert "bounce=1" in next(hit.headers["Cookie"] for hit in web.hits[::-1] if hit.path == "/bounce")
    assert web.stats["cookies/needed"] == web.log.count("redirects in circles") == 1  # type: ignore[attr-defined]


def test_a_circle_without_end_ends(web: Strange) -> None:
    """However many cookies its server can think of."""
    assert web.times["/loop"] == 4


def test_broken_answers_fail_alone(web: Strange) -> None:
    """After their retries, without a rest of their host: it answers."""
    assert {web.times[path] for path in BAD} == {3}
    assert web.stats["retry/max_reached"] == len(BAD)  # type: ignore[attr-defined]
    assert "outages/put_back" not in web.stats  # type: ignore[attr-defined]
