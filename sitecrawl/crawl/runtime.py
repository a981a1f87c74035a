"""One crawl's engine, put together: directory, database, frontier, page stores, and the checkpoints over them.

Scheduler, middlewares and pipelines of one crawler share one `Runtime`. It follows every request that the frontier
has handed out as a `Fetch`, until Scrapy has dealt with it and its page is stored.

A page goes into the page store when its fetch is over, and not before. A checkpoint makes the page stores durable
first, and then writes one batch that says what is done and how far the stores had come. So after a crash the stores
are cut back to that batch, and every page is in them once.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.cluster.frontier import ClusterFrontier, Joined, join
from sitecrawl.crawl import configuration
from sitecrawl.crawl.requests import VISIT, is_miss
from sitecrawl.crawl.seed_hosts import SeedHosts
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.directory import CrawlDirectory
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.frontier.crawl_seen import SEEN_FILE, CrawlSeen
from sitecrawl.frontier.disk import Frontier, NewUrl, Visit
from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.record import State
from sitecrawl.page.items import Exchange, PageItem
from sitecrawl.page.links import Link
from sitecrawl.pagestore import WarcStore
from sitecrawl.urls.fingerprint import HASH_NAME, Fingerprinter
from sitecrawl.urls.url import Canonicalizer, Url

logger = logging.getLogger(__name__)

_ATTRIBUTE = "sitecrawl_runtime"
"""Where a crawler keeps its runtime: a registry would hold every crawler whose engine failed to start."""

PAGES_PER_CHECKPOINT = 500
"""After so many finished URLs a checkpoint is due, however short the time since the last."""


KEYS_KEPT = 16_384
"""URLs whose fingerprints stay in memory, about 0.3 kB each: most links lead to the same few pages."""


HOST_KEYS_KEPT = 16_384
"""Hosts whose keys do."""


class Checkpointed(Protocol):
    """A store that takes part in checkpoints."""

    def checkpoint(self) -> dict[str, object]:
        """Make durable what has come so far; returns the position, for `recover`."""
        ...


class Part(Protocol):
    """What else writes into every checkpoint's batch."""

    def flush(self, batch: Batch) -> None: ...


class Fetch:
    """A visit, and what has become of it so far."""

    __slots__ = (
        "changed",
        "content",
        "error",
        "exchange",
        "excluded",
        "expanded",
        "good",
        "interrupted",
        "leads_on",
        "page",
        "request",
        "status",
        "visit",
    )

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.request: Request | None = None
        """The request that Scrapy works on."""
        self.exchange: Exchange | None = None
        """What came back and is to be stored when the fetch is over."""
        self.page: PageItem | None = None
        """What a spider made of it."""
        self.status = 0
        self.error = ""
        """Why nothing came back."""
        self.excluded = ""
        """The rule that forbids it."""
        self.interrupted = False
        """Whether the crawl is being stopped and did not wait for it: the URL stays queued, for the next run."""
        self.leads_on = False
        """Whether it redirects to a URL that was not known."""
        self.content: PageItem | None = None
        """What says whether the page is worth having; None while only its status can."""
        self.good: bool | None = None
        """Whether it was worth having, where neither status nor content can say."""
        self.changed: bool | None = None
        """Whether no page had this body before; None if it was not looked at."""
        self.expanded = False
        """Its links have been handed to the frontier already, and its page's are to be left out."""

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400

    @property
    def is_miss(self) -> bool:
        """Whether nobody has said that there is anything at its URL, and nothing is."""
        return self.request is not None and is_miss(self.request, self.status)

    @property
    def state(self) -> State:
        if self.status:
            return State.FETCHED
        return State.FAILED if self.error else State.EXCLUDED


def _join(crawler: Crawler) -> Joined | None:
    """The crawl on Redis that the settings name, if they do. Here alone local or cluster is chosen."""
    options = configuration.cluster(crawler.settings, crawler.spidercls.name)
    if options is not None and crawler.settings.getint("DEPTH_LIMIT") > 0:
        logger.warning(
            "Workers do not go level by level: what is first found by a longer way counts as that deep, so a depth "
            "limit of %d may leave out some pages that one process would fetch",
            crawler.settings.getint("DEPTH_LIMIT"),
        )
    return join(options) if options is not None else None


