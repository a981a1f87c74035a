"""What each host is sent besides, and what others get to see of it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector

from sitecrawl.base.errors import OptionError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.access import Access
from sitecrawl.crawl.fetch import SentAt, exchange_of
from sitecrawl.crawldir.database import Database
from sitecrawl.http.cookies import IN_CRAWL
from sitecrawl.http.sheets import Sheet, Sheets
from sitecrawl.page.items import Headers
from sitecrawl.urls.url import parse

OURS = "https://a.example/"
OTHERS = (
    "https://b.example/",
    "https://www.a.example/",
    "https://a.example:8443/",
    "https://a.example.evil.example/",
)


def crawler() -> Crawler:
    return Crawler(Spider, {"STATS_DUMP": False})


def access(path: Path, *sheets: Sheet, all_cookies: bool = False, most: int = 100) -> Access:
    stats = MemoryStatsCollector(crawler())
    return Access(Sheets(sheets), path, stats, all_cookies=all_cookies, most_cookies=most)


def sent(one: Access, url: str, *headers: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return dict(one.sent(url, parse(url).host, headers))


def heard(one: Access, url: str, *cookies: bytes) -> Headers:
    return one.heard(url, parse(url).host, [(b"Set-Cookie", cookie) for cookie in cookies])


def checkpoint(one: Access, path: Path) -> None:
    with closing(Database(path / "db", hash_name=HASH_NAME)) as database:
        one.prepare(database.batch())


BEARER = Sheet(("a.example",), login={"kind": "bearer", "token": "t"})


def test_to_that_host_alone(tmp_path: Path) -> None:
    """Headers, tokens and cookies go to the host that the sheet names, and to no other name, port or subdomain."""
    sheet = Sheet(("a.example",), headers={"X-Key": "k"}, cookies={"c": "1"}, login=BEARER.login)
    one = access(tmp_path, sheet)
    assert sent(one, OURS) == {b"X-Key": b"k", b"Authorization": b"Bearer t", b"Cookie": b"c=1"}
    assert [sent(one, url) for url in OTHERS] == [{}] * len(OTHERS)


def test_in_the_place_of_the_crawls_own(tmp_path: Path) -> None:
    """A header of the sheet counts in the place of the request's of the same name, however that is written."""
    one = access(tmp_path, Sheet(("a.example",), headers={"Accept-Language": "fi"}))
    assert sent(one, OURS, (b"accept-language", b"en"), (b"Accept", b"*/*")) == {
        b"Accept": b"*/*",
        b"Accept-Language": b"fi",
    }


def test_a_requests_own_cookies(tmp_path: Path) -> None:
    """Cookies of the request are sent as well, but for those that are kept, and those that are masked."""
    one = access(tmp_path, Sheet(("a.example",), cookies={"c": "1"}))
    assert sent(one, OURS, (b"Cookie", b"c=old; own=2; x=(masked)"))[b"Cookie"] == b"own=2; c=1"
    assert sent(one, "https://b.example/", (b"Cookie", b"x=(masked)")) == {}


@pytest.mark.parametrize(
    ("login", "over_http"),
    [
        ({"kind": "bearer", "token": "t"}, False),
        ({"kind": "bearer", "token": "t", "over_http": True}, True),
        ({"kind": "form", "url": "https://a.example/in", "fields": {"p": "x"}}, False),
        ({"kind": "form", "url": "http://a.example/in", "fields": {"p": "x"}}, True),
    ],
)
def test_over_plain_http(login: dict[str, object], *, over_http: bool, tmp_path: Path) -> None:
    """What lets the crawl in by https goes over nothing else, unless the sheet says so; a session's cookies, too."""
    one = access(tmp_path, Sheet(("a.example",), login=login))
    heard(one, OURS, b"sid=1; Path=/")
    assert sent(one, OURS)
    assert bool(sent(one, "http://a.example/")) is over_http


