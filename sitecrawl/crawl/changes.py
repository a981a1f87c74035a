"""Changes of delay, scope and limits while the crawl runs: recorded, sent to all workers, and kept for resumes.

A change holds until the configured value of the same option differs from what it was then; from then on the
configuration counts, which is recorded as well.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.options import NewLimit
from sitecrawl.crawl.frontier_listener import FrontierListener
from sitecrawl.crawl.frontiers import OurFrontier
from sitecrawl.crawl.privates import is_closing, wake
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import CHANGES
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.peers import Peers
from sitecrawl.frontier.scope import Scope
from sitecrawl.http.sheets.change import (
    HAND,
    SETTINGS,
    Change,
    Value,
    changes_of,
    check_thing,
    checked,
    in_words,
    last_of,
    pack_changes,
)
from sitecrawl.page.items import Link

if TYPE_CHECKING:
    from sitecrawl.cluster.shared_frontier import SharedFrontier

logger = logging.getLogger(__name__)

_WORD: Final = "changed"
"""Word before a change in messages between workers."""
MOST: Final = 10_000
"""Most changes kept; beyond that the oldest that no longer count are dropped."""
_OF_SCOPE: Final = ("scope", "allow", "deny")
"""Options of the spider's scope."""
_OUT: Final = frozenset({*_OF_SCOPE, "max_depth"})
"""Options that can put waiting links out of scope."""


