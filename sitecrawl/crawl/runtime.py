"""The assembled engine of one crawl: directory, database, frontier, page stores, checkpoints.

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
from sitecrawl.base.errors import OptionError
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
from sitecrawl.crawl.own_frontier import NEEDS_OURS, own_frontier
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
from sitecrawl.frontier.contract import Asked, Frontier
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.peers import Peers
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.crawl_seen import SEEN_FILE
from sitecrawl.frontier.urls.record import Flag
from sitecrawl.http.sheets import Sheets
from sitecrawl.page.items import Link
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.earlier import EarlierCrawls, refer_to
from sitecrawl.pagestore.link_counts import LinkCounter
from sitecrawl.urls.fingerprint import HASH_NAME
from sitecrawl.urls.url import Canonicalizer, Schemes, Url

if TYPE_CHECKING:
    from sitecrawl.cluster.join import Joined
    from sitecrawl.cluster.shared_frontier import SharedFrontier
    from sitecrawl.crawl.browser_load import BrowserLoad

logger = logging.getLogger(__name__)

_ATTRIBUTE = "sitecrawl_runtime"
"""Attribute of a crawler with its runtime. A registry would keep every crawler whose engine failed to start."""

KEYS_KEPT = 16_384
"""Fingerprints cached in memory, about 0.3 kB each, because most links lead to the same few pages."""


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
    """Return the fingerprint of a URL fetched by GET."""
    told: Told | None = None
    """Arguments and settings of the run; None before the scheduler is open."""
    frontier: Frontier
    peers = Peers()
    """The other workers, where the crawl is shared."""
    whole: DiskFrontier | None = None
    """The crawl as a whole, all of it in this process: hosts, sections, credit; None on a cluster, and where a
    project has a frontier of its own.
    """
    team: SharedFrontier | None = None
    """The frontier of a worker; None where there is no cluster."""
    browser: Callable[[], BrowserLoad] | None = None
    """Load of the rendering browser, whose pages' hosts stay busy until it is done; None without rendering."""
    asks_robots = False
    """Whether each host's robots.txt is fetched first, and `on_robots` is called."""
    robots_under_way = 0
    """Number of robots.txt requests in flight, each of which a page waits for."""
    captures = False
    """Whether a middleware records the outcome of each fetch; otherwise the scheduler hears of responses alone."""

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
        """Headers, cookies, proxies and logins of hosts."""
        self.fingerprints = self.directory.manifest.fingerprinter()
        self.canonicalizer = Canonicalizer()
        self.key_of = lru_cache(maxsize=KEYS_KEPT)(self._fingerprint)
        self.database = Database(self.directory.database, hash_name=HASH_NAME)
        try:
            keep_copy(self.database, self.directory)
            make = FrontierFactory(
                settings,
                self.sheets,
                self.path / SEEN_FILE,
                host_key=self.fingerprints.host,
                fingerprint=self._fingerprint,
            )
            self.terms = make.terms
            """What holds for the crawl and its hosts now."""
            self._make_frontier(make)
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
        """Called with each URL that failed without a fetch because its host never answered."""
        self.on_moved: list[Callable[[], None]] = []
        """Called when the database has other sites than before, on a cluster."""
        self.on_robots: list[Callable[[str, Response | None], None]] = []
        """Called with the address of each requested robots.txt and the answer, None without one."""
        self.pause = Pause(
            self.stats,
            limit=declared.MAX_WANT_TIME.read(settings),
            is_under_way=self.fetches.__contains__,
            begun=self.peers.pause,
            ended=partial(wake, crawler),
            give_up=partial(stop, crawler),
        )
        self.checkpoints = Checkpoints(
            crawler,
            self.database,
            self.frontier,
            self.peers,
            self.fetches,
            saved=self._saved,
            close=self.close,
        )
        self.changes = Changes(self)
        own = self.seed_hosts, self.refusals, self.outcomes, self.changes, self.access
        for part in (*own, Wishes(self.path, self._retry_all)):
            self.checkpoints.add(part)

    def _make_frontier(self, make: FrontierFactory) -> None:
        listener = FrontierListener(self)
        if self.joined is not None:
            self.frontier = self.peers = self.team = make.of_worker(self.database, self.joined, listener)
        elif (own := own_frontier(self.crawler, listener)) is not None:
            self.frontier = own
        else:
            self.frontier = self.whole = make.own(self.database, listener)

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """The runtime of `crawler`, made at the first call. It stays with the crawler after it is closed."""
        runtime = cls.made(crawler)
        if runtime is None:
            runtime = vars(crawler)[_ATTRIBUTE] = cls(crawler)
        return runtime

    @staticmethod
    def made(crawler: Crawler) -> Runtime | None:
        """The runtime of `crawler`, if it was made."""
        runtime: Runtime | None = vars(crawler).get(_ATTRIBUTE)
        return runtime

    @property
    def local(self) -> DiskFrontier:
        """Sitecrawl's own frontier of what is in this process: the whole crawl, or a worker's part, another one
        whenever sites come or go. Raises `OptionError` where a project has a frontier of its own.
        """
        found = self.whole if self.team is None else self.team.frontier
        if found is None:
            raise OptionError(NEEDS_OURS.format("This"))
        return found

    @property
    def is_replaced(self) -> bool:
        """Whether a project has a frontier of its own, so that there is no `local`."""
        return self.whole is None and self.team is None

    @property
    def max_pages(self) -> int:
        """Current limit of URLs to fetch; 0 for none."""
        return self.terms.max_pages if self.team is None else self.team.run.max_pages

    @property
    def sheets(self) -> Sheets:
        """The sheets of the settings."""
        return self.access.sheets

    @property
    def schemes(self) -> Schemes:
        """Of the URLs that are crawled."""
        return configuration.schemes(self.crawler.settings)

    @property
    def scope(self) -> Scope | None:
        """The spider's scope, if it has one of ours."""
        scope = getattr(getattr(self.crawler.spider, "arguments", None), "scope", None)
        return scope if isinstance(scope, Scope) else None

    @property
    def path(self) -> Path:
        return self.directory.path

    # Stores

    def open_store(self) -> None:
        """Open the WARC page store, cut back to the last checkpoint. Nothing is stored without this call."""
        if self.pages.store is None:
            key = self.directory.manifest.fingerprint_key
            options = configuration.warc(self.crawler.settings, self.sheets, self.path.name, key)
            counter = LinkCounter(self.key_of, self.peers.has if self.peers.are_there else None)
            refer_to(self.path, configuration.earlier_crawls(self.crawler.settings))
            store = WarcStore(self.path, options, counter, EarlierCrawls(self.path, lasting=True))
            position = self.database.get("meta", PAGES)
            store.recover(json.loads(position) if position else None)
            self.pages.store = store
            self.checkpoints.add(store)

    def retry_given_up(self) -> None:
        """Ask the hosts again that were given up, of those that this process has."""
        if not self.is_replaced and (urls := self.local.by_hand.retry_given_up()):
            logger.info("%d URLs of hosts that never answered are tried again", urls)
            self.stats.inc_value("frontier/retried_given_up", urls)
            wake(self.crawler)

    def _retry_all(self) -> None:
        """Ask all workers' given-up hosts again."""
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
        """Give a page's links to the frontier in one batch; returns the number of new ones.

        `nofollow`: the page declares it. `score`: the spider's, for the order `best`. `rest`: number of links of the
        page in later batches.
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
        """Give the requisites of the page with the key `page` to the frontier."""
        for part in parts:
            part.key = self.key_of(part.url)
        asked = Asked(Flag.REQUISITE, request)
        return self.frontier.add(parts, depth=depth, referrer=page, asked=asked) if parts else 0

    def rediscover(self, url: str, links: Sequence[Link], *, depth: int) -> int:
        """Give the links of the stored page `url` to the frontier; returns the number of new ones."""
        for link in links:
            link.key = self.key_of(link.url)
        return self.frontier.add(links, depth=depth, referrer=self.key_of(url))

    def _fingerprint(self, href: str) -> bytes:
        return self.fingerprints.url(self.canonicalizer.canonical_href(href))

    def seed(self, seeds: Iterable[Url], *, priority: int = 0) -> int:
        """Give the seeds to the frontier; returns the number of new ones. `priority`: as of a request."""
        found = [Link(url.href, url.host, priority=priority, key=self._fingerprint(url.href)) for url in seeds]
        for link in found:
            self.seed_hosts.add(link.host)
        return self.frontier.add(found, depth=0)

    def widen(self, seed: Url, *, named: bool) -> None:
        """Widen the spider's scope, if it has one, by another seed, here and on other workers.

        `named`: by a person, so that its host may have a private address. Pages must not cause that.
        """
        if named:
            self.seed_hosts.add(seed.host)
        if (scope := self.scope) is not None and scope.add_seed(seed, led_to=not named):
            self.changes.readmit_soon()
        self.peers.tell(seed.href if named else LED_TO + seed.href)

    def say(self, text: str) -> None:
        """Let the spiders of all other workers hear `text`, those that begin later as well: by their `heard`."""
        self.peers.tell(SAID + text)

    # The end

    def _saved(self) -> None:
        """The last checkpoint is made: make the next start quick."""
        if self.whole is not None:
            self.whole.save()

    def close(self) -> None:
        """Close all files. Changes since the last checkpoint are dropped."""
        self.reading.close()
        if self.pages.store is not None:
            self.pages.store.close()
        self.database.close()
