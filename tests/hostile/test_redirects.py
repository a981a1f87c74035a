"""Redirects that bring much: they and what they lead to have the bytes of one page together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from crawling import crawl, stats_of
from localweb import Answer, LocalWeb

PART = 200_000
"""Bytes of what each redirect brings."""
MOST = 1_000_000
HOPS = 18
"""Fewer than REDIRECT_MAX_TIMES."""
NONE: Mapping[str, str] = {}
BODY = b"x" * PART
HEADERS = {f"X-{number}": "y" * 1_000 for number in range(PART // 1_000)}


class Chain(LocalWeb):
    """`/` leads to `/1`, that to `/2`, and so on; a page is at the end. It counts what it has sent."""

    def __init__(
        self, *, body: bytes = b"", page: bytes = b"the end", hops: int = HOPS, headers: Mapping[str, str] = NONE
    ) -> None:
        super().__init__(self._hop)
        self.sent = 0
        self._body, self._page, self._hops, self._headers = body, page, hops, headers

    def _hop(self, path: str, host: str) -> Answer | None:
        number = int(path[1:] or 0) if path[1:].isdigit() or path == "/" else None
        if number is None:
            return None
        if number == self._hops:
            answer = Answer(self._page, headers={"Content-Type": "text/html"})
        else:
            answer = Answer(self._body, 302, {"Location": f"/{number + 1}", **self._headers})
        self.sent += len(answer.body) + sum(len(name) + len(value) for name, value in answer.headers.items())
        return answer


def crawled(web: Chain, directory: Path) -> dict[str, int]:
    done = crawl(f"{web.root}/", directory / "job", DOWNLOAD_MAXSIZE=MOST, STATS_DUMP=True, LOG_LEVEL="INFO")
    assert done.returncode == 0, done.stderr
    return stats_of(done.stderr)


@pytest.mark.parametrize("what", ["bodies", "headers"])
def test_a_chain_has_the_bytes_of_one_page(what: str, tmp_path: Path) -> None:
    """However it brings them. The last redirect is not followed, and counted."""
    with Chain(body=BODY) if what == "bodies" else Chain(headers=HEADERS) as web:
        stats = crawled(web, tmp_path)
        assert stats.get("limits/redirect_size") == 1
        assert MOST <= web.sent <= MOST + 2 * PART
        assert max(int(path[1:] or 0) for path in web.paths()) < HOPS


def test_what_a_chain_leads_to_has_what_is_left(tmp_path: Path) -> None:
    """A page that is as large as one may be is none at the end of it."""
    with Chain(body=BODY, page=b"z" * MOST, hops=2) as web:
        assert crawled(web, tmp_path).get("limits/redirect_size") == 1
        assert web.paths()[-1] == "/2"


def test_a_chain_of_little_is_followed(tmp_path: Path) -> None:
    """To its end."""
    with Chain() as web:
        stats = crawled(web, tmp_path)
        assert web.paths()[-1] == f"/{HOPS}"
        assert "limits/redirect_size" not in stats
