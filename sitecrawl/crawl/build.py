"""The one place where a crawl is put together: directory, database, frontier, page store, checkpoints.

Each part is made with the parts that it needs, so this is to be read from top to bottom. Scrapy makes scheduler,
middlewares, pipelines and extensions with nothing but their crawler: their `from_crawler` takes what they need out of
`Crawl.of(crawler)`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from sitecrawl.base import declared, descriptors
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl import configuration, directories, sharing
from sitecrawl.crawl.access import Access
from sitecrawl.crawl.checkpoints import Checkpoints
from sitecrawl.crawl.components import CAPTURE, ROBOTS, WARC, has_component
from sitecrawl.crawl.fetches import Fetches, Pages
from sitecrawl.crawl.found_urls import FoundUrls, SeedHosts, Seeding, UrlKeys
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawl.frontiers import FrontierFactory, OurFrontier, own_frontier
from sitecrawl.crawl.outcomes import OutcomeCounts
from sitecrawl.crawl.page_reading import PageReading, page_reading
from sitecrawl.crawl.pause import Pause
from sitecrawl.crawl.privates import stop, wake
from sitecrawl.crawl.refusals import Refusals
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory, keep_copy
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.base import Peers
from sitecrawl.frontier.contract import Frontier
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.crawl_seen import SEEN_FILE
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.capture import LinkCounter
from sitecrawl.pagestore.earlier import EarlierCrawls, refer_to
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Schemes

if TYPE_CHECKING:
    from sitecrawl.cluster.join import Joined


class RobotsRequests:
    """Requests for robots.txt, which go before the pages of their hosts."""

    def __init__(self, settings: BaseSettings) -> None:
        self.are_made = settings.getbool("ROBOTSTXT_OBEY") and has_component(
            settings, "DOWNLOADER_MIDDLEWARES", ROBOTS
        )
        """Whether each host's robots.txt is fetched first."""
        self.under_way = 0
        """Number of requests in flight, each of which a page waits for."""
        self.on_answer: list[Callable[[str, Response | None], None]] = []
        """Called with the address of each requested robots.txt and the answer, None without one."""


_ATTRIBUTE = "sitecrawl_crawl"
"""Attribute of a crawler with its crawl. A registry would keep every crawler whose engine failed to start."""


class BrowserLoad(NamedTuple):
    """Load of one process' rendering browser at one moment."""

    shown: int
    """Pages shown in a tab."""
    waiting: int
    """Pages waiting for a tab."""
    memory: int
    """Memory of the browser's processes in bytes; shared memory counts once."""


@dataclass(frozen=True, eq=False)
class Crawl:
    """The parts of a crawl. All of them are there from the beginning to the end."""

    crawler: Crawler
    stats: StatsCollector
    job: str
    """scrapyd's name for this run; empty without scrapyd."""
    directory: CrawlDirectory
    joined: Joined | None
    """The crawl of many workers that this one has joined."""
    database: Database
    schemes: Schemes
    """Of the URLs that are crawled."""
    scope: Scope | None
    """The spider's, if it has one of ours."""
    access: Access
    """Headers, cookies, proxies and logins of hosts."""
    keys: UrlKeys
    reading: PageReading
    news: FrontierListener
    frontier: Frontier
    ours: OurFrontier
    """What a project's own frontier does not have."""
    peers: Peers
    """The other workers, where the crawl is shared."""
    terms: TermsByHost
    """What holds for the crawl and its hosts now."""
    found: FoundUrls
    seed_hosts: SeedHosts
    seeding: Seeding
    pages: Pages
    """Where pages go."""
    outcomes: OutcomeCounts
    fetches: Fetches
    """What is under way."""
    captures: bool
    """Whether a middleware records the outcome of each fetch; otherwise the scheduler hears of responses alone."""
    robots: RobotsRequests
    browsers: list[Callable[[], BrowserLoad]]
    """Loads of the rendering browser, whose pages' hosts stay busy until it is done; empty without rendering."""
    refusals: Refusals
    pause: Pause
    checkpoints: Checkpoints

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """The crawl of `crawler`, made at the first call. It stays with the crawler after it is closed."""
        crawl = cls.made(crawler)
        if crawl is None:
            crawl = vars(crawler)[_ATTRIBUTE] = build_crawl(crawler)
        return crawl

    @staticmethod
    def made(crawler: Crawler) -> Crawl | None:
        """The crawl of `crawler`, if it was made."""
        crawl: Crawl | None = vars(crawler).get(_ATTRIBUTE)
        return crawl


def build_crawl(crawler: Crawler) -> Crawl:
    """Put a crawl together by the settings and the spider of `crawler`. Raises `OptionError` and `StorageError`."""
    descriptors.check()
    job = getattr(crawler.spider, "_job", "")
    joined = _join(crawler)
    directory = _directory(crawler, job, joined)
    database = Database(directory.database, hash_name=HASH_NAME)
    try:
        keep_copy(database, directory)
        return _build(crawler, job, joined, directory, database)
    except BaseException:
        database.close()
        raise


