"""Scrapy's SCHEDULER on the frontier: polite, on disk, in the crawl's order.

Scrapy asks for the next request whenever something has happened, and otherwise only every 5 seconds. So when every
host rests, the scheduler itself wakes the engine at the time at which the first may be asked again.
"""

from __future__ import annotations

import logging
import os
from typing import Final

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.python import get_func_args
from scrapy.utils.request import RequestFingerprinter
from twisted.internet.defer import Deferred

from sitecrawl.base import compiled, limits
from sitecrawl.base.display import printable
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import own_class
from sitecrawl.crawl.directories import only_looks
from sitecrawl.crawl.ending import FINISHED, finish_reason, stats_of
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.kept import FeedFiles, SpiderState, Told, Totals
from sitecrawl.crawl.privates import wake
from sitecrawl.crawl.requests import (
    COMES_BACK,
    VISIT,
    Unstorable,
    host_of,
    of_its_own,
    pack_request,
    unpack_request,
)
from sitecrawl.crawl.traffic import OUT_OF_SCOPE
from sitecrawl.crawldir.meta import CONTENT_TOTALS, SEEN_TOTALS
from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.forms.duplicates import ContentFigures
from sitecrawl.frontier.seen.figures import SeenFigures
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.url import CRAWLED, parse_or_none

logger = logging.getLogger(__name__)

NO_ROUNDS: Final = (
    "the spider {!r} is no SiteSpider, and those alone make rounds: crawl again in another directory, with "
    "-s SITECRAWL_DEDUPE_FROM, or make it one (docs/writing-spiders.md)"
)


