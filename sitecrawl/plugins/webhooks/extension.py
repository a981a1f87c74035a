"""The Scrapy extension: watches the crawl once a second, and has its webhooks told.

On a cluster the first worker tells of the crawl's start and the last one of its end; stalls, errors and heartbeats
are each worker's own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from sitecrawl import http
from sitecrawl.base import limits
from sitecrawl.base.display import printable
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl import configuration, directories
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.ending import ending_of
from sitecrawl.crawl.outcomes import NO_PAGE
from sitecrawl.crawl.sharing import process_name
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.crawldir.terms import terms_of
from sitecrawl.extensions.network import tls_context
from sitecrawl.extensions.resolver import look_up
from sitecrawl.http import Tls, Verify
from sitecrawl.plugins.webhooks import WEBHOOKS
from sitecrawl.plugins.webhooks.courier import Courier, Event, Letter, Webhook, read_hooks

_LEAST: Final = 20
"""Fetches in the window, without which its share of errors says nothing."""
_SAMPLES: Final = 60
"""That a window is made of."""
_CALM: Final = 0.5
"""Of the threshold: below that share the errors are over. So a share about the threshold is one alarm, not many."""


class _StallAlarm:
    """`seconds` without a fetch are a stall. Times are monotonic seconds."""

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds = seconds
        self._fetched = -1
        self._since = now
        self._stalls = False

    def look(self, now: float, fetched: int, *, may_fetch: bool) -> Event | None:
        """What is to be told: `fetched` so far, and whether there is something that the crawl could fetch."""
        if fetched != self._fetched or not may_fetch:
            goes_on = self._stalls and fetched != self._fetched
            self._fetched, self._since = fetched, now
            self._stalls = self._stalls and not goes_on
            return Event.RESUMED if goes_on else None
        if self._stalls or self.lasts(now) < self._seconds:
            return None
        self._stalls = True
        return Event.STALL

    def lasts(self, now: float) -> float:
        """Seconds since the last fetch."""
        return now - self._since


class _ErrorAlarm:
    """`threshold`: the share of errors above which something is wrong, from 0 to 1. `window`: seconds."""

    def __init__(self, threshold: float, window: float, now: float) -> None:
        self._threshold = threshold
        self._window = window
        self._samples: deque[tuple[float, int, int]] = deque([(now, 0, 0)])
        """Time, attempts and errors so far: the first is where the window begins."""
        self._is_on = False
        self.attempts = self.errors = 0
        """Of the fetches in the window."""

    @property
    def share(self) -> float:
        """From 0 to 1. A spider's own error comes on top of the answer that it met."""
        return min(1.0, self.errors / self.attempts) if self.attempts else 0.0

    def look(self, now: float, attempts: int, errors: int) -> Event | None:
        """What is to be told, of so many `attempts` and `errors` since the beginning."""
        samples = self._samples
        while len(samples) > 1 and now - samples[1][0] >= self._window:
            samples.popleft()
        _, attempts_before, errors_before = samples[0]
        self.attempts, self.errors = attempts - attempts_before, errors - errors_before
        if now - samples[-1][0] >= self._window / _SAMPLES:
            samples.append((now, attempts, errors))
        if self.attempts < _LEAST:
            return None
        if not self._is_on and self.share > self._threshold:
            self._is_on = True
            return Event.ERRORS
        if self._is_on and self.share < self._threshold * _CALM:
            self._is_on = False
            return Event.RECOVERED
        return None


logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_CLOSING_SECONDS: Final = 10.0
"""For which the end of a crawl waits for its webhooks at the most."""
_STALL: Final = 300.0
"""Seconds without a fetch, although something could be fetched, after which the crawl counts as stalled."""
_ERRORS: Final = 0.5
"""Share of the fetches of a window above which errors are told."""
_HEARTBEAT: Final = 60.0
"""Seconds between two heartbeats."""
_WINDOW: Final = 300.0
"""Seconds over which the share of errors is taken."""
_REASON: Final = 200
"""Characters of a finish reason: a spider may take it from anywhere."""
_INTERNAL: Final = frozenset({"row", "is_first"})
"""Fields of a round that mean nothing outside of its crawl."""