def _build(crawler: Crawler, job: str, joined: Joined | None, directory: CrawlDirectory, database: Database) -> Crawl:
    settings, stats, path = crawler.settings, crawler.stats, directory.path
    assert stats
    schemes, scope = configuration.schemes(settings), _scope(crawler)
    access = Access(configuration.sheets(settings), path, stats, all_cookies=declared.COOKIES.read(settings))
    keys = UrlKeys(Fingerprinter(directory.manifest.fingerprint_key))
    reading = page_reading(settings, stats)

    make = FrontierFactory(
        settings, access.sheets, path / SEEN_FILE, host_key=keys.fingerprints.host, fingerprint=keys.fingerprint
    )
    news = FrontierListener(crawler, stats, path, database)
    frontier, peers, ours = _frontier(crawler, make, database, joined, news)
    if scope is not None:
        scope.lay(access.sheets)
    store = _store(crawler, directory, database, access, keys=keys, peers=peers)
    pages = Pages(stats, store, frontier, news)
    outcomes, seed_hosts, refusals = OutcomeCounts(database), SeedHosts(database), Refusals(database, stats)
    fetches = Fetches(crawler, frontier, pages, outcomes, declared.DUPLICATE_CONTENT.read(settings))
    seeding = Seeding(crawler, frontier, keys, seed_hosts, scope=scope, schemes=schemes, peers=peers, news=news)
    checkpoints = Checkpoints(
        crawler, database, frontier, peers, fetches, ours=ours, files=(reading, pages, database), news=news
    )
    for part in (seed_hosts, refusals, outcomes, access, store):
        if part is not None:
            checkpoints.add(part)
    return Crawl(
        crawler=crawler,
        stats=stats,
        job=job,
        directory=directory,
        joined=joined,
        database=database,
        schemes=schemes,
        scope=scope,
        access=access,
        keys=keys,
        reading=reading,
        news=news,
        frontier=frontier,
        ours=ours,
        peers=peers,
        terms=make.terms,
        found=FoundUrls(frontier, keys, stats, max_requisites=reading.max_requisites),
        seed_hosts=seed_hosts,
        seeding=seeding,
        pages=pages,
        outcomes=outcomes,
        fetches=fetches,
        captures=has_component(settings, "DOWNLOADER_MIDDLEWARES", CAPTURE),
        robots=RobotsRequests(settings),
        browsers=[],
        refusals=refusals,
        pause=_pause(crawler, stats, fetches, peers),
        checkpoints=checkpoints,
    )


def _join(crawler: Crawler) -> Joined | None:
    """Join the crawl on Redis that the settings name; None if they name none."""
    options = sharing.cluster(crawler.settings, crawler.spidercls.name)
    if options is None:
        return None

    from sitecrawl.cluster.join import join  # noqa: PLC0415 - Redis, for those who share

    return join(options)


def _directory(crawler: Crawler, job: str, joined: Joined | None) -> CrawlDirectory:
    spider = crawler.spidercls.name
    path = directories.directory(crawler.settings, spider, job)
    if joined is None:
        return CrawlDirectory(path, spider)
    return CrawlDirectory(path, spider, key=joined.key)


def _scope(crawler: Crawler) -> Scope | None:
    scope = getattr(getattr(crawler.spider, "arguments", None), "scope", None)
    return scope if isinstance(scope, Scope) else None


def _frontier(
    crawler: Crawler, make: FrontierFactory, database: Database, joined: Joined | None, news: FrontierListener
) -> tuple[Frontier, Peers, OurFrontier]:
    """The frontier: the project's own, the one of a worker, or that of one process. Raises `OptionError`."""
    own = own_frontier(crawler, news)
    if joined is not None:
        team = make.of_worker(database, joined, news)
        return team, team, OurFrontier(make.terms, team=team)
    if own is not None:
        return own, Peers(), OurFrontier(make.terms)
    whole = make.own(database, news)
    return whole, Peers(), OurFrontier(make.terms, whole=whole)


def _pause(crawler: Crawler, stats: StatsCollector, fetches: Fetches, peers: Peers) -> Pause:
    return Pause(
        stats,
        limit=declared.MAX_WANT_TIME.read(crawler.settings),
        is_under_way=fetches.__contains__,
        begun=peers.pause,
        ended=partial(wake, crawler),
        give_up=partial(stop, crawler),
    )


def _store(
    crawler: Crawler, directory: CrawlDirectory, database: Database, access: Access, *, keys: UrlKeys, peers: Peers
) -> WarcStore | None:
    """The WARC page store, cut back to the last checkpoint; None without the pipeline that fills it."""
    settings, path = crawler.settings, directory.path
    if not has_component(settings, "ITEM_PIPELINES", WARC):
        return None
    options = configuration.warc(settings, access.sheets, path.name, directory.manifest.fingerprint_key)
    counter = LinkCounter(keys.key_of, peers.has if peers.are_there else None)
    refer_to(path, configuration.earlier_crawls(settings))
    store = WarcStore(path, options, counter, EarlierCrawls(path, lasting=True))
    position = database.get("meta", PAGES)
    store.recover(json.loads(position) if position else None)
    return store