class Runtime:
    """See the module. Get it with `Runtime.of(crawler)`."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        name = crawler.spidercls.name
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.job: str = getattr(crawler.spider, "_job", "")
        """scrapyd's name for this run; empty without scrapyd."""
        self._joined = _join(crawler)
        key = self._joined.key if self._joined is not None else None
        self.directory = CrawlDirectory(configuration.directory(settings, name, self.job), name, key=key)
        self.fingerprints = Fingerprinter(self.directory.fingerprint_key)
        self.canonicalizer = Canonicalizer()
        self._key_of = lru_cache(maxsize=KEYS_KEPT)(self._fingerprint)
        self.page_options = configuration.page(settings)
        self._seen = CrawlSeen(self.path / SEEN_FILE, configuration.seen(settings), hash_name=HASH_NAME)
        self.database = Database(self.directory.database, hash_name=HASH_NAME)
        try:
            self.frontier = self._open_frontier()
        except BaseException:
            self.database.close()
            raise
        self.fetches: dict[bytes, Fetch] = {}
        self.captures = False
        """Whether a middleware notes what comes of each fetch; otherwise the scheduler hears of responses alone."""
        self.seed_hosts = SeedHosts(self.database)
        self._store: WarcStore | None = None
        self._stores: list[Checkpointed] = []
        self._parts: list[Part] = [self.seed_hosts]
        self.on_finish: list[Callable[[Fetch, bool], None]] = []
        """Called with every fetch whose visit is over, and whether it brought something worth having."""
        self.on_robots: list[Callable[[str, Response | None], None]] = []
        """Called with the address of every robots.txt that a host was asked for, and the answer; None without one."""
        self.asks_robots = False
        """Whether a host is asked for its robots.txt before anything else, and `on_robots` is called."""
        self._finished = 0

    @classmethod
    def of(cls, crawler: Crawler) -> Runtime:
        """The runtime of `crawler`, made at the first call. It stays with the crawler, also when it is closed."""
        runtime: Runtime | None = vars(crawler).get(_ATTRIBUTE)
        if runtime is None:
            runtime = vars(crawler)[_ATTRIBUTE] = cls(crawler)
        return runtime

    def _open_frontier(self) -> Frontier | ClusterFrontier:
        settings = self.crawler.settings
        if self._joined is not None:
            return ClusterFrontier(
                self.database,
                self._joined,
                host_key=self._host_key,
                clock=time.monotonic,
                politeness=configuration.politeness(settings),
                max_depth=settings.getint("DEPTH_LIMIT"),
            )
        return Frontier(
            self.database,
            configuration.order(settings),
            seen=self._seen.open,
            host_key=lru_cache(maxsize=HOST_KEYS_KEPT)(self._host_key),
            clock=time.monotonic,
            wall=time.time,
            politeness=configuration.politeness(settings),
            options=configuration.frontier(settings),
        )

    @property
    def local(self) -> Frontier:
        """The frontier of a crawl in one process, for parts that no cluster has."""
        assert isinstance(self.frontier, Frontier)
        return self.frontier

    @property
    def path(self) -> Path:
        return self.directory.path

    # Stores

    def open_store(self) -> None:
        """Open the WARC page store, cut back to the last checkpoint. Without this, nothing is stored."""
        if self._store is None:
            store = WarcStore(self.path, configuration.warc(self.crawler.settings, self.path.name))
            position = self.database.get("meta", PAGES)
            store.recover(json.loads(position) if position else None)
            self._store = store
            if isinstance(self.frontier, ClusterFrontier):
                self.frontier.row_of_last = lambda: store.last_id
                self.frontier.withdraw = store.withdraw

    def add_store(self, store: Checkpointed) -> None:
        """Let `store` take part in every checkpoint."""
        self._stores.append(store)

    def add_part(self, part: Part) -> None:
        """Let `part` write into every checkpoint's batch."""
        self._parts.append(part)

    def put(self, exchange: Exchange, page: PageItem | None = None) -> None:
        """Store an exchange, and the page that a spider made of it; with a fetch under way, when that is over."""
        fetch = self.fetches.get(page.key) if page is not None else None
        if fetch is not None:
            fetch.exchange, fetch.page = exchange, page
        else:
            self._store_now(exchange, page)

    def _store_now(self, exchange: Exchange, page: PageItem | None) -> bool:
        """Whether it is in the page store now."""
        if self._store is None:
            return False
        try:
            self._store.put(exchange, page)
        except InvalidUrl as error:
            logger.warning("Not stored: %s", error)
            self.stats.inc_value("pagestore/not_stored")
            return False
        return True

    # URLs

    def expand(
        self,
        fetch: Fetch,
        links: Iterable[Link],
        *,
        nofollow: bool = False,
        score: Callable[[Link], float] | None = None,
        rest: int = 0,
    ) -> int:
        """Hand a page's links to the frontier in one batch; returns how many are new.

        `nofollow`: the page's author stands by none of them. `score`: the spider's, for the order `best`. `rest`: so
        many more links of the page come in later batches.
        """
        key_of = self._key_of
        found = [
            NewUrl(
                key_of(link.url),
                link.url,
                link.host,
                nofollow or link.nofollow,
                0.0 if score is None else score(link),
                link.priority,
            )
            for link in links
        ]
        return self.frontier.expand(fetch.visit, found, rest=rest)

    def _fingerprint(self, href: str) -> bytes:
        return self.fingerprints.url(self.canonicalizer.canonical_href(href))

    def seed(self, seeds: Iterable[Url], *, priority: int = 0) -> int:
        """Hand the seeds to the frontier; returns how many are new. `priority` is as of a request."""
        found = [NewUrl(self._fingerprint(url.href), url.href, url.host, priority=priority) for url in seeds]
        for url in found:
            self.seed_hosts.add(url.host)
        return self.frontier.add(found, depth=0)

    def widen(self, seed: Url) -> None:
        """A seed that came up in the crawl: other workers are to know of it."""
        if isinstance(self.frontier, ClusterFrontier):
            self.frontier.widen(seed.href)

    def _is_good(self, fetch: Fetch) -> bool:
        """Whether it was worth a fetch: a success that may be indexed and repeats no other, or a way to a new URL.

        To be asked once, when the fetch is over: a page whose content a checkpoint knew before would repeat itself
        when it is fetched again after a crash.
        """
        if fetch.good is not None:
            return fetch.good
        if not 200 <= fetch.status < 300:
            return fetch.leads_on  # a site may link to its pages by redirects alone
        page = fetch.content
        if page is None:
            return True
        verdict = self.frontier.content.add(
            self.frontier.host_key(fetch.visit),
            page.sha1,
            title=page.title or "",
            text_hash=page.text_hash,
        )
        if verdict != Verdict.NEW:
            self.stats.inc_value(f"content/{verdict.value}")
        fetch.changed = verdict != Verdict.EQUAL
        repeats = verdict != Verdict.NEW and not fetch.visit.again  # a page repeats itself when it is fetched again
        return not repeats and not page.noindex

    def _host_key(self, host: str) -> bytes:
        return self.fingerprints.opaque(host.encode())[8:]

    # Fetches

    def begin(self, visit: Visit) -> Fetch:
        fetch = self.fetches[visit.key] = Fetch(visit)
        return fetch

    def fetch_of(self, request: Request) -> Fetch | None:
        """The fetch that `request` was handed out for; None for any other request, also for one with its `meta`."""
        fetch = self.origin_of(request)
        return fetch if fetch is not None and fetch.request is request else None

    def origin_of(self, request: Request) -> Fetch | None:
        """The fetch that `request` comes from: its own, or that of the request whose `meta` it has taken over."""
        key = request.meta.get(VISIT)
        return self.fetches.get(key) if key is not None else None

    def leave(self, fetch: Fetch) -> bool:
        """The fetch is over: what it brought is stored, whatever comes next of the visit. Says whether there was any.

        Storing and the end of the visit fall into the same checkpoint, so a crash can part them nowhere.
        """
        del self.fetches[fetch.visit.key]
        return fetch.exchange is not None and self._store_now(fetch.exchange, fetch.page)

    def finish(self, fetch: Fetch) -> None:
        """The fetch is over, and so is the visit."""
        if fetch.interrupted:
            del self.fetches[fetch.visit.key]
            return
        stored = self.leave(fetch)
        good = self._is_good(fetch)
        self.frontier.done(fetch.visit, fetch.state, status=fetch.status, good=good, stored=stored)
        self._finished += 1
        for listener in self.on_finish:
            listener(fetch, good)

    # Durability

    @property
    def checkpoint_due(self) -> bool:
        return self._finished >= PAGES_PER_CHECKPOINT or self.frontier.wants_checkpoint

    def checkpoint(self) -> None:
        """Make durable what has been done so far. Raises `StorageError`."""
        batch = self.database.batch()
        for store in self._stores:
            store.checkpoint()
        if self._store is not None:
            batch.put("meta", PAGES, json.dumps(self._store.checkpoint()).encode())
        for part in self._parts:
            part.flush(batch)
        self.frontier.flush(batch)
        self.database.write(batch)
        self.frontier.flushed()
        self._finished = 0

    def save(self) -> None:
        """Make everything durable, and the next start quick. Raises `StorageError`."""
        self.checkpoint()
        if isinstance(self.frontier, Frontier):
            self._seen.save(self.database, self.frontier.seen, self.frontier.counts.serial)

    def close(self) -> None:
        """Close all files. Call `save` before: what came after the last checkpoint is forgotten."""
        if self._store is not None:
            self._store.close()
        self.database.close()