def test_plain_http_sets_nothing(tmp_path: Path) -> None:
    """Where nothing is sent by http, nothing that comes by it is kept, or shown."""
    one = access(tmp_path, Sheet(("a.example",), login={"kind": "form", "url": f"{OURS}in", "fields": {"p": "x"}}))
    heard(one, OURS, b"sid=ours; Path=/")
    assert heard(one, "http://a.example/", b"sid=theirs; Path=/") == [(b"Set-Cookie", b"sid=(masked); Path=/")]
    assert sent(one, OURS)[b"Cookie"] == b"sid=ours"


def test_what_others_see(tmp_path: Path) -> None:
    """Of what was sent and set the archive has names; the request's own header of that name is gone as well."""
    one = access(tmp_path, Sheet(("a.example",), headers={"X-Key": "secret"}, cookies={"c": "secret"}))
    assert heard(one, OURS, b"sid=secret; Path=/; HttpOnly") == [(b"Set-Cookie", b"sid=(masked); Path=/; HttpOnly")]
    request = Request(OURS, headers={"X-Key": "of-spider", "Accept": "*/*"})
    shown = exchange_of(request, Response(OURS), SentAt(), one.shown(OURS, "a.example"))
    assert shown.request_headers == [(b"Accept", b"*/*"), (b"X-Key", b"(masked)"), (b"Cookie", b"(masked)")]


def test_hosts_without_a_sheet_set_nothing(tmp_path: Path) -> None:
    """Cookies of other hosts are not kept, and their headers are as they came."""
    one = access(tmp_path, BEARER)
    assert heard(one, "https://b.example/", b"x=1") == [(b"Set-Cookie", b"x=1")]
    assert len(one.cookies) == 0
    checkpoint(one, tmp_path)
    assert not (tmp_path / IN_CRAWL).exists()


def test_a_run_goes_on(tmp_path: Path) -> None:
    """The next run has what the last checkpoint had; a file that cannot be read is told of, and costs the session."""
    sheet = Sheet(("a.example",), cookies={"c": "1"})
    one = access(tmp_path, sheet)
    heard(one, OURS, b"sid=1; Path=/")
    checkpoint(one, tmp_path)
    assert (tmp_path / IN_CRAWL).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / IN_CRAWL).parent.stat().st_mode & 0o777 == 0o700
    assert b"sid=1" in sent(access(tmp_path, sheet), OURS)[b"Cookie"]
    (tmp_path / IN_CRAWL).write_bytes(b"torn")
    assert sent(access(tmp_path, sheet), OURS)[b"Cookie"] == b"c=1"


def test_the_newer_file_counts(tmp_path: Path) -> None:
    """Of a browser's file and what the crawl has kept, what was written last is sent; and no other site's cookies."""
    given = tmp_path / "given.txt"
    lines = [
        "# Netscape HTTP Cookie File",
        "a.example\tFALSE\t/\tFALSE\t\tsid\tgiven",
        "b.example\tFALSE\t/\tFALSE\t\tx\t1",
    ]
    given.write_text("\n".join(lines))
    sheet = Sheet(("a.example",), login={"kind": "cookies", "file": str(given)})
    one = access(tmp_path, sheet)
    assert (sent(one, OURS)[b"Cookie"], len(one.cookies)) == (b"sid=given", 1)
    heard(one, OURS, b"sid=renewed; Path=/")
    checkpoint(one, tmp_path)
    assert sent(access(tmp_path, sheet), OURS)[b"Cookie"] == b"sid=renewed"
    later = (tmp_path / IN_CRAWL).stat().st_mtime + 10
    os.utime(given, (later, later))
    assert sent(access(tmp_path, sheet), OURS)[b"Cookie"] == b"sid=given"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A login that names a file of cookies that cannot be read ends the start with one line."""
    with pytest.raises(OptionError, match="login: /no cannot be read: No such file"):
        access(tmp_path, Sheet(("a.example",), login={"kind": "cookies", "file": "/no"}))


def test_too_many_are_counted(tmp_path: Path) -> None:
    """Cookies beyond the limit are left out, and counted as a limit's."""
    stats = MemoryStatsCollector(crawler())
    one = Access(Sheets(), tmp_path, stats, all_cookies=True, most_cookies=2)
    for name in "abcd":
        heard(one, f"https://{name}.example/", b"k=1")
    assert (len(one.cookies), stats.get_value("limits/cookies")) == (2, 2)
