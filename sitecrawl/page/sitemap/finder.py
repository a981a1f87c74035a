"""Finding a site's sitemaps in one call, for programs that use nothing else of this package.

The same search as that of a crawl (`sitecrawl.page.sitemap.locations`), without its store, its schedule and its
politeness: whoever calls says how an address is fetched, and looks after robots.txt and pauses there.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import read_page
from sitecrawl.page.sitemap.entry import Entry, Form, ParseReport, Problem
from sitecrawl.page.sitemap.locations import GUESSES, How, SitemapAnswer, in_robots, is_sitemap, on_page, usual
from sitecrawl.page.sitemap.parse import chunks_of, read_sitemap
from sitecrawl.urls.url import Url, guess_url, parse


@dataclass(frozen=True, slots=True)
class Fetched:
    """Response of an address."""

    url: str
    """URL after redirects."""
    status: int
    body: bytes = b""
    """Without content coding."""
    headers: Sequence[tuple[bytes, bytes]] = ()


Fetch = Callable[[str], Awaitable[Fetched | None]]
"""Function that fetches a URL, following redirects; None without a response."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """A sitemap that was found. `entries` reads it; those of an index are sitemaps themselves."""

    url: str
    how: How
    form: Form
    count: int
    """Its entries."""
    problems: Problem
    body: bytes

    def entries(self) -> Iterator[Entry]:
        return read_sitemap(chunks_of(self.body), self.url, ParseReport())


async def find_sitemaps(site: str, fetch: Fetch, *, most: int = 100) -> list[Sitemap]:
    """The sitemaps of `site` (a URL or a domain), at most so many: what its robots.txt and its front page name, and
    what is at the usual addresses. Feeds are sitemaps, too.

    Asks for robots.txt, the front page, each address that they name, one that cannot exist, and the usual ones: all
    where nothing is named, otherwise the likeliest `GUESSES`; so also where the host has a page at the one that
    cannot exist. Raises `InvalidUrl`, and what `fetch` raises.
    """
    url = guess_url(site)
    return await _Search(parse(f"{url.origin}/"), fetch, most).run()


class _Search:
    def __init__(self, root: Url, fetch: Fetch, most: int) -> None:
        self._root = root
        self._fetch = fetch
        self._most = most
        self._found: list[Sitemap] = []
        self._asked: set[str] = set()
        self._missing: SitemapAnswer | None = None

    async def run(self) -> list[Sitemap]:
        robots = await self._get(self._root.href + "robots.txt")
        await self._look(How.ROBOTS, in_robots(robots.body, robots.url) if robots else [])
        front = await self._get(self._root.href)
        await self._look(How.LINK, on_page(front.body, _page(front)) if front else [])
        await self._guess(parse(front.url) if front else self._root)
        return self._found

    async def _get(self, url: str) -> Fetched | None:
        """Fetch `url`; None unless successful with a valid final URL."""
        fetched = await self._fetch(url)
        try:
            return fetched if fetched and 200 <= fetched.status < 300 and parse(fetched.url) else None
        except InvalidUrl:
            return None

    async def _look(self, how: How, urls: Sequence[Url]) -> bool:
        """Look at `urls`; whether there was a sitemap."""
        before = len(self._found)
        for url in urls:
            if len(self._found) < self._most and url.href not in self._asked:
                self._asked.add(url.href)
                if (fetched := await self._get(url.href)) and (sitemap := self._read(how, fetched)):
                    self._found.append(sitemap)
        return len(self._found) > before

    async def _guess(self, front: Url) -> None:
        nowhere = await self._fetch(parse(f"sitemap-{secrets.token_hex(8)}.html", front.href).href)
        if nowhere is not None:
            self._missing = SitemapAnswer.of(nowhere.url, nowhere.status, nowhere.body, _page(nowhere))
        is_soft = nowhere is not None and nowhere.status < 400
        for count, url in enumerate(usual(front)):
            if count >= GUESSES and (is_soft or not all(sitemap.form.is_feed for sitemap in self._found)):
                return
            await self._look(How.USUAL, [url])

    def _read(self, how: How, fetched: Fetched) -> Sitemap | None:
        page, report = _page(fetched), ParseReport()
        count = sum(1 for _ in read_sitemap(chunks_of(fetched.body), fetched.url, report, label=page.charset))
        answer = SitemapAnswer.of(fetched.url, fetched.status, fetched.body, page)
        doubtful = how != How.ROBOTS
        if report.form == Form.UNKNOWN or (doubtful and not is_sitemap(answer, report, missing=self._missing)):
            return None
        return Sitemap(fetched.url, how, report.form, count, report.problems, fetched.body)


def _page(fetched: Fetched) -> PageItem:
    return read_page(fetched.url, fetched.body, fetched.headers)
