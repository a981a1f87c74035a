"""One crawl's engine, put together: directory, database, frontier, page stores, and the checkpoints over them.

Scheduler, middlewares and pipelines of one crawler share one `Runtime`: `fetches` has what is under way, `pages` has
where pages go.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.base import declared, descriptors
from sitecrawl.crawl import configuration, directories
from sitecrawl.crawl.access import Access
from sitecrawl.crawl.changes import Changes
from sitecrawl.crawl.checkpoints import Checkpoints
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.fetches import Fetches, Pages
from sitecrawl.crawl.frontier_listener import LED_TO, SAID, FrontierListener
from sitecrawl.crawl.frontiers import FrontierFactory, join_crawl
from sitecrawl.crawl.last_failures import LastFailures
from sitecrawl.crawl.outcomes import OutcomeCounts
from sitecrawl.crawl.pause import Pause
from sitecrawl.crawl.privates import stop, wake
from sitecrawl.crawl.reading import page_reading
from sitecrawl.crawl.refusals import Refusals
from sitecrawl.crawl.seed_hosts import SeedHosts
from sitecrawl.crawl.told import Told
from sitecrawl.crawl.wishes import Wishes
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory, keep_copy
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.by_hand import RETRY, Act
from sitecrawl.frontier.contract import Frontier
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host_terms import LiveTerms
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.crawl_seen import SEEN_FILE
from sitecrawl.page.items import Link
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.earlier import EarlierCrawls, refer_to
from sitecrawl.pagestore.link_counts import LinkCounter
from sitecrawl.sheets import Sheets
from sitecrawl.urls.fingerprint import HASH_NAME
from sitecrawl.urls.url import Canonicalizer, Schemes, Url

if TYPE_CHECKING:
    from sitecrawl.cluster.join import Joined
    from sitecrawl.cluster.shared_frontier import SharedFrontier
    from sitecrawl.crawl.browser_load import BrowserLoad

logger = logging.getLogger(__name__)

_ATTRIBUTE = "sitecrawl_runtime"
"""Where a crawler keeps its runtime: a registry would hold every crawler whose engine failed to start."""

KEYS_KEPT = 16_384
"""URLs whose fingerprints stay in memory, about 0.3 kB each: most links lead to the same few pages."""


def _directory(crawler: Crawler, job: str, joined: Joined | None) -> CrawlDirectory:
    spider = crawler.spidercls.name
    path = directories.directory(crawler.settings, spider, job)
    if joined is None:
        return CrawlDirectory(path, spider)
    return CrawlDirectory(path, spider, key=joined.key, split=joined.options.split)


def _access(crawler: Crawler, path: Path) -> Access:
    assert crawler.stats
    settings = crawler.settings
    return Access(
        configuration.sheets(settings),
        path,
        crawler.stats,
        all_cookies=declared.COOKIES.read(settings),
    )


class Runtime:
    """See the module. Get it with `Runtime.of(crawler)`."""

    key_of: Callable[[str], bytes]
    """Gives the fingerprint of a URL that is fetched by GET."""
    told: Told | None = None
    """What the crawl is told; None before the scheduler is open."""
    frontier: Frontier
    whole: DiskFrontier | None = None
    """The crawl as a whole, all of it in this process: hosts, sections, credit; None on a cluster."""
    browser: Callable[[], BrowserLoad] | None = None
    """Says what a browser has to do that renders pages: their hosts are not free before that is done. None where
    pages are taken as they come."""
    asks_robots = False
    """Whether a host is asked for its robots.txt before anything else, and `on_robots` is called."""
    robots_under_way = 0
    """How many are asked for now, each on the way of a page that waits for it."""
    captures = False
    """Whether a middleware notes what comes of each fetch; otherwise the scheduler hears of responses alone."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.stats = crawler.stats
        self.job: str = getattr(crawler.spider, "_job", "")
        """scrapyd's name for this run; empty without scrapyd."""
        descriptors.check()
        self.joined = joined = join_crawl(crawler)
        self.directory = _directory(crawler, self.job, joined)
        self.access = _access(crawler, self.path)
        """As whom each host is asked."""
        self.fingerprints = self.directory.manifest.fingerprinter()
        self.canonicalizer = Canonicalizer()
        self.key_of = lru_cache(maxsize=KEYS_KEPT)(self._fingerprint)
        self.database = Database(self.directory.database, hash_name=HASH_NAME)
        self.team: SharedFrontier | None = None
        """The frontier of a worker; None where there is no cluster."""
        try:
            keep_copy(self.database, self.directory)
            make = FrontierFactory(
                settings,
                self.sheets,
                self.path / SEEN_FILE,
                host_key=self.fingerprints.host,
                fingerprint=self._fingerprint,
            )
            listener = FrontierListener(self)
            if joined is None:
                self.frontier = self.whole = make.own(self.database, listener)
            else:
                self.frontier = self.team = make.of_worker(self.database, joined, listener)
            self.reading = page_reading(settings, self.stats)
        except BaseException:
            self.database.close()
            raise
        self.refusals = Refusals(self.database, self.stats)
        self.seed_hosts = SeedHosts(self.database)
        self.outcomes = OutcomeCounts(self.database)
        self.last_failures = LastFailures()
        self.pages = Pages(self.stats)
        self.fetches = Fetches(
            crawler, self.frontier, self.pages, self.outcomes, declared.DUPLICATE_CONTENT.read(settings)
        )
        self.on_given_up: list[Callable[[bytes], None]] = []
        """Called with every URL that has failed without a fetch: its host has never answered."""
        self.on_moved: list[Callable[[], None]] = []
        """Called when the database has other sites than before: on a cluster they come and go."""
        self.on_robots: list[Callable[[str, Response | None], None]] = []
        """Called with the address of every robots.txt that a host was asked for, and the answer; None without one."""
        self.pause = Pause(
            self.stats,
            limit=declared.MAX_WANT_TIME.read(settings),
            is_under_way=self.fetches.__contains__,
            begun=self.frontier.pause,
            ended=partial(wake, crawler),
            give_up=partial(stop, crawler),
        )
        self.checkpoints = Checkpoints(
            crawler,
            self.database,
            self.frontier,
            self.fetches,
            close=self.close,
        )
        self.changes = Changes(self)
        own = self.seed_hosts, self.refusals, self.outcomes, self.changes, self.access
        for part in (*own, Wishes(self.path, self._retry_all)):
            self.checkpoints.add(part)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """The runtime of `crawler`, made at the first call. It stays with the crawler, also when it is closed."""
        runtime = cls.made(crawler)
        if runtime is None:
            runtime = vars(crawler)[_ATTRIBUTE] = cls(crawler)
        return runtime

    @staticmethod
    def made(crawler: Crawler) -> Runtime | None:
        """The same; None where nothing has asked for one."""
        runtime: Runtime | None = vars(crawler).get(_ATTRIBUTE)
        return runtime

    @property
    def local(self) -> DiskFrontier:
        """The frontier of what is in this process: the whole crawl, or a worker's part, another one whenever sites
        come or go.
        """
        found = self.whole if self.team is None else self.team.frontier
        assert found is not None  # it is one of the two
        return found

    @property
    def terms(self) -> LiveTerms:
        """What holds for the crawl and its hosts now."""
        return self.local.terms

    @property
    def max_pages(self) -> int:
        """URLs to fetch, as it is now; 0 for no limit."""
        return self.terms.max_pages if self.team is None else self.team.run.max_pages

    @property
    def sheets(self) -> Sheets:
        """What is otherwise for some hosts, as the settings have it."""
        return self.access.sheets

    @property
    def schemes(self) -> Schemes:
        """Of the URLs that are crawled."""
        return configuration.schemes(self.crawler.settings)

    @property
    def scope(self) -> Scope | None:
        """Which links the spider follows, if it has a scope of ours."""
        scope = getattr(getattr(self.crawler.spider, "arguments", None), "scope", None)
        return scope if isinstance(scope, Scope) else None

    @property
    def share(self) -> float:
        """Of all sites, what this process has."""
        return 1.0 if self.team is None else self.team.partitions.share

    def has(self, host_name: str) -> bool:
        """Whether a host's site is this process'."""
        return self.team is None or self.team.has(host_name)

    def end_all(self, reason: str) -> None:
        """What ends this process' crawl, for Scrapy's finish reason `reason`, ends that of the other workers, too."""
        if self.team is not None:
            self.team.exchange.end(reason)

    @property
    def path(self) -> Path:
        return self.directory.path

    # Stores

    def open_store(self) -> None:
        """Open the WARC page store, cut back to the last checkpoint. Without this, nothing is stored."""
        if self.pages.store is None:
            key = self.directory.manifest.fingerprint_key
            options = configuration.warc(self.crawler.settings, self.sheets, self.path.name, key)
            counter = LinkCounter(self.key_of, self.has if self.team is not None else None)
            refer_to(self.path, configuration.earlier_crawls(self.crawler.settings))
            store = WarcStore(self.path, options, counter, EarlierCrawls(self.path, lasting=True))
            position = self.database.get("meta", PAGES)
            store.recover(json.loads(position) if position else None)
            self.pages.store = store
            self.checkpoints.add(store)

    def retry_given_up(self) -> None:
        """Ask the hosts again that were given up, of those that this process has."""
        frontier = self.team or self.whole
        if frontier is not None and (urls := frontier.retry_given_up()):
            logger.info("%d URLs of hosts that never answered are tried again", urls)
            self.stats.inc_value("frontier/retried_given_up", urls)
            wake(self.crawler)

    def _retry_all(self) -> None:
        """The same on all workers, where there are many."""
        if self.team is not None:
            self.team.act(Act(RETRY))
        else:
            self.retry_given_up()

    # URLs

    def expand(
        self,
        fetch: Fetch,
        links: Sequence[Link],
        *,
        nofollow: bool = False,
        score: Callable[[Link], float] | None = None,
        rest: int = 0,
    ) -> int:
        """Hand a page's links to the frontier in one batch; returns how many are new.

        `nofollow`: the page's author stands by none of them. `score`: the spider's, for the order `best`. `rest`: so
        many more links of the page come in later batches.
        """
        key_of = self.key_of
        for link in links:
            link.key = key_of(link.url)
        if nofollow:
            for link in links:
                link.nofollow = True
        if score is not None:
            for link in links:
                link.score = score(link)
        return self.frontier.expand(fetch.visit, links, rest=rest)

    def require(self, page: bytes, parts: Sequence[Link], *, depth: int, request: bytes | None = None) -> int:
        """What the page with the key `page` is made of, to the frontier; see there."""
        for part in parts:
            part.key = self.key_of(part.url)
        return self.frontier.require(page, parts, depth=depth, request=request) if parts else 0

    def rediscover(self, url: str, links: Sequence[Link], *, depth: int) -> int:
        """Hand the links of a page that has no visit now, of `url`, to the frontier; returns how many are new."""
        for link in links:
            link.key = self.key_of(link.url)
        return self.frontier.add(links, depth=depth, referrer=self.key_of(url))

    def _fingerprint(self, href: str) -> bytes:
        return self.fingerprints.url(self.canonicalizer.canonical_href(href))

    def seed(self, seeds: Iterable[Url], *, priority: int = 0) -> int:
        """Hand the seeds to the frontier; returns how many are new. `priority` is as of a request."""
        found = [Link(url.href, url.host, priority=priority, key=self._fingerprint(url.href)) for url in seeds]
        for link in found:
            self.seed_hosts.add(link.host)
        return self.frontier.add(found, depth=0)

    def widen(self, seed: Url, *, named: bool) -> None:
        """The crawl has one more seed: it widens the spider's scope, if that has one, here and on other workers.

        `named`: by a person, so its host may be connected to wherever it is. A page must not have that done.
        """
        if named:
            self.seed_hosts.add(seed.host)
        if (scope := self.scope) is not None and scope.add_seed(seed, led_to=not named):
            self.changes.readmit_soon()
        if self.team is not None:
            self.team.exchange.scope.add(seed.href if named else LED_TO + seed.href)

    def say(self, text: str) -> None:
        """Let the spiders of all other workers hear `text`, those that begin later as well: by their `heard`.

        Redis keeps it as long as the crawl, and hears it before what is stored from now on. What is said twice is
        there once.
        """
        if self.team is not None:
            self.team.exchange.scope.add(SAID + text)

    # The end

    def close(self) -> None:
        """Close all files. What came after the last checkpoint is forgotten."""
        self.reading.close()
        if self.pages.store is not None:
            self.pages.store.close()
        self.database.close()
