"""One more round over an existing crawl: fetch known URLs again, follow what is new, and end.

Known URLs go back into the frontier, each with a priority by how likely it is to have changed since it was fetched.
Nothing else has to be remembered: after a kill the next start looks through the records again and queues those that
were not fetched since the round began. The round waits a whole second before it reads the first record, because
records have times in whole seconds.

Politeness and order are the frontier's. URLs that it holds back as traps, or has joined with other forms, are not
visited.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import exp
from typing import Final, NamedTuple

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.cooperator import Cooperator, ended
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.privates import stop, wake
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.meta import ROUNDS
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.urls.record import GONE, Flag, UrlRecord
from sitecrawl.frontier.urls.trap_state import TrapState
from sitecrawl.page.items import PageItem
from sitecrawl.pagestore.record import NOT_MODIFIED, base32
from sitecrawl.pagestore.rounds import Round, pack_rounds, read_rounds
from sitecrawl.plugins.recrawl.schedule import MOST_FAILURES, Visits
from sitecrawl.plugins.recrawl.store import RevisitStore
from sitecrawl.plugins.recrawl.versions import Version, Versions, askable, is_page, options

logger = logging.getLogger(__name__)

_NO_STORE: Final = "no_page_store"
"""Finish reason of a crawl that has no page store to compare pages with."""
_PLACES: Final = 998
"""Number of priorities between those of sitemaps and of links."""
_AT_ONCE: Final = 100
"""URLs queued in one batch, in about 20 ms; among so many the likeliest to have changed is surely first."""
_UNKNOWN: Final = 0.5
"""Probability that a page with one known version has changed."""


class Again(Participant):
    """See the module. `is_other`: whether the URL with a key is fetched again by another part, such as a sitemap.
    URLs fetched at or after the Unix time `older` are left alone.
    """

    def __init__(self, crawler: Crawler, is_other: Callable[[bytes], bool], *, older: float = math.inf) -> None:
        self._crawler = crawler
        self._is_other = is_other
        self._older = older
        self._rounds: list[Round] = []
        self._is_scanned = True
        self._pause = Cooperator(crawler).pause
        self._fresh: set[bytes] = set()
        """Keys fetched in this run before the records were looked through."""
        self._under_way: dict[bytes, Version | None] = {}
        """Stored versions of the pages being fetched again."""

    @property
    def round(self) -> Round | None:
        """The current round, or the one that has just ended; None in a crawl that knew nothing."""
        return self._rounds[-1] if self._rounds else None

    def begin(self, *, resume: bool = False) -> float:
        """Continue the unfinished round, or begin one unless `resume` is set or nothing is known.

        Returns the time at which it began; 0 without one. The frontier must be complete in this process.
        """
        self._crawl = crawl = Crawl.of(self._crawler)
        if crawl.pages.store is None:
            stop(self._crawler, _NO_STORE)
            return 0.0
        rounds = read_rounds(crawl.database)
        is_open = bool(rounds) and rounds[-1].is_open
        if not is_open and (resume or not crawl.frontier.figures.known):
            return 0.0
        self._rounds = rounds
        if not is_open:
            rounds.append(self._new_round())
        self._round = rounds[-1]
        self._versions = Versions(crawl.directory.path)
        self._store = RevisitStore(crawl.database, options(self._crawler.settings))
        crawl.ours.local.link_credit.ledger.comes_back = True
        crawl.checkpoints.add(self._store)
        crawl.checkpoints.add(self)
        crawl.fetches.on_begin.append(self._begun)
        crawl.fetches.on_finish.append(self._finished)
        crawl.news.on_given_up.append(self._given_up)
        self._is_scanned = False
        self._crawler.signals.connect(self._stay, signals.spider_idle)
        self._crawler.signals.connect(self._close, signals.spider_closed)
        deferred_from_coro(self._run())
        words = "goes on" if is_open else "begins"
        logger.info("Round %d %s: what was fetched before it is asked for again", self._round.number, words)
        return self._round.began

    def _new_round(self) -> Round:
        store = self._crawl.pages.store
        assert store is not None
        number = self._rounds[-1].number + 1 if self._rounds else 1
        is_first = self._crawl.frontier.figures.may_be_fetched
        return Round(number, math.floor(time.time()) + 1.0, row=store.last_id, is_first=is_first)

    # What is asked for

    async def _run(self) -> None:
        if await ended(self._look_through(), self._crawl.checkpoints):
            self._is_scanned = True
            self._fresh.clear()
            wake(self._crawler)

    async def _look_through(self) -> None:
        await self._wait(self._round.began - time.time())
        await self._scan()

    async def _wait(self, seconds: float) -> None:
        if seconds > 0:
            turn: Deferred[None] = Deferred()
            call_later(seconds, turn.callback, None)
            await maybe_deferred_to_future(turn)
        await self._pause()

    async def _scan(self) -> None:
        found: list[tuple[bytes, UrlRecord]] = []
        async for known in askable(self._crawl, self._pause):
            found.append(known)
            if len(found) == _AT_ONCE:
                self._ask(found)
                found.clear()
        self._ask(found)

    def _ask(self, found: Iterable[tuple[bytes, UrlRecord]]) -> None:
        """Queue those of `found` that are due in one batch, so that all have their places before the first is
        fetched.
        """
        for key, record in found:
            if self._is_due(key, record):
                chance = _chance(self._store.get(key), time.time())
                self._crawl.frontier.again(key, priority=self._priority(chance))
        wake(self._crawler)

    def _is_due(self, key: bytes, record: UrlRecord) -> bool:
        if record.fetched >= min(self._round.began, self._older) or key in self._fresh or self._is_other(key):
            return False
        known = self._store.get(key) if record.status in GONE else None
        return (known is None or known.failures < MOST_FAILURES) and not self._is_held(record)

    def _is_held(self, record: UrlRecord) -> bool:
        host = self._crawl.ours.local.url_states.host_of(record)
        section = host.sections.get(record.section)
        return _holds(host.trap) or (section is not None and _holds(section.trap))

    def _priority(self, chance: float) -> int:
        """Priority: behind URLs that were never fetched, or before them if those have waited since the last round."""
        return (1 if self._round.is_first else -1 - _PLACES) + round(chance * _PLACES)

    # What comes

    def _begun(self, fetch: Fetch) -> None:
        key = fetch.visit.key
        if not fetch.visit.again or fetch.visit.is_requisite:
            return
        if not self._is_other(key):
            self._under_way[key] = self._versions.ask(fetch.request)
        elif self._is_first_visit(key):
            before = self._versions.of(fetch.request.url)
            if before is not None and before.is_page:  # a hub or a front page
                self._under_way[key] = before

    def _is_first_visit(self, key: bytes) -> bool:
        """Whether the URL has not been fetched since the round began."""
        record = self._crawl.frontier.urls.get(key)
        return record is not None and record.fetched < self._round.began and key not in self._fresh

    def receive(self, response: Response) -> bool:
        """Whether the response says that its page is unchanged and need not be read."""
        fetch = self._crawl.fetches.of(response.request)
        if fetch is not None and fetch.visit.key in self._under_way and not self._is_other(fetch.visit.key):
            if response.status in {NOT_MODIFIED, *GONE}:  # it says nothing against others like it
                fetch.is_worth_it = True
            if response.status == NOT_MODIFIED:
                self._versions.pass_on(self._crawler, fetch, self._under_way[fetch.visit.key])
                return True
        return False

    def _finished(self, fetch: Fetch) -> None:
        if self._is_other(fetch.visit.key) and fetch.visit.key not in self._under_way:
            return
        self._round.ended = 0.0
        if not self._is_scanned:
            self._fresh.add(fetch.visit.key)
        if not fetch.visit.again:
            self._round.new += is_page(fetch.page)
        elif fetch.visit.key in self._under_way:
            before = self._under_way.pop(fetch.visit.key)
            if not fetch.excluded:  # or nothing was asked
                self._compare(fetch, before)

    def _given_up(self, key: bytes) -> None:
        """Count a known URL that fails unasked, because its host does not answer."""
        record = self._crawl.frontier.urls.get(key)
        if record is not None and record.flags & Flag.AGAIN and not self._is_other(key):
            self._round.asked += 1
            self._round.failed += 1

    def _compare(self, fetch: Fetch, before: Version | None) -> None:
        """Count what became of a URL, and learn how often its page changes."""
        key, record = fetch.visit.key, self._crawl.frontier.urls.get(fetch.visit.key)
        if record is None:
            return
        outcome = self._outcome_of(fetch, before)
        self._round.asked += 1
        setattr(self._round, outcome.what, getattr(self._round, outcome.what) + 1)
        now = time.time()
        known = self._store.get(key) or Visits(before.capture.fetched if before is not None else now)
        if outcome.what in {"failed", "gone", "moved"} or fetch.status in GONE:
            self._store.keep(key, replace(known, failures=known.failures + 1))
        elif outcome.what == "new":
            self._store.keep(key, replace(known, visited=now, digest=b"", failures=0))
        else:
            digest = outcome.digest if outcome.what == "changed" else None
            after = known.after(now, digest=digest)
            self._store.keep(key, replace(after, digest=outcome.digest or after.digest))

    def _outcome_of(self, fetch: Fetch, before: Version | None) -> _Outcome:
        was_page = before is not None and before.is_page
        if is_page(fetch.page):
            return self._look_at(fetch.page, before) if was_page and before is not None else _Outcome("new")
        if fetch.status == NOT_MODIFIED:
            return _Outcome("unchanged")
        if fetch.status in GONE:
            return _Outcome("gone" if was_page else "unchanged")
        if fetch.is_redirect:
            return _Outcome("moved" if was_page else "unchanged")
        return _Outcome("failed")

    def _look_at(self, page: PageItem, before: Version) -> _Outcome:
        """Whether a fetched page has changed. The body of a page that a browser rendered says nothing about that."""
        exchange, reading = page.exchange, self._crawl.reading
        if exchange is not None and page.sent is None and base32(exchange.sha1) == before.capture.digest:
            return _Outcome("unchanged")
        known, digest = self._store.get(page.key), reading.text_digest(page)
        old = known.digest if known is not None and known.digest else self._versions.text(before, reading)
        return _Outcome("unchanged" if digest == old else "changed", digest)

    # The end

    def _stay(self) -> None:
        if not self._is_scanned:
            raise DontCloseSpider
        if self._crawl.frontier.is_finished():
            self._crawl.fetches.finish_handled()
            self._round.ended = float(math.floor(time.time()))

    def _close(self) -> None:
        self._versions.close()

    def prepare(self, batch: Batch) -> None:
        batch.put("meta", ROUNDS, pack_rounds(self._rounds))


class _Outcome(NamedTuple):
    what: str
    """Field of `Round` that counts it."""
    digest: bytes = b""
    """Digest of the page's text, if it was taken."""


def _holds(trap: TrapState) -> bool:
    return trap.demoted and not trap.is_full


def _chance(known: Visits | None, now: float) -> float:
    """Probability that a page has changed since its visit, at random times (`recrawl.schedule`)."""
    changes = known.rate if known is not None else 0.0
    return 1 - exp(-changes * max(0.0, now - known.visited)) if changes and known is not None else _UNKNOWN