class Webhooks:
    """`SITECRAWL_WEBHOOKS` (docs/alerts.md)."""

    def __init__(self, crawler: Crawler, hooks: tuple[Webhook, ...]) -> None:
        self._crawler = crawler
        self._hooks = hooks
        self._began = self._beats_at = now = time.monotonic()
        self._stall = _StallAlarm(_STALL, now)
        self._errors = _ErrorAlarm(_ERRORS, _WINDOW, now)
        self._ticks: AsyncioLoopingCall | LoopingCall | None = None
        """None before the crawl has begun."""
        self._has_failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Webhooks:
        settings = crawler.settings
        hooks = read_hooks(settings.get(WEBHOOKS.name), partial(configuration.revealed, name=WEBHOOKS.name))
        if not hooks or directories.only_looks():
            raise NotConfigured
        if not has_our_scheduler(settings):
            raise NotConfigured("SITECRAWL_WEBHOOKS needs sitecrawl's SCHEDULER")
        webhooks = cls(crawler, hooks)
        crawler.signals.connect(webhooks.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(webhooks.spider_closed, signal=signals.spider_closed)
        return webhooks

    # The crawl's life

    def spider_opened(self, spider: Spider) -> None:
        self._crawl = crawl = Crawl.of(self._crawler)
        self._began = time.monotonic()
        self._client = _client(self._crawler.settings)
        count = self._crawler.stats.inc_value
        self._couriers = [Courier(hook, self._client, count) for hook in self._hooks]
        self._about = self._names(spider)
        if crawl.peers.is_first:
            resumed = crawl.directory.resumed
            previous = _previous(crawl) if resumed else ""
            words = f"goes on ({_OF_PREVIOUS.get(previous, 'after its end')})" if resumed else "begins"
            self._tell(Event.START, words, resumed=resumed, previous=previous or None)
        self._ticks = create_looping_call(self._tick)
        self._ticks.start(_LOOK_SECONDS, now=True)

    async def spider_closed(self, reason: str) -> None:
        """The scheduler has closed all files: from here on only what is in memory may be asked."""
        if self._ticks is None:
            return
        if self._ticks.running:
            self._ticks.stop()
        self._look_for_errors(time.monotonic(), self._traffic())  # a crawl may be shorter than the time between looks
        crawl = self._crawl
        reason = crawl.checkpoints.failure or reason
        if crawl.peers.is_last:
            no_page = bool(self._crawler.stats.get_value(NO_PAGE))
            causes = [{"why": cause.why, "hosts": cause.hosts} for cause in crawl.outcomes.causes[:10]]
            ending = ending_of(crawl, reason)
            words = f"fetched no page, and {ending}" if no_page else ending
            about: dict[str, Any] = {"ending": printable(ending, 1000), "no_page": no_page}
            about |= {"causes": causes if no_page else [], "round": None}
            found = getattr(getattr(self._crawler.spider, "recrawling", None), "round", None)
            if found is not None:
                told = {name: value for name, value in asdict(found).items() if name not in _INTERNAL}
                words, about["round"] = f"{words} ({found})", told
            self._tell(Event.END, words, reason=printable(reason, _REASON), **about)
        await asyncio.gather(*(courier.close(_CLOSING_SECONDS) for courier in self._couriers))
        self._client.close()

    # What is told

    def _tick(self) -> None:
        """Whatever goes wrong is said once; the next second is another try."""
        try:
            self._look()
        except Exception:
            if not self._has_failed:
                logger.exception("Webhooks hear of nothing for now")
            self._has_failed = True

    def _look(self) -> None:
        now, traffic = time.monotonic(), self._traffic()
        self._look_for_stall(now, traffic)
        self._look_for_errors(now, traffic)
        if now >= self._beats_at:
            self._beats_at = now + _HEARTBEAT
            self._tell(Event.HEARTBEAT, "is alive")

    def _look_for_stall(self, now: float, traffic: Traffic) -> None:
        seconds = self._stall.lasts(now)
        fetched = traffic.responses + traffic.requisites.total()
        event = self._stall.look(now, fetched, may_fetch=self._may_fetch())
        if event is Event.STALL:
            self._tell(event, f"has fetched nothing for {seconds:.0f} seconds{self._why()}", lasts=round(seconds, 1))
        elif event is Event.RESUMED:
            self._tell(event, f"fetches again, after {seconds:.0f} seconds", lasts=round(seconds, 1))

    def _look_for_errors(self, now: float, traffic: Traffic) -> None:
        event = self._errors.look(now, traffic.responses + traffic.failures.total(), traffic.errors)
        if event is not None:
            found = self._errors
            words = f"has {'errors' if event is Event.ERRORS else 'few errors again'}: {found.share:.0%} of "
            words += f"{found.attempts:,} fetches"
            self._tell(event, words, share=round(found.share, 4), attempts=found.attempts, errors=found.errors)

    def _may_fetch(self) -> bool:
        """Whether something is under way or waits that is not held back, and nobody has paused the crawl."""
        engine = self._crawler.engine
        if engine is None or engine.paused:
            return False
        return bool(self._crawl.fetches) or self._crawl.frontier.figures.may_be_fetched

    def _why(self) -> str:
        pause = self._crawl.pause
        return f": {pause.why}" if pause.want is not None else ""

    def _traffic(self) -> Traffic:
        return Traffic.read(self._crawler.stats.get_stats())

    def _names(self, spider: Spider) -> dict[str, Any]:
        """Which crawl it is. A directory's name is no secret, where it stands may be."""
        crawl = self._crawl
        shared = crawl.joined.options.crawl if crawl.joined is not None else None
        worker = process_name() if shared is not None else None
        return {
            "crawl": shared or crawl.directory.path.name,
            "spider": spider.name,
            "job": crawl.job or None,
            "worker": worker,
        }

    def _tell(self, event: Event, words: str, **fields: Any) -> None:
        """`text` is a line for people, of our own words: chat programs show it, and may obey what is in it."""
        about, at = self._about, time.time()
        who = f"{about['crawl']} on {about['worker']}" if about["worker"] else about["crawl"]
        seconds = time.monotonic() - self._began
        told = {"text": printable(f"The crawl {who} {words}.", 1000), **about, **fields}
        letter = Letter(event, at, {**told, "figures": self._figures(seconds)})
        for courier in self._couriers:
            courier.put(letter)

    def _figures(self, seconds: float) -> dict[str, Any]:
        """Of the run, which has lasted so many `seconds`; and in `crawl` of the crawl, over all runs. Counts are of
        URLs unless their name says something else.
        """
        traffic, counts = self._traffic(), self._crawl.frontier.figures
        return {
            "seconds": round(seconds, 3),
            "responses": traffic.responses,
            "errors": traffic.errors,
            "received_bytes": traffic.received,
            "duplicate_links": traffic.duplicates,
            "robots_txt": traffic.forbidden,
            "statuses": {str(status): number for status, number in sorted(traffic.statuses.items())},
            "failures": dict(traffic.failures.most_common()),
            "refusals": dict(traffic.refusals),
            "crawl": {
                "fetched": counts.fetched,
                "failed": counts.failed,
                "waiting": counts.queued,
                "held_back": counts.held_back,
                "other_forms": counts.joined,
                "silent": counts.silent,
            },
        }


_OF_PREVIOUS: Final = {"killed": "the run before was killed", "": "the run before has left no word of its end"}


def _previous(crawl: Crawl) -> str:
    """How the run before this one ended: Scrapy's finish reason, `killed`, or empty where nothing is known of it."""
    try:
        terms = terms_of(crawl.database)
    except StorageError:  # `scrapy check-crawl` tells of it
        terms = None
    if terms is None:
        return ""
    return printable(terms.reason, _REASON) if terms.ended else "killed"


def _client(settings: BaseSettings) -> http.Client:
    """An HTTP client for webhooks only: any address, verified certificates, no connection kept, and no effect on what
    the crawl knows of the network.
    """
    read_limits = http.ReadLimits(limits.HEADERS.value, limits.HEADER_SIZE.value, limits.CHUNKS.value)
    return http.Client(look_up, Tls(partial(tls_context, settings), Verify.REQUIRE), read_limits, max_idle=0)