class Changes(Participant):
    """Participant of checkpoints. `scope` is the spider's, if it has one of ours."""

    def __init__(
        self,
        crawler: Crawler,
        database: Database,
        ours: OurFrontier,
        *,
        peers: Peers,
        scope: Scope | None,
        news: FrontierListener,
    ) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._ours = ours
        self._terms = ours.terms
        self._peers = peers
        self._scope = scope
        self.all: list[Change] = changes_of(database)
        """All changes in their order."""
        self._asks_where = False
        """Whether the kind of scope was changed, so that links may wait that no seed covers."""
        self._configured: dict[str, Value] = {}
        """Configured values of the crawl, by option."""
        self._is_new = False
        self._is_due = False
        """Whether another look at URLs set aside is scheduled."""
        self.on_changed: list[Callable[[], None]] = []
        """Called when a value has changed."""
        news.on_moved.append(self.readmit_soon)
        news.on_word[_WORD] = self._hear

    def begin(self) -> None:
        """Apply the sheets, and changes of earlier runs, to the crawl."""
        scope = self._scope
        if scope is not None:
            scope.lay(self._terms.sheets)
        self._configured = {option: self._now(option, "") for option in ("delay", "max_pages", "max_depth")}
        if (team := self._ours.team) is not None:
            self._configured["max_pages"] = team.run.limits.max_pages
        for option in _OF_SCOPE if scope is not None else ():
            self._configured[option] = self._now(option, "")
        for change in last_of(self.all).values():
            self._resume(change)
        for change in last_of(self.all).values():
            self._tell(change)  # again: this worker may have been killed before it did
        if any(change.option in _OUT for change in self.all):
            self._look_again()
        elif not self._ours.is_replaced:
            self._ours.local.by_hand.readmit()

    def _resume(self, change: Change) -> None:
        said = self._said(*change.thing)
        if change.configured == said:
            self._apply(change)
        elif change.by != SETTINGS:
            kept = Change.new(
                self._now_or_after(change),
                *change.thing,
                before=change.after,
                after=said,
                configured=said,
                by=SETTINGS,
            )
            self._keep(kept)
            logger.info(
                "The settings say something else than they did: what was changed by hand counts no more: %s", kept
            )

    # Changing

    def change(self, option: str, host: str, value: object) -> Change:
        """Set `option` of a host, or of the crawl, to `value`; None restores the configured value. Raises
        `OptionError`.
        """
        check_thing(option, host)
        after = self._said(option, host) if value is None else checked(option, value)
        self._check(option, host)
        change = Change.new(
            self._now_or_after(last_of(self.all).get((option, host))),
            option,
            host,
            before=self._now(option, host),
            after=after,
            configured=self._said(option, host),
        )
        self._keep(change)
        self._apply(change)
        self._tell(change)
        return change

    @staticmethod
    def _now_or_after(last: Change | None) -> float:
        """Current Unix time, but later than the last change of the same option, whose worker's clock may be ahead."""
        return time.time() if last is None else max(time.time(), math.nextafter(last.at, math.inf))

    def _tell(self, change: Change) -> None:
        """The other workers, which take what they know already for nothing."""
        self._peers.tell(f"{_WORD} {change.pack()}")

    def expect(self, option: str, host: str, was: object) -> None:
        """Raise `OptionError` if the value is not `was`, because somebody else has changed it meanwhile."""
        check_thing(option, host)
        now = self._now(option, host)
        if (list(now) if isinstance(now, tuple) else now) != was:
            raise OptionError(
                f"{option} has been changed since you looked, to {in_words(option, now)}: look again, and change that"
            )

    def _check(self, option: str, host: str) -> None:
        if option in _OF_SCOPE and self._scope is None:
            raise OptionError(f"The spider has no scope of ours: {option} would hold for nothing")
        if option == "max_pages" and host and self._ours.local.by_hand.keeps_levels:
            raise OptionError(
                "With a depth limit no level may be left before all of it is done, so no host can have max_pages"
            )

    def _hear(self, text: str) -> None:
        """Take a change from another worker."""
        try:
            change = Change.unpack(text)
            self._check(*change.thing)
        except OptionError as error:
            logger.warning("What another worker says was changed is not done: %s", error)
            return
        if any(known.number == change.number for known in self.all):
            return
        last = last_of(self.all).get(change.thing)
        self._keep(change)
        if (last is None or last.order < change.order) and change.configured == self._said(*change.thing):
            self._apply(change)
            logger.info("By hand, on another worker: %s", change)

    def _keep(self, change: Change) -> None:
        self.all = sorted([*self.all, change], key=lambda one: one.order)
        if len(self.all) > MOST:
            last = {one.number for one in last_of(self.all).values()}
            oldest = next((one for one in self.all if one.number not in last), self.all[0])
            self.all.remove(oldest)
        self._is_new = True

    # What holds

    def values(self, host: str) -> dict[str, Value]:
        """Current values for a host, or for the crawl, by option."""
        options = ("delay", "concurrency", "max_pages", "max_depth") if host else ("delay", "max_pages", "max_depth")
        of_scope = () if self._scope is None else _OF_SCOPE[1:] if host else _OF_SCOPE
        return {option: self._now(option, host) for option in (*options, *of_scope)}

    def _now(self, option: str, host: str) -> Value:
        terms = self._terms
        if host:
            return _of_sheet(terms.sheets.of(host), option)
        if option in _OF_SCOPE:
            return _of_scope(self._scope, option) if self._scope is not None else None
        return {
            "delay": terms.crawl.politeness.delay,
            "max_pages": self._ours.max_pages,
            "max_depth": terms.crawl.max_depth,
        }[option]

    def _said(self, option: str, host: str) -> Value:
        """Configured value of an option."""
        if host:
            return _of_sheet(self._terms.sheets.configured(host), option)
        return self._configured.get(option)

    def _apply(self, change: Change) -> None:
        option, host, terms = change.option, change.host, self._terms
        before = self._delay(host)
        if host:
            terms.change_host(host, {option: change.by_hand})
        elif option in _OF_SCOPE and self._scope is not None and isinstance(change.after, str | tuple):
            self._scope.change(option, change.after)
        elif option == "max_pages" and self._ours.team is not None:
            self._limit(self._ours.team, change)
        elif isinstance(change.after, int | float):
            terms.change_crawl(option, change.after)
        delay = (before, self._delay(host)) if option == "delay" else None
        if option in _OUT:
            self._look_again()
        self._ours.local.by_hand.reconsider(host, delay=delay)
        for listener in self.on_changed:
            listener()
        wake(self._crawler)

    @staticmethod
    def _limit(team: SharedFrontier, change: Change) -> None:
        """Set a cluster's limit of pages on Redis, which keeps a configured limit by itself."""
        if change.by == HAND and isinstance(change.after, int | float):
            team.exchange.limit_pages(NewLimit(change.at, change.number, int(change.after)))

    def _delay(self, host: str) -> float:
        terms = self._terms
        return (terms.of(host) if host else terms.crawl).politeness.delay

    def _look_again(self) -> None:
        """Check each waiting link by `_is_out` when its turn comes, and requeue those that were set aside."""
        self._asks_where = any(change.option == "scope" for change in self.all)
        self._terms.is_out = self._is_out
        self._ours.local.by_hand.readmit()

    def readmit_soon(self) -> None:
        """Look again soon at URLs set aside, after new partitions or another seed."""
        if self._terms.is_out is not None and not self._is_due:
            self._is_due = True
            call_later(0, self._readmit)

    def _readmit(self) -> None:
        self._is_due = False
        if not is_closing(self._crawler):
            self._ours.local.by_hand.readmit()
            wake(self._crawler)

    def _is_out(self, url: str, host: str, depth: int) -> bool:
        """Whether a waiting link is out of scope now."""
        is_deep = 0 < self._terms.of(host).max_depth < depth
        is_out = is_deep or (self._scope is not None and not self._lets(self._scope, url, host))
        if is_out:
            self._stats.inc_value("frontier/set_aside")
        return is_out

    def _lets(self, scope: Scope, url: str, host: str) -> bool:
        return scope.admits(Link(url, host)) if self._asks_where else scope.lets(url, host)

    # Durability

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", CHANGES, pack_changes(self.all))

    def committed(self) -> None:
        self._is_new = False


def _of_scope(scope: Scope, option: str) -> Value:
    if option == "scope":
        return scope.kind
    allow, deny = scope.patterns
    return tuple(allow if option == "allow" else deny)


def _of_sheet(sheet: Any, option: str) -> Value:
    value: Value = getattr(sheet, option)
    return value
