"""What looks after a crawl's sitemaps, with a real frontier and database, and answers made by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request, Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.http import Response, TextResponse
from scrapy.utils.test import get_crawler
from small_limits import small

from sitecrawl.crawl import build, sitemap_visit
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.live_sitemaps import Sitemaps
from sitecrawl.crawl.requests import GUESS, SITEMAP, VISIT, pack, unpack_request
from sitecrawl.crawl.sitemaps.locations import GUESSES, How, usual
from sitecrawl.crawl.sitemaps.record import MAX_INTERVAL, NEVER, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.items import Exchange, Link
from sitecrawl.urls.url import parse

ROOT = "http://a.example"
MAP = "/s.xml"
HTML = {"Content-Type": "text/html"}
USUAL = [url.href.removeprefix(ROOT) for url in usual(parse(ROOT))]


class AnySpider(Spider):
    name = "any"


@dataclass
class Answer:
    """What a host says at an address."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def urlset(*paths: str, lastmod: str = "") -> Answer:
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return Answer("".join(f"<url><loc>{path}</loc>{date}</url>" for path in paths).encode())


def index(*paths: str, lastmod: str = "") -> Answer:
    return Answer(urlset(*paths, lastmod=lastmod).body.replace(b"url>", b"sitemap>"))


def robots(*paths: str) -> Answer:
    return Answer("".join(f"Sitemap: {path}\n" for path in paths).encode())


def moved(to: str) -> Answer:
    return Answer(status=301, headers={"Location": to})


def page(*paths: str, title: str = "t") -> Answer:
    links = "".join(f"<a href={path}>{path}</a>" for path in paths)
    return Answer(f"<html><title>{title}</title>{links}".encode(), headers=HTML)


class Crawl:
    """A crawl without Scrapy's engine: it asks the frontier what is next, and hands over what `site` says to that."""

    def __init__(self, parts: build.Crawl, sitemaps: Sitemaps, site: dict[str, Answer]) -> None:
        self.parts, self.sitemaps, self.site = parts, sitemaps, site
        self.asked: list[str] = []
        self.pages: list[str] = []
        """What was a page, as the sitemaps have it."""
        self.requests: dict[str, Any] = {}
        """The last request for each path."""
        self.follows = False
        """Whether redirects are followed as Scrapy does: by a request of its own."""

    async def run(self, most: int = 200) -> list[str]:
        """Fetch what there is to fetch; gives the paths that were asked for, in their order."""
        self.asked = []
        while len(self.asked) < most and (visit := self.parts.frontier.next()) is not None:
            request = unpack_request(visit.url, visit.request, AnySpider())
            request.meta[VISIT] = visit.key
            fetch = self.parts.fetches.begin(visit, request)
            await self._answer(fetch)
            self.parts.fetches.finish(fetch)
        return self.asked

    async def _answer(self, fetch: Fetch) -> None:
        request = fetch.request
        path = request.url.removeprefix(ROOT)
        self.asked.append(path)
        self.requests[path] = request
        answer = self.site.get(path, Answer(status=404))
        headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        self.parts.frontier.downloaded(fetch.visit, 0.0)
        if not answer.status:
            fetch.failed("TimeoutError")
            return
        exchange = Exchange(request.url, time.time(), 0.5, answer.status, [], headers, answer.body)
        fetch.arrived(answer.status, exchange)
        if 300 <= answer.status < 400 and answer.status != 304:
            self._redirect(fetch, answer.headers["Location"])
        else:
            response = TextResponse(request.url, answer.status, answer.headers, answer.body, request=request)
            if not self.sitemaps.expects(response) or not await self.sitemaps.receive(response):
                self.pages.append(path)

    def _redirect(self, fetch: Fetch, to: str) -> None:
        if self.follows:
            target = parse(to, fetch.visit.url)
            meta = {"redirect_urls": [fetch.visit.url]}
            found = Link(target.href, target.host, key=self.key(target.href))
            asked = Asked(request=pack({"meta": meta}))
            if self.parts.frontier.add([found], depth=1, referrer=fetch.visit.key, asked=asked):
                fetch.leads_on = True

    @property
    def whole(self) -> DiskFrontier:
        assert self.parts.ours.whole is not None
        return self.parts.ours.whole

    def key(self, href: str) -> bytes:
        return self.parts.keys.fingerprints.url(self.parts.keys.canonicalizer.canonical(parse(href, ROOT)))

    def record(self, path: str = MAP) -> SitemapRecord:
        return self.sitemaps.store[self.key(path)]

    def search(self) -> None:
        self.sitemaps._discovery.search([parse(ROOT)])

    def add(self, *paths: str) -> None:
        """As if a person had named them, and now were the time of their visit."""
        self.sitemaps.add(parse(path, ROOT) for path in paths)
        self.sitemaps.tick()

    async def visit_again(self, path: str = MAP) -> list[str]:
        """Visit a sitemap whose time has come."""
        record = self.record(path)
        record.next_visit = time.time()
        self.sitemaps.store.put(self.key(path), record)
        self.sitemaps.tick()
        return await self.run()

    def wait_a_day(self) -> None:
        for record in self.sitemaps.store.of_host(parse(ROOT).host):
            record.found -= 86_401

    def stat(self, name: str) -> int:
        return int(self.parts.stats.get_value(f"sitemaps/{name}", 0))

    def state(self, path: str) -> UrlState | None:
        record = self.parts.frontier.urls.get(self.key(path))
        return None if record is None else record.state