class Scheduler(BaseScheduler):
    """Set `SCHEDULER = "sitecrawl.scheduler.Scheduler"`; any spider works with it."""

    def __init__(self, crawler: Crawler, crawl: Crawl, dupefilter: BaseDupeFilter | None = None) -> None:
        self._crawler = crawler
        self._dupefilter = dupefilter
        """The project's own; the frontier's test is asked in any case."""
        self._crawl = crawl
        self._frontier = crawl.frontier
        self._peers = crawl.peers
        self._pause = crawl.pause
        self._stats = crawl.stats
        self._volatile: dict[bytes, Request] = {}
        """Requests that cannot be stored, by visit."""
        self._max_url_length = limits.URL_LENGTH.read(crawler.settings)
        self._alarm: CallLaterResult | None = None
        terms = configuration.terms(crawler.settings, crawl.access.sheets, crawl.scope)
        self._told = Told(terms, crawl.scope, crawl.database)
        self._checkpoints = crawl.checkpoints
        self._checkpoints.add(self._told)
        self._own_fingerprints = type(crawler.request_fingerprinter) is RequestFingerprinter

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        own = own_class(crawler.settings)
        return cls(crawler, Crawl.of(crawler), build_from_crawler(own, crawler) if own is not None else None)

    def _retry_given_up(self) -> None:
        """Ask hosts again that never answered."""
        ours = self._crawl.ours
        if not ours.is_replaced and (urls := ours.local.by_hand.retry_given_up()):
            logger.info("%d URLs of hosts that never answered are tried again", urls)
            self._stats.inc_value("frontier/retried_given_up", urls)

    def open(self, spider: Spider) -> Deferred[None] | None:
        self._spider = spider
        logger.info("Compiled core: %s", compiled.IN_USE)
        if _misses_rounds(spider):
            logger.warning("again=%s is passed over: %s", vars(spider)["again"], NO_ROUNDS.format(spider.name))
        if self._crawl.directory.resumed:
            self._retry_given_up()
            logger.info("Resuming %s: %d URLs wait", self._crawl.directory.path, self._frontier.figures.waiting)
        if self._crawler.settings.get("JOBDIR") or not hasattr(spider, "state"):  # as Scrapy; else it is the spider's
            self._checkpoints.add(SpiderState(spider, self._crawl.database))
        self._checkpoints.add(FeedFiles(self._crawler))
        database, stats = self._crawl.database, self._stats
        if not self._crawl.ours.is_replaced:
            self._checkpoints.add(
                Totals(SEEN_TOTALS, SeenFigures, self._seen_figures, database=database, stats=stats)
            )
        found = self._crawl.fetches.content_figures
        self._checkpoints.add(Totals(CONTENT_TOTALS, ContentFigures, found, database=database, stats=stats))
        if not self._crawl.captures:
            self._crawler.signals.connect(self._received, signals.response_received)
        self._checkpoints.start()
        self._crawler.signals.connect(self._idle, signals.spider_idle)
        call_later(0, self._peers.start)
        return self._dupefilter.open() if self._dupefilter is not None else None

    def _seen_figures(self) -> SeenFigures:
        return self._crawl.ours.local.seen.figures()

    def _idle(self) -> None:
        """Nothing may be fetched any more: if something is left unread, the finish reason says so."""
        if self._frontier.is_finished():
            self._checkpoints.run()  # now, and not when the crawl has a finish reason: what cannot be stored is one
        if self._checkpoints.failed:  # before its end has begun
            raise CloseSpider(self._checkpoints.failure)
        if self._frontier.is_finished() and (reason := finish_reason(self._frontier.figures)) != FINISHED:
            raise CloseSpider(reason)

    def close(self, reason: str) -> Deferred[None] | None:
        self._cancel_alarm()
        self._count_left()
        self._told.end(reason)
        self._checkpoints.stop()
        if self._peers.are_there:
            return deferred_from_coro(self._part(reason))
        if (closing := self._checkpoints.close()) is not None:
            return deferred_from_coro(self._end(closing, reason))
        self._tell_outcomes()
        return self._close_dupefilter(reason)

    async def _end(self, closing: Deferred[None] | None, reason: str) -> None:
        """`closing` is that of the files."""
        if closing is not None:
            await maybe_deferred_to_future(closing)
        self._tell_outcomes()
        if (closing_filter := self._close_dupefilter(reason)) is not None:
            await maybe_deferred_to_future(closing_filter)

    def _close_dupefilter(self, reason: str) -> Deferred[None] | None:
        return self._dupefilter.close(reason) if self._dupefilter is not None else None

    def _tell_outcomes(self) -> None:
        self._crawl.outcomes.tell(self._stats, self._frontier.figures.fetched)

    def _count_left(self) -> None:
        if self._peers.are_there:
            return  # it is no worker's own
        for name, urls in stats_of(self._frontier.figures):
            self._stats.set_value(name, urls)

    async def _part(self, reason: str) -> None:
        """Tell Redis what is done before the files are closed; what it has not heard by then the next start tells."""
        self._checkpoints.run()
        await self._peers.close()
        if self._peers.wants_checkpoint:
            self._checkpoints.run()  # takes out what was lost by then; the last one makes that durable
        for name, value in self._peers.stats().items():
            self._stats.set_value(name, value)
        await self._end(self._checkpoints.close(), reason)

    def _received(self, response: Response, request: Request) -> None:
        """What `CaptureMiddleware` would have noted, in a project that has the scheduler alone."""
        fetch = self._crawl.fetches.of(request)
        if fetch is not None:
            fetch.arrived(response.status)
            self._frontier.downloaded(fetch.visit, request.meta.get("download_latency", 0.0))

    # Into the frontier

    def enqueue_request(self, request: Request) -> bool:
        try:
            return self._enqueue(request)
        except StorageError as error:
            self._checkpoints.fail(error)
            return False

    def _enqueue(self, request: Request) -> bool:
        fetch = self._crawl.fetches.behind(request)
        if fetch is None and self._peers.are_there:
            request = request.replace(dont_filter=False)  # every worker's spider begins with the same requests
        comes_back = request.meta.pop(COMES_BACK, False)
        if fetch is not None and self._is_again(request, fetch, comes_back=comes_back):
            self._put_back(request, fetch)
            return True
        if fetch is not None and not self._crawl.captures and not fetch.status:
            fetch.arrived(302)  # some redirect: nobody has seen which
        if (fetch is not None and self._leads_astray(request, fetch)) or self._is_filtered(request):
            return False
        if fetch is not None and fetch.is_redirect:
            request = _without_credentials(request)
        request = of_its_own(request, fetch.request if fetch is not None else None)
        depth = request.meta.get("depth", 0)
        blob, flags = self._pack(request)
        flags |= _flags(request, fetch)
        found = Link(request.url, host_of(request.url), priority=request.priority, key=self._key(request))
        if comes_back and self._frontier.again(found.key, priority=request.priority, request=blob):
            return True
        referrer = fetch.visit.key if fetch is not None else NO_REFERRER
        if not self._frontier.add([found], depth=depth, referrer=referrer, asked=Asked(flags, blob)):
            self._stats.inc_value("dupefilter/filtered")
            logger.debug("Filtered duplicate request: %(request)s", {"request": request})
            return False
        if fetch is not None and fetch.is_redirect:
            fetch.leads_on = True
        if flags & Flag.VOLATILE:
            self._volatile[found.key] = request
        self._count("enqueued", volatile=bool(flags & Flag.VOLATILE))
        return True

    def _leads_astray(self, request: Request, fetch: Fetch) -> bool:
        """Whether a redirect leads to what no link may lead to."""
        if not self._admits(request, fetch):
            self._crawl.outcomes.hindered(fetch.visit, OUT_OF_SCOPE, f"to {printable(request.url, 100)}")
            self._stats.inc_value("links/redirected_out_of_scope")
            return True
        if 0 < self._max_url_length < len(request.url):  # no spider has seen it
            self._stats.inc_value(limits.URL_LENGTH.stat)
            return True
        return False

    def _is_filtered(self, request: Request) -> bool:
        """Whether the project's own filter has seen it."""
        if self._dupefilter is None or request.dont_filter or not self._dupefilter.request_seen(request):
            return False
        self._dupefilter.log(request, self._spider)
        return True

    @staticmethod
    def _is_again(request: Request, fetch: Fetch, *, comes_back: bool) -> bool:
        """Whether a middleware or the spider wants the same request once more, as a retry does."""
        first = fetch.request
        return (request.dont_filter or comes_back) and (request.url, request.method) == (first.url, first.method)

    def _admits(self, request: Request, fetch: Fetch) -> bool:
        """A spider that limits which links it follows limits redirects as well."""
        admits = getattr(self._spider, "admits_redirect", None)
        if fetch.visit.is_requisite:  # wherever it is, it is a part of the same page
            return True
        return not fetch.is_redirect or admits is None or admits(request.url, of_seed=fetch.visit.depth == 0)

    def _put_back(self, request: Request, fetch: Fetch) -> None:
        if fetch.is_given_back:
            self._give_back(fetch)
            return
        if not fetch.request.dont_filter:
            request = request.replace(dont_filter=False)  # it was to pass the filter once; its redirects are not
        blob, flags = self._pack(request)
        volatile = bool(flags & Flag.VOLATILE)
        self._crawl.fetches.end(fetch)
        self._volatile.pop(fetch.visit.key, None)
        if volatile:
            self._volatile[fetch.visit.key] = request
        fetch.tell_visit()
        self._frontier.retry(fetch.visit, priority=request.priority, request=blob, volatile=volatile)
        self._count("enqueued", volatile=volatile)

    def _give_back(self, fetch: Fetch) -> None:
        """This machine could not ask: the request waits as it did before it was handed out."""
        self._crawl.fetches.end(fetch)
        if fetch.visit.volatile:
            self._volatile[fetch.visit.key] = fetch.request
        self._frontier.put_back(fetch.visit, rest=fetch.rest)

    def _pack(self, request: Request) -> tuple[bytes | None, int]:
        try:
            return pack_request(request, self._spider), Flag.NONE
        except Unstorable as error:
            if not self._stats.get_value("scheduler/unserializable") and not only_looks():
                logger.warning("%s. It stays in memory, and so will others like it: a restart forgets them", error)
            self._stats.inc_value("scheduler/unserializable")
            return None, Flag.VOLATILE

    def _key(self, request: Request) -> bytes:
        fingerprints = self._crawl.keys.fingerprints
        if request.dont_filter:
            return fingerprints.opaque(os.urandom(16), self._region(request))
        if not self._own_fingerprints:
            made = self._crawler.request_fingerprinter.fingerprint(request)
            return fingerprints.opaque(made, self._region(request))
        url = parse_or_none(request.url, schemes=CRAWLED)
        canonical = self._crawl.keys.canonicalizer.canonical(url) if url is not None else request.url
        return fingerprints.request(request.method, canonical, request.body)

    def _region(self, request: Request) -> bytes:
        """Of many workers, one has all of a site; in one process another fingerprinter may take two sites for one."""
        return self._crawl.keys.fingerprints.region(host_of(request.url)) if self._peers.are_there else b""

    # Out of the frontier

    def has_pending_requests(self) -> bool:
        return not self._frontier.is_finished()

    def next_request(self) -> Request | None:
        try:
            visit = self._next_visit()
            if visit is not None:
                return self._begin(visit)
        except MemoryError:
            raise  # the checkpoints see it logged
        except Exception as error:  # noqa: BLE001 - raised, it would leave a crawl that never ends
            self._checkpoints.fail(error)
            return None
        self._set_alarm()
        return None

    def _begin(self, visit: Visit) -> Request:
        if visit.volatile:
            request = self._volatile.pop(visit.key)
        else:
            request = unpack_request(visit.url, visit.request, self._spider)
        if visit.request is None and visit.priority:  # a link's; a stored request has its own
            request.priority = visit.priority
        request.meta[VISIT] = visit.key
        if visit.depth:
            request.meta.setdefault("depth", visit.depth)
        self._crawl.fetches.begin(visit, request)
        self._count("dequeued", volatile=visit.volatile)
        return request

    def _next_visit(self) -> Visit | None:
        if self._checkpoints.failure:
            return None
        self._crawl.fetches.finish_some()
        visit = self._ask()
        if visit is None and self._crawl.fetches.finish_handled():
            visit = self._ask()
        if self._checkpoints.is_due:
            self._checkpoints.run()
        return visit

    def _ask(self) -> Visit | None:
        visit = self._frontier.next() if self._pause.may_ask() else None
        if visit is not None:
            self._pause.asked(visit.key)
        return visit

    # Waking the engine

    def _set_alarm(self) -> None:
        self._cancel_alarm()
        seconds = self._frontier.next_time() if self._pause.want is None else self._pause.next_time()
        if seconds is not None:
            self._alarm = call_later(seconds, wake, self._crawler)

    def _cancel_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _count(self, event: str, *, volatile: bool) -> None:
        self._stats.inc_value(f"scheduler/{event}")
        self._stats.inc_value(f"scheduler/{event}/{'memory' if volatile else 'disk'}")


def _flags(request: Request, fetch: Fetch | None) -> int:
    """What the frontier has to know of a request that comes of `fetch`."""
    flags = Flag.UNFILTERED * request.dont_filter | Flag.AWAITED * (request.errback is not None)
    return flags | Flag.REQUISITE * (fetch is not None and fetch.visit.is_requisite)


def _misses_rounds(spider: Spider) -> bool:
    """Whether `spider` was given `again`, and makes no use of it: Scrapy's own make an attribute of any argument."""
    kind = type(spider)
    is_own = hasattr(kind, "again") or "again" in get_func_args(kind.__init__)
    return not is_own and vars(spider).get("again", "0") != "0"


def _without_credentials(request: Request) -> Request:
    """Remove user and password from a redirect's URL: they are not kept, and Twisted takes them for a host."""
    url = parse_or_none(request.url) if "@" in request.url else None
    return request.replace(url=url.href) if url is not None else request
