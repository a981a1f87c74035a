"""`dry=1`: what a crawl would fetch, and what that would take, from a look at a few pages.

Fetched are each host's robots.txt, the sitemaps that these name (`_SITEMAPS` at the most, those that an index lists
among them), and the first `_PAGES` pages from the seeds on, level by level. What a page redirects to is a URL of its
own, as in the crawl, and is asked for only if it is in scope. Pauses are those of the crawl. Nothing is stored.

How many pages there are is estimated as animals are that nobody can count: marked in one catch, met again in another.
Of the pages that were read, every second one is one catch, and the rest the other; what counts is the URLs that they
link to (Chapman 1951, "Some properties of the hypergeometric distribution with applications to zoological sample
censuses"). Links repeat more than chance would have it, for menus stand on every page: so it is the least that there
is likely to be, and is called so. Where nothing was left unread, it is the number.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.signals import robots_parsed

from middlewares.redirects import RedirectsMiddleware
from sitecrawl.base import plugins
from sitecrawl.base.display import counted, duration, printable, size
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.directories import temporary
from sitecrawl.crawl.requests import COMES_BACK, host_of
from sitecrawl.crawl.sitemaps.entry import ParseReport
from sitecrawl.crawl.sitemaps.locations import in_robots
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_sitemap
from sitecrawl.page.items import Link
from sitecrawl.spiders.site import SiteSpider
from sitecrawl.urls.url import Url, parse, parse_or_none

_PAGES: Final = 20
"""Fetched at the most, over all seeds."""
_SITEMAPS: Final = 10
"""The same of sitemaps."""
_LISTED: Final = 100_000
"""URLs of sitemaps that are read."""


@dataclass(slots=True)
class _Look:
    """The results of a dry run."""

    found: dict[str, str] = field(default_factory=dict)
    """Hosts by URL in scope that robots.txt does not forbid, in the order in which they were found."""
    fetched: list[tuple[str, float, int]] = field(default_factory=list)
    """Host, seconds and unpacked bytes of each fetched page."""
    failed: list[str] = field(default_factory=list)
    """Lines about failures."""
    forbidden: set[str] = field(default_factory=set)
    listed: dict[str, str] = field(default_factory=dict)
    """The same as `found` for URLs that only sitemaps list."""
    unread: int = 0
    """Sitemaps not fetched because there were too many."""
    catches: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    sitemaps: int = 0
    robots: int = 0
    is_whole: bool = False
    """Whether everything found was read."""

    def estimate(self) -> int:
        """Estimated least number of URLs."""
        if self.is_whole:
            return len(self.found)
        one, other = (catch - self.forbidden for catch in self.catches)
        return max(len(self.found), (len(one) + 1) * (len(other) + 1) // (len(one & other) + 1) - 1)


class DryRun:
    """A dry run with the downloads of `crawler`: its middlewares, robots.txt and redirects."""

    def __init__(
        self,
        crawler: Crawler,
        spider: SiteSpider,
        seeds: list[Url],
        named: list[Url],
        max_pages: int,
        *,
        gathers: bool,
    ) -> None:
        self._crawler = crawler
        self._spider = spider
        self._seeds = seeds
        self._named = named
        self._max_pages = max_pages
        self._gathers = gathers
        """Whether the crawl fetches what sitemaps list."""
        self._crawl = Crawl.of(crawler)
        self._agent = configuration.robots_agent(crawler.settings)
        self._parsers: dict[str, RobotParser] = {}
        """By scheme and host."""
        self._sitemaps: deque[Url] = deque(named)
        self._free_at: dict[str, float] = {}
        self.look = _Look()

    @staticmethod
    def settings() -> dict[str, Any]:
        """Of a crawl that only looks: a directory that will go, and nothing else written."""
        others = {name: value for name, value in _OF_PLUGINS.items() if name in plugins.settings()}
        return {**_SETTINGS, **others, "JOBDIR": str(temporary())}

    async def run(self) -> list[str]:
        """Look; return lines for the user. `look` has the URLs."""
        self._crawler.signals.connect(self._robots_parsed, robots_parsed)
        self._crawl.robots.on_answer.append(self._robots_fetched)
        waiting: deque[tuple[Request, int]] = deque()
        for seed in self._seeds:
            self._crawl.seeding.widen(seed, named=True)
            self._find(Link(seed.href, seed.host), waiting, 0)
        for _ in range(_PAGES):
            if waiting:
                await self._visit(*waiting.popleft(), waiting)
        await self._read_sitemaps()
        if self._gathers:
            self.look.found |= self.look.listed
        for url in [url for url in self.look.found if self._is_forbidden(url)]:  # of hosts that were asked later
            self._forbid(url)
        self.look.is_whole = not waiting and not (self._gathers and (self.look.unread or self.look.listed))
        return [*self.lines()]

    def _find(self, link: Link, waiting: deque[tuple[Request, int]], depth: int) -> None:
        if self._is_new(link):
            self.look.found[link.url] = link.host
            waiting.append((_request(link.url), depth))

    def _is_new(self, link: Link) -> bool:
        """Whether `link` is new and may be fetched."""
        if self._is_forbidden(link.url):
            self.look.forbidden.add(link.url)
        return link.url not in self.look.found and link.url not in self.look.forbidden

    async def _visit(self, request: Request, depth: int, waiting: deque[tuple[Request, int]]) -> None:
        response = await self._get(request.replace(meta={**request.meta, "dont_redirect": True}))
        if response is None:
            return
        catch = self.look.catches[len(self.look.fetched) % 2]
        latency = float(response.meta.get("download_latency", 0.0))
        self.look.fetched.append((self.look.found.get(request.url, ""), latency, len(response.body)))
        try:
            led = self._redirected(request, response)
        except IgnoreRequest as error:
            self._failed(request.url, str(error))
            return
        if led is not None:
            self._lead(request, led, waiting, depth)
            catch.add(led.url)
            return
        links = [link for link in self._spider.page(response).links if self._spider.admits(link)]
        catch.update(link.url for link in links)
        for link in links:
            self._find(link, waiting, depth + 1)

    def _redirected(self, request: Request, response: Response) -> Request | None:
        """The request that `response` redirects to, as the crawl would make it."""
        redirects = self._crawler.get_downloader_middleware(RedirectsMiddleware)
        led = response if redirects is None else redirects.process_response(request, response)
        return led if isinstance(led, Request) else None

    def _lead(self, request: Request, led: Request, waiting: deque[tuple[Request, int]], depth: int) -> None:
        """Queue what `request` redirects to as the next one."""
        if not self._spider.admits_redirect(led.url, of_seed=depth == 0):
            self._failed(led.url, f"out of scope; {request.url} redirects there")
            return
        link = Link(led.url, host_of(led.url))
        if self._is_new(link) or led.meta.pop(COMES_BACK, False):
            self.look.found[link.url] = link.host
            waiting.appendleft((led, depth))

    async def _read_sitemaps(self) -> None:
        asked: set[str] = set()
        while self._sitemaps:
            sitemap = self._sitemaps.popleft()
            if sitemap.href in asked:
                continue
            asked.add(sitemap.href)
            if self.look.sitemaps == _SITEMAPS or len(self.look.listed) >= _LISTED:
                self.look.unread += 1
                continue
            self.look.sitemaps += 1
            if (response := await self._get(_request(sitemap.href))) is None or response.status >= 300:
                continue
            for entry in read_sitemap(chunks_of(response.body), response.url, ParseReport()):
                link = Link(entry.url.href, entry.url.host)
                if entry.is_sitemap:
                    self._sitemaps.append(entry.url)
                elif len(self.look.listed) < _LISTED and self._spider.admits_listed(link) and self._is_new(link):
                    self.look.listed[link.url] = link.host

    async def _get(self, request: Request) -> Response | None:
        """Fetch `request`; None, and a line in `failed`, without an answer."""
        assert self._crawler.engine
        url, host = request.url, host_of(request.url)
        await asyncio.sleep(max(0.0, self._free_at.get(host, 0.0) - time.monotonic()))
        try:
            response = await self._crawler.engine.download_async(request)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing came
            if isinstance(error, IgnoreRequest) and self._is_forbidden(url):
                self._forbid(url)
            else:
                self.look.found.pop(url, None)
                self._failed(url, str(error) or type(error).__name__)
            return None
        finally:
            self._free_at[host] = time.monotonic() + self._pause(url, request.meta.get("download_latency", 0.0))
        return response

    def _failed(self, url: str, why: str) -> None:
        self.look.failed.append(f"{printable(url)}: {printable(why)}")

    def _pause(self, url: str, seconds: float) -> float:
        """Seconds for which the host rests after a download of `seconds`, as in the frontier."""
        politeness = self._crawl.terms.of(parse(url).host).politeness
        parser = self._parsers.get(_root(url))
        asked = (parser.crawl_delay(self._agent) or 0.0) if parser is not None else 0.0
        return max(politeness.delay, asked, min(politeness.delay_factor * seconds, politeness.max_delay))

    # robots.txt

    def _robots_fetched(self, url: str, response: Response | None) -> None:
        self.look.robots += 1
        if response is not None and response.status < 300:
            self._sitemaps.extend(in_robots(response.body, response.url))

    def _robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        self._parsers[_root(request.url)] = robotparser

    def _is_forbidden(self, url: str) -> bool:
        """Whether its host's robots.txt, if known, forbids `url`."""
        parser = self._parsers.get(_root(url))
        return parser is not None and not parser.allowed(url, self._agent)

    def _forbid(self, url: str) -> None:
        self.look.found.pop(url, None)
        self.look.forbidden.add(url)

    # What is said

    def lines(self) -> Iterator[str]:
        """The estimate, in words."""
        look = self.look
        yield (
            f"Dry run: {look.robots} robots.txt, {counted(look.sitemaps, 'sitemap')} and "
            f"{counted(len(look.fetched), 'page')} were asked for, and nothing is stored."
        )
        yield from (f"  not fetched   {line}" for line in look.failed)
        wanted = "of them" if self._gathers else "more, which sitemaps=1 would fetch"
        found = counted(len(look.found), "URL")
        yield f"  found         {found} to fetch; sitemaps alone list {len(look.listed):,} {wanted}"
        yield f"  robots.txt    {counted(len(look.forbidden), 'URL')} that it excludes"
        if look.unread:
            yield f"  sitemaps      {look.unread:,} more that were not read: {_SITEMAPS} are"
        if look.fetched:
            yield from self._estimates()

    def _estimates(self) -> Iterator[str]:
        look, least = self.look, self.look.estimate()
        some = "" if look.is_whole else "at least "
        if 0 < self._max_pages < least:
            least, some = self._max_pages, "max_pages: "
        seconds = sum(seconds for _, seconds, _ in look.fetched) / len(look.fetched)
        mean = sum(octets for _, _, octets in look.fetched) / len(look.fetched)
        takes, host = self._time(least, seconds)
        yield f"  pages         {some}{least:,}"
        yield f"  time          {some}{duration(takes)} at this pace: {host}"
        yield f"  size          {some}{size(least * mean)} unpacked, {size(mean)} a page"

    def _time(self, pages: int, seconds: float) -> tuple[float, str]:
        """Estimated seconds for the slowest host, by its share of the URLs found, and its seconds a page."""
        hosts = Counter(self.look.found.values())
        longest, takes, words = 0.0, 0.0, ""
        for host, found in hosts.items():
            url = next(url for url, of in self.look.found.items() if of == host)
            own = [took for name, took, _ in self.look.fetched if name == host] or [seconds]
            each = sum(own) / len(own)
            per_host = max(1, self._crawl.terms.of(host).politeness.per_host)
            a_page = each / per_host + self._pause(url, each)
            takes = pages * found / hosts.total() * a_page
            if takes >= longest:
                longest, words = takes, f"{printable(host)} takes {a_page:.2f} s a page"
        return longest, words


def _request(url: str) -> Request:
    return Request(url, callback=NO_CALLBACK, meta={"dont_retry": True})


def _root(url: str) -> str:
    found = parse_or_none(url)
    return found.origin if found is not None else ""


_SETTINGS: Final[dict[str, Any]] = {
    "SITECRAWL_SUMMARY": False,
    "SITECRAWL_PROGRESS": False,
    "SITECRAWL_EXIT_CODES": False,
    "LOGSTATS_INTERVAL": 0.0,
    "FEEDS": {},
}
"""Settings of a dry run: nothing is written or printed besides."""
_OF_PLUGINS: Final[dict[str, Any]] = {
    "SITECRAWL_DASHBOARD": False,
    "SITECRAWL_EXPORTS": [],
    "SITECRAWL_REMOTE": "",
    "SITECRAWL_REPORT": "",
    "SITECRAWL_WEBHOOKS": [],
}
"""The same for settings of plug-ins, if these are installed."""