@contextmanager
def opened(directory: Path, site: dict[str, Answer], **settings: object) -> Iterator[Crawl]:
    given = {
        "ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(directory),
        "ROBOTSTXT_OBEY": False, "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_FAILURE_DELAY": 0, **settings,
    }  # fmt: skip
    crawler = get_crawler(AnySpider, given)
    crawler.engine = cast("ExecutionEngine", SimpleNamespace(_slot=None))
    parts = build.Crawl.of(crawler)
    try:
        yield Crawl(parts, Sitemaps(crawler, _admits), site)
    finally:
        parts.checkpoints.close_files()


def _admits(link: Link) -> bool:
    return link.host == parse(ROOT).host


Story = Callable[[Crawl], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., None]:
    """Runs a story within an event loop, with a crawl of `site`."""

    def run(site: dict[str, Answer], story: Story, **settings: object) -> None:
        async def whole() -> None:
            with opened(tmp_path, site, **settings) as crawl:
                await story(crawl)

        asyncio.run(whole())

    return run


Play = Callable[..., None]


class TestDiscovery:
    def test_order(self, play: Play) -> None:
        """robots.txt and front page come first, what they name next, then what cannot exist, and guesses."""
        site = {"/robots.txt": robots(MAP), "/": page(), MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run()
            assert asked[:3] == ["/robots.txt", "/", MAP]
            assert asked[3].startswith("/sitemap-")
            assert asked[4:] == [*USUAL[:GUESSES], "/1"]
            assert crawl.pages == ["/", "/1"]
            assert crawl.record().how == How.ROBOTS

        play(site, story)

    def test_usual_addresses(self, play: Play) -> None:
        """Where nothing is named: an address that cannot exist, then the usual ones, one at a time, as guesses."""
        site = {"/": page(), "/sitemap_index.xml": urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run()
            missing = next(path for path in asked if path.startswith("/sitemap-"))
            assert asked[asked.index(missing) :] == [missing, *USUAL[:GUESSES], "/1"]
            assert all(GUESS in crawl.requests[path].meta for path in (missing, "/sitemap.xml"))
            assert crawl.record(missing).kind == SitemapKind.MISSING
            assert crawl.record("/sitemap.xml").state == SitemapState.INVALID
            assert crawl.record("/sitemap_index.xml").state == SitemapState.VALID

        play(site, story)

    def test_all_are_candidates(self, play: Play) -> None:
        """What robots.txt, a person, the front page and usual addresses have is read, once and as one record each."""
        front = Answer(b"<a href=/map>Sitemap</a>", headers=HTML)
        site = {"/robots.txt": robots(MAP, "/sitemap.xml"), "/": front, MAP: urlset("/1"), "/hand.xml": urlset("/2")}
        site |= {"/map": page("/3"), "/sitemap.xml": urlset("/4"), "/sitemap.txt": Answer(f"{ROOT}/5".encode())}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            crawl.add("/hand.xml")
            asked = await crawl.run()
            assert {f"/{number}" for number in range(1, 6)} < set(asked)
            assert len(asked) == len(set(asked))
            found = [record for _, record in crawl.sitemaps.store.items() if record.state == SitemapState.VALID]
            sitemaps = sorted(
                (record.how.value, record.new) for record in found if record.kind == SitemapKind.SITEMAP
            )
            assert sitemaps == [("hand", 1), ("link", 1), ("robots", 1), ("robots", 1), ("usual", 1)]

        play(site, story)

    def test_few_guesses_a_day(self, play: Play) -> None:
        """Where a sitemap was found the guesses go on the next day, when something else of the host is visited."""
        site = {"/robots.txt": robots(MAP), "/": page(), MAP: urlset("/1"), USUAL[20]: urlset("/2")}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            await crawl.run()
            assert await crawl.visit_again(MAP) == [MAP]
            crawl.wait_a_day()
            asked = await crawl.visit_again(MAP)
            assert asked == [MAP, *USUAL[GUESSES : 2 * GUESSES], "/2"]

        play(site, story)

    def test_a_page_at_every_address(self, play: Play) -> None:
        """A host that answers every address is guessed on `GUESSES` times, and never again."""

        class Everything(dict[str, Answer]):
            def get(self, path: str, default: Any = None) -> Any:
                return page("/1", "/2", "/3", "/4", "/5", "/6")

        async def story(crawl: Crawl) -> None:
            crawl.search()
            assert [path for path in await crawl.run() if path in USUAL] == USUAL[:GUESSES]
            crawl.wait_a_day()
            assert await crawl.visit_again("/robots.txt") == ["/robots.txt"]

        play(Everything(), story)

    def test_no_front_page(self, play: Play) -> None:
        """Where the front page does not answer, nothing is guessed."""

        async def story(crawl: Crawl) -> None:
            crawl.search()
            assert sorted(await crawl.run(most=5)) == ["/", "/robots.txt"]

        play({"/": Answer(status=0)}, story)

    def test_robots_that_the_crawl_asks_for(self, play: Play) -> None:
        """Where every host is asked for its robots.txt anyway, that answer is used: before the search, or after."""

        async def story(crawl: Crawl) -> None:
            crawl.parts.robots.are_made = True
            answer = Response(f"{ROOT}/robots.txt", body=robots(MAP).body, request=Request(f"{ROOT}/robots.txt"))
            crawl.search()
            assert await crawl.run() == ["/"]
            for listener in crawl.parts.robots.on_answer:
                listener(answer.url, answer)
            assert (await crawl.run())[:1] == [MAP]
            for listener in crawl.parts.robots.on_answer:
                listener("http://b.example/robots.txt", answer.replace(url="http://b.example/robots.txt"))
                listener("http://c.example/robots.txt", None)
            crawl.sitemaps._discovery.search([parse("http://b.example"), parse("http://c.example")])
            asked = await crawl.run(most=3)
            assert "http://b.example/robots.txt" not in asked
            assert f"http://b.example{MAP}" in asked
            assert crawl.record("http://c.example/robots.txt").failures == 1

        play({"/": page(), MAP: urlset("/1")}, story)

    def test_too_many(self, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of one host so many sitemaps are remembered, and no more."""
        monkeypatch.setattr("sitecrawl.crawl.sitemap_registry.MAX_PER_HOST", 2)

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            assert await crawl.run() == ["/i.xml", "/1.xml"]
            assert crawl.stat("too_many") == 2

        play({"/i.xml": index("/1.xml", "/2.xml", "/3.xml")}, story)

    def test_indexes_of_indexes(self, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        """An index within an index may name sitemaps, up to so many of a host; one below that names none."""
        monkeypatch.setattr("sitecrawl.crawl.sitemap_registry.MAX_NESTED", 4)

        async def story(crawl: Crawl) -> None:
            crawl.add("/0.xml")
            asked = await crawl.run()
            assert asked[:4] == ["/0.xml", "/1.xml", "/2.xml", "/3.xml"]
            assert len(asked) == 4 + 4
            assert crawl.stat("nested") > 0
            assert not any(path.count("-") > 1 for path in asked)

        tree = {f"/{one}.xml": index(*(f"/{one}-{two}.xml" for two in range(3))) for one in range(1, 4)}
        deeper = {
            f"/{one}-{two}.xml": index(f"/{one}-{two}-1.xml", f"/{one}-{two}-2.xml")
            for one in range(1, 4)
            for two in range(3)
        }
        play({"/0.xml": index("/1.xml", "/2.xml", "/3.xml"), **tree, **deeper}, story)


class Endless(dict[str, Answer]):
    """A site in which every sitemap of which nothing else is known is an index of 100 more."""

    def get(self, path: str, default: Any = None) -> Any:
        if path in self or not path.startswith("/m"):
            return super().get(path, default)
        return index(*(f"{path.removesuffix('.xml')}-{number}.xml" for number in range(100)))


@pytest.fixture
def few_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitecrawl.crawl.sitemaps.store.FREE", 4)


def sitemaps_of(asked: list[str]) -> list[str]:
    """The sitemaps that were asked for, but for what was guessed."""
    return [path for path in asked if path.endswith(".xml") and path not in USUAL]


PAGES = [f"/p{number}" for number in range(10)]


@pytest.mark.usefixtures("few_are_free")
class TestFirstVisits:
    def test_endless_indexes(self, play: Play) -> None:
        """Indexes without end and without a page cost the budget of a day; what is left out is counted."""

        async def story(crawl: Crawl) -> None:
            crawl.sitemaps._discovery.search([parse(ROOT)])
            asked = sitemaps_of(await crawl.run())
            assert len(set(asked)) == 20
            assert len(asked) <= 20 + 20 // 3  # what names more than there is room for is asked for again
            assert max(path.count("-") for path in asked) == 1  # the least nested first
            assert crawl.stat("left_out") == crawl.record("/m.xml").left + sum(
                record.left for _, record in crawl.sitemaps.store.items() if record.how == How.INDEX
            )
            assert crawl.stat("left_out") > 80
            assert 600 < crawl.record("/m.xml").next_visit - time.time() <= 86_400

        play(Endless({"/robots.txt": robots("/m.xml")}), story, SITECRAWL_SITEMAP_BUDGET=20)

    def test_after_the_pages(self, play: Play) -> None:
        """Sitemaps of a site that owes some come after its pages."""

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run()
            last = max(asked.index(path) for path in PAGES)
            assert len(sitemaps_of(asked[:last])) <= 2 * 4
            assert len(set(sitemaps_of(asked))) == 40

        robots_txt = robots("/m.xml", "/m0.xml")
        site = Endless({"/robots.txt": robots_txt, "/": page(*PAGES), "/m0.xml": urlset(*PAGES[:1])})
        site |= {path: page() for path in PAGES}

        async def with_links(crawl: Crawl) -> None:
            links = [Link(ROOT + path, "a.example", key=crawl.key(path)) for path in PAGES]
            crawl.parts.frontier.add(links, depth=1, referrer=crawl.key("/"))
            await story(crawl)

        play(site, with_links, SITECRAWL_SITEMAP_BUDGET=40)

    def test_a_big_site(self, play: Play) -> None:
        """Sitemaps that list pages pay for others: all of them come, whatever the budget, and indexes few times."""
        maps = [f"/{number}.xml" for number in range(90)]
        pages = {path: [f"{path}/{number}" for number in range(3)] for path in maps}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run(most=1000)
            assert set(maps) | {page for some in pages.values() for page in some} <= set(asked)
            assert asked.count("/i.xml") <= 6
            assert len(sitemaps_of(asked)) == 90 + asked.count("/i.xml")
            assert crawl.stat("left_out") == crawl.record("/i.xml").left == 0

        site = {"/robots.txt": robots("/i.xml"), "/i.xml": index(*maps)}
        play(site | {path: urlset(*pages[path]) for path in maps}, story, SITECRAWL_SITEMAP_BUDGET=10)

    def test_many_lines_of_robots(self, play: Play) -> None:
        """A robots.txt has the same budget, also for sitemaps on other hosts."""

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run()
            assert sum("/s.xml" in path for path in asked) == 20
            assert crawl.stat("left_out") == crawl.record("/robots.txt").left == 980

        lines = robots(*(f"http://{number}.example/s.xml" for number in range(1000)))
        play({"/robots.txt": lines}, story, SITECRAWL_SITEMAP_BUDGET=20)

    def test_bad_lines_beside_good_ones(self, play: Play) -> None:
        """Where a good index pays, its sitemaps come first."""
        maps = [f"/{number}.xml" for number in range(30)]
        site = Endless({"/robots.txt": robots("/m.xml", "/i.xml"), "/i.xml": index(*maps)})
        site |= {path: urlset(f"{path}/1", f"{path}/2") for path in maps}

        async def story(crawl: Crawl) -> None:
            crawl.search()
            asked = await crawl.run(most=1000)
            assert set(maps) <= set(asked)
            bad = {path for path in sitemaps_of(asked) if path.startswith("/m")}
            assert len(bad) <= 20 + 60

        play(site, story, SITECRAWL_SITEMAP_BUDGET=20)

    def test_what_a_person_names(self, play: Play) -> None:
        """A person's own sitemaps are all asked for."""
        maps = [f"/{number}.xml" for number in range(30)]

        async def story(crawl: Crawl) -> None:
            crawl.add(*maps)
            assert sitemaps_of(await crawl.run()) == maps

        play({path: urlset() for path in maps}, story, SITECRAWL_SITEMAP_BUDGET=5)

    def test_after_a_stop(self, tmp_path: Path) -> None:
        """A crawl that is resumed has what is left of its budget, and of what indexes within indexes may name."""
        site = Endless({"/robots.txt": robots("/m.xml")})
        found: set[str] = set()

        async def run(most: int) -> None:
            with opened(tmp_path, site, SITECRAWL_SITEMAP_BUDGET=20) as crawl:
                crawl.search()
                found.update(sitemaps_of(await crawl.run(most)))
                crawl.parts.checkpoints.save()

        for most in (5, 10, 100, 100):
            asyncio.run(run(most))
        assert len(found) == 20


class TestExpects:
    def test_it_is_a_question(self, play: Play) -> None:
        """Asking whether a response is a sitemap's changes nothing, whatever the answer."""

        async def story(crawl: Crawl) -> None:
            crawl.parts.seeding.seed([parse(ROOT)])
            visit = crawl.parts.frontier.next()
            assert visit is not None
            told = [SitemapKind.SITEMAP.value, How.INDEX.value, "", ["a.example"]]
            crawl.sitemaps.add([parse(ROOT + MAP)])
            before = crawl.record().pack()
            for meta, expected in (
                ({}, False),
                ({SITEMAP: told}, True),
                ({"redirect_urls": [f"{ROOT}/x"]}, False),
                ({"redirect_urls": [ROOT + MAP]}, True),
            ):
                request = unpack_request(visit.url, pack({"meta": meta}), AnySpider())
                request.meta[VISIT] = visit.key
                crawl.parts.fetches.begin(visit, request)
                response = Response(visit.url, request=request)
                assert [crawl.sitemaps.expects(response) for _ in range(2)] == [expected] * 2
                assert (len(crawl.sitemaps.store), crawl.record().pack()) == (1, before)
            assert not crawl.sitemaps.expects(Response(visit.url))
            assert not await crawl.sitemaps.receive(Response(visit.url))

        play({}, story)

    def test_of_another_worker(self, play: Play) -> None:
        """A sitemap that another worker has found is known by what its request says of it."""

        async def story(crawl: Crawl) -> None:
            told = [SitemapKind.SITEMAP.value, How.INDEX.value, f"{ROOT}/i.xml", ["b.example"]]
            found = Link(ROOT + MAP, "a.example", key=crawl.key(MAP))
            request = pack({"meta": {SITEMAP: told}})
            crawl.parts.frontier.add([found], depth=1, asked=Asked(request=request))
            assert await crawl.run() == [MAP, "/1"]
            record = crawl.record()
            assert (record.how, record.parent, record.vouchers) == (How.INDEX, f"{ROOT}/i.xml", ["b.example"])
            assert (record.new, record.alien) == (1, 1)

        play({MAP: urlset("/1", "http://c.example/")}, story)

    def test_parse(self, play: Play) -> None:
        """A page goes to the page's parser at once; a sitemap's answer is read, and goes there if it is one, too."""

        def parse_page(response: Response) -> list[str]:
            return [response.url]

        async def story(crawl: Crawl) -> None:
            assert crawl.sitemaps.parse(Response(ROOT), parse_page) == [ROOT]
            for path, expected in ((MAP, []), ("/hub", [f"{ROOT}/hub"])):
                crawl.add(path)
                visit = crawl.parts.frontier.next()
                assert visit is not None
                request = unpack_request(visit.url, visit.request, AnySpider())
                request.meta[VISIT] = visit.key
                fetch = crawl.parts.fetches.begin(visit, request)
                answer = crawl.site[path]
                response = TextResponse(visit.url, 200, answer.headers, answer.body, request=request)
                assert list(await crawl.sitemaps.parse(response, parse_page)) == expected
                assert fetch.is_worth_it is not bool(expected)
                crawl.parts.frontier.downloaded(visit, 0.0)
                crawl.parts.fetches.finish(fetch)
                await crawl.run()

        play({MAP: urlset("/1"), "/hub": page("/2")}, story)


class TestRedirects:
    @pytest.mark.parametrize("follows", [True, False])
    def test_moved(self, play: Play, *, follows: bool) -> None:
        """A sitemap is known by where it is now; what redirects there waits until that fails."""
        site = {"/old.xml": moved(MAP), MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.follows = follows
            crawl.add("/old.xml")
            assert await crawl.run() == ["/old.xml", MAP, "/1"]
            old, new = crawl.record("/old.xml"), crawl.record()
            assert (old.state, old.next_visit) == (SitemapState.MOVED, NEVER)
            assert (new.state, new.origin, new.hops, new.how) == (SitemapState.VALID, old.url, 1, How.HAND)
            site[MAP] = Answer(status=404)
            await crawl.visit_again()
            assert crawl.record("/old.xml").next_visit == crawl.record().next_visit < NEVER

        play(site, story)

    def test_in_a_circle(self, play: Play) -> None:
        """Redirects are followed five times, and then no sitemap is there."""
        site = {f"/{n}.xml": moved(f"/{n + 1}.xml") for n in range(9)}

        async def story(crawl: Crawl) -> None:
            crawl.add("/0.xml")
            assert await crawl.run() == [f"/{n}.xml" for n in range(6)]
            states = [crawl.record(path).state for path in crawl.asked]
            assert states == [SitemapState.MOVED] * 5 + [SitemapState.INVALID]
            assert crawl.stat("failed") == 1

        play(site, story)

    def test_a_known_page(self, play: Play) -> None:
        """Where the target was fetched as a page before, it is asked for again, as a sitemap."""

        async def story(crawl: Crawl) -> None:
            crawl.parts.seeding.seed([parse(ROOT + MAP)])
            assert (await crawl.run(), crawl.pages) == ([MAP], [MAP])
            crawl.add("/old.xml")
            assert await crawl.run() == ["/old.xml", MAP, "/1"]
            assert crawl.pages == [MAP, "/1"]

        play({"/old.xml": moved(MAP), MAP: urlset("/1")}, story)

    def test_to_another_host(self, play: Play) -> None:
        """A host that sends its sitemap elsewhere vouches for what is there; the old address speaks no more."""
        site = {MAP: moved("http://b.example/s.xml"), "http://b.example/s.xml": urlset(f"{ROOT}/1", "/2")}

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            assert await crawl.run() == ["/i.xml", MAP, "http://b.example/s.xml", "/1"]
            assert crawl.record("http://b.example/s.xml").vouchers == ["a.example"]

        play(site | {"/i.xml": index(MAP)}, story)

    def test_a_front_page_elsewhere(self, play: Play) -> None:
        """Where the front page leads to another host, that host is searched; nothing is guessed on the first."""
        site = {"/": moved("http://b.example/"), "http://b.example/": page()}
        site["http://b.example/robots.txt"] = robots("/b.xml")

        async def story(crawl: Crawl) -> None:
            crawl.follows = True
            crawl.search()
            asked = await crawl.run()
            assert {"http://b.example/robots.txt", "http://b.example/b.xml"} < set(asked)
            assert not any(path.startswith("/sitemap") for path in asked)

        play(site, story)


class TestVisits:
    def test_not_modified(self, play: Play) -> None:
        """The next visit is on condition, and a 304 means that nothing is new."""
        site = {MAP: urlset("/1")}
        site[MAP].headers = {"ETag": '"1"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            site[MAP] = Answer(status=304)
            assert await crawl.visit_again() == [MAP]
            headers = crawl.requests[MAP].headers
            assert (headers["If-None-Match"], headers["If-Modified-Since"][:3]) == (b'"1"', b"Mon")
            record = crawl.record()
            assert (record.visits, record.successes, record.unchanged, record.new) == (2, 2, 1, 1)
            assert (record.state, crawl.stat("unchanged")) == (SitemapState.VALID, 1)

        play(site, story)

    def test_the_same_bytes(self, play: Play) -> None:
        """A server that knows no conditions may send the same again; anything else is read."""
        site = {MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            assert await crawl.visit_again() == [MAP]
            assert (crawl.record().unchanged, crawl.record().latency) == (1, 0.5)
            site[MAP] = urlset("/1", "/2")
            assert await crawl.visit_again() == [MAP, "/2"]
            record = crawl.record()
            assert (record.unchanged, record.new, record.entries) == (1, 2, 2)
            assert [new for _, new in record.news] == [1, 0, 1]

        play(site, story)

    @pytest.mark.parametrize("status", [0, 304, 404, 429, 503])
    def test_failures(self, play: Play, status: int) -> None:
        """What brings no sitemap is a failure: asked for again only where its host could not say what is there."""

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            record = crawl.record()
            assert (record.state, record.status, record.failures) == (SitemapState.INVALID, status, 1)
            assert (record.next_visit < NEVER) == (status in {0, 429, 503})
            assert (crawl.stat("failed"), crawl.stat("visits")) == (1, 1)

        play({MAP: Answer(status=status)}, story)

    def test_a_failure_after_a_success(self, play: Play) -> None:
        """What was a sitemap stays one, and is visited less often with each failure in a row."""
        site = {MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            site[MAP] = Answer(status=503)
            pauses = []
            for _ in range(2):
                await crawl.visit_again()
                pauses.append(crawl.record().next_visit - crawl.record().visited)
            assert (crawl.record().state, crawl.record().failures) == (SitemapState.VALID, 2)
            assert pauses[1] == pytest.approx(2 * pauses[0])
            site[MAP] = urlset("/1", "/2")
            assert await crawl.visit_again() == [MAP, "/2"]
            assert crawl.record().failures == 0

        with small(**{"sitecrawl.crawl.sitemaps.record.MAX_INTERVAL": 1e9}):
            play(site, story)

    def test_none_is_due_while_the_crawl_closes(self, play: Play) -> None:
        """Its files may be closed already."""

        async def story(crawl: Crawl) -> None:
            crawl.parts.crawler.engine = cast("ExecutionEngine", SimpleNamespace(_slot=SimpleNamespace(closing=True)))
            crawl.add(MAP)
            assert crawl.state(MAP) is None

        play({}, story)

    def test_an_error_while_it_is_read(self, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        """An error of ours ends the visit as a failure, and is told."""

        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        async def story(crawl: Crawl) -> None:
            monkeypatch.setattr(sitemap_visit, "read_in_steps", fail)
            crawl.add(MAP)
            with pytest.raises(ZeroDivisionError):
                await crawl.run()
            assert (crawl.record().failures, crawl.record().visits) == (1, 1)

        play({MAP: urlset("/1")}, story)

    def test_a_stop_while_it_is_read(self, play: Play) -> None:
        """What a stop leaves is no visit: the URL waits for the next run."""

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            vars(crawl.parts.crawler.engine)["_slot"] = SimpleNamespace(closing=True)
            assert await crawl.run(most=1) == [MAP]
            assert (crawl.record().visits, crawl.state(MAP)) == (0, UrlState.QUEUED)
            assert crawl.state("/1") is None

        play({MAP: urlset("/1")}, story)

    def test_given_up(self, play: Play) -> None:
        """What the frontier gives up with its host, without asking for it, is a failure."""

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP, "/t.xml")
            for listener in crawl.parts.news.on_given_up:
                listener(crawl.key(MAP))
                listener(crawl.key("/unknown"))
            assert (crawl.record().failures, crawl.record("/t.xml").failures) == (1, 0)

        play({}, story)


class TestIndex:
    def test_children(self, play: Play) -> None:
        """The sitemaps of an index are read, each once, and so are their pages, each after its sitemap."""
        site = {"/i.xml": index("/1.xml", "/2.xml", "/i.xml"), "/1.xml": urlset("/p1"), "/2.xml": urlset("/p2")}
        site["/p1"] = page()

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            asked = await crawl.run()
            assert asked[0] == "/i.xml"
            assert sorted(asked[1:]) == ["/1.xml", "/2.xml", "/p1", "/p2"]
            assert asked.index("/1.xml") < asked.index("/p1")
            assert asked.index("/2.xml") < asked.index("/p2")
            child = crawl.record("/1.xml")
            assert (child.how, child.parent, child.new) == (How.INDEX, f"{ROOT}/i.xml", 1)
            assert [(r.judged, r.good) for r in (child, crawl.record("/2.xml"))] == [(1, 1), (1, 0)]

        play(site, story)

    def test_it_says_what_has_changed(self, play: Play) -> None:
        """A sitemap with a new date in its index is visited at once; one with an old date as late as may be."""
        site = {"/i.xml": index(MAP), MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            await crawl.run()
            site["/i.xml"], site[MAP] = index(MAP, lastmod="2000-01-01"), urlset("/1", "/2")
            assert await crawl.visit_again("/i.xml") == ["/i.xml"]
            record = crawl.record()
            assert record.next_visit == record.visited + MAX_INTERVAL
            site["/i.xml"] = index(MAP, lastmod="2999-01-01")
            await crawl.visit_again("/i.xml")
            crawl.sitemaps.tick()
            assert await crawl.run() == [MAP, "/2"]
            assert crawl.record("/i.xml").right == 1.0

        play(site, story)

    def test_credit(self, play: Play) -> None:
        """An index shares what credit it has among its sitemaps alike, in however many slices they come."""
        paths = [f"/{n}.xml" for n in range(1_001)]

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            await crawl.run(most=1)
            urls = crawl.parts.frontier.urls
            shares = [urls.get(crawl.key(path)) for path in paths]
            credit = {record.credit for record in shares if record is not None}
            assert len(shares) == len(paths)
            assert max(credit) - min(credit) <= 1
            assert min(credit) > 0

        play({"/i.xml": index(*paths)}, story)


class TestPages:
    def test_newest_first(self, play: Play) -> None:
        """Pages are queued by date, the newest first, those without any last."""
        entries = [("/old", "2001-01-01"), ("/new", "2024-01-01"), ("/none", "")]
        body = b"".join(urlset(path, lastmod=date).body for path, date in entries)

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            assert await crawl.run() == [MAP, "/new", "/old", "/none"]

        play({MAP: Answer(body)}, story, SITECRAWL_ORDER="bfs")

    def test_slices(self, play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
        """However links are cut into slices, each is new once, and all get the same credit."""
        monkeypatch.setattr(sitemap_visit, "_SLICE", 7)
        paths = [f"/p{n}" for n in range(100)]

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run(most=1)
            found = [crawl.parts.frontier.urls.get(crawl.key(path)) for path in paths]
            credit = {record.credit for record in found if record is not None}
            assert (len(found), max(credit) - min(credit) <= 1, min(credit) > 0) == (100, True, True)
            assert (crawl.record().new, crawl.record().unfinished) == (100, 0)
            assert crawl.stat("new_links") == 100

        play({MAP: urlset(*paths, *paths)}, story)

    def test_fetched_again(self, play: Play) -> None:
        """A page whose date is newer than its fetch is fetched again."""
        site = {MAP: urlset("/1"), "/1": page()}

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            record = crawl.parts.frontier.urls.get(crawl.key("/1"))
            assert record is not None
            record.fetched -= 100
            crawl.whole.urls.put(crawl.key("/1"), record)
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 10))
            site[MAP] = urlset("/1", lastmod=now)
            await crawl.visit_again()
            assert crawl.stat("refetched") == 1
            assert crawl.asked == [MAP, "/1"]
            assert not crawl.sitemaps._refetched

        play(site, story)

    @pytest.mark.parametrize(("right", "most"), [(0.0, 20), (1.0, 80)])
    def test_refetch_budget(self, play: Play, right: float, most: int) -> None:
        """On a word that is not proved twenty pages are fetched again, and four times as many with each proof."""
        paths = [f"/p{n}" for n in range(100)]
        site = {MAP: urlset(*paths), **dict.fromkeys(paths, page())}

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            await crawl.run()
            urls = crawl.whole.urls
            for path in paths:
                record = urls.get(crawl.key(path))
                assert record is not None
                record.fetched -= 100
                urls.put(crawl.key(path), record)
            crawl.record().right = right
            site[MAP] = urlset(*paths, lastmod=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 10)))
            await crawl.visit_again()
            assert len(crawl.asked) == 1 + most

        play(site, story)

    def test_limits(self, play: Play) -> None:
        """What goes beyond the limits is left out, and counted by the limit."""

        async def story(crawl: Crawl) -> None:
            crawl.add(MAP)
            assert len(await crawl.run()) == 3
            assert crawl.stat("cut") == crawl.parts.stats.get_value("limits/sitemap_entries") == 1

        with small(SITEMAP_ENTRIES=2):
            play({MAP: urlset("/1", "/2", "/3")}, story)


class TestNamed:
    def test_what_is_known(self, play: Play) -> None:
        """A sitemap that is known is visited at once when a person names it, and is theirs from then on."""
        site = {"/i.xml": index(MAP), MAP: urlset("/1")}

        async def story(crawl: Crawl) -> None:
            crawl.add("/i.xml")
            await crawl.run()
            crawl.add(MAP)
            assert await crawl.run() == [MAP]
            assert crawl.record().how == How.HAND

        play(site, story)

    def test_a_restart(self, tmp_path: Path) -> None:
        """Records and their next visits are part of every checkpoint."""
        site = {MAP: urlset("/1")}

        async def first() -> None:
            with opened(tmp_path, site) as crawl:
                crawl.add(MAP)
                await crawl.run()
                crawl.parts.checkpoints.save()

        async def second() -> None:
            with opened(tmp_path, site) as crawl:
                assert (crawl.record().new, crawl.record().visits) == (1, 1)
                assert await crawl.visit_again() == [MAP]

        asyncio.run(first())
        asyncio.run(second())
