"""`max_pages` over all workers: how many more pages each partition may have.

The limit is cut into parts, as the sites are. What a partition has of it is one of its facts, which its log keeps,
and its worker hands out no URL of it that could be one too many. What it has no use for goes to partitions that are
short, in bundles, each of which counts once. Who is short says so with its sign of life, and all hear of it with
theirs: what is old of that costs a gift that goes on, and no page. So at every moment

    the allowances of all partitions + those on their way = max_pages + what is owed

and a worker that dies takes nothing with it: the next one that has the partition has its allowance, too. How another
limit takes its place: docs/design/cluster.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from sitecrawl.cluster.entries import Bundle
from sitecrawl.cluster.holdings import Held
from sitecrawl.cluster.run import PLACE, Run
from sitecrawl.cluster.standing import Whole

REST: Final = 0.1
"""Seconds for which the host of a URL rests that the limit leaves nothing for now."""
_BUSY: Final = 2.0
"""Seconds without a fetch after which a partition has no use for its allowance."""
_UNDER_WAY: Final = 0.5
"""Seconds for which a partition that was given something is given nothing more."""


class PageLimit:
    """That of `run`. `held` are the partitions of this worker, `in_flight` says how many URLs of one are; `clock`
    gives monotonic seconds.
    """

    def __init__(
        self, run: Run, held: Mapping[int, Held], in_flight: Callable[[int], int], clock: Callable[[], float]
    ) -> None:
        self._run = run
        self._held = held
        self._in_flight = in_flight
        self._clock = clock
        self._given: dict[int, float] = {}
        """Time of this worker's last gift to each partition."""
        self._granted = self._open = -1
        """The last account that was granted, and the last one under which pages are handed out."""
        self._gifts: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._asked_at = 0.0
        """Time at which this worker was last asked for all that it has."""
        self._came: dict[int, float] = {}
        """Time of the last gift to each partition."""

    def turn(self) -> None:
        """Another limit holds. What was about to be given of the one before is void."""
        self._gifts.clear()
        for held in self._held.values():
            held.counts.turn(self._run.account, self._in_flight(held.partition))

    def admits(self, held: Held) -> bool:
        """Whether all that is in flight of a partition may become pages."""
        if not self._run.max_pages:
            return True
        held.short = not self.is_open or held.counts.room < self._in_flight(held.partition)
        return not held.short

    @property
    def is_open(self) -> bool:
        """Whether pages are handed out under this limit, or there is none."""
        return not self._run.max_pages or self._open >= self._run.account

    @property
    def short(self) -> list[int]:
        """Partitions here that the limit keeps from fetching."""
        return [partition for partition, held in self._held.items() if held.short]

    def receive(self, held: Held, bundle: Bundle) -> None:
        """What was on its way under another limit is void. Who was short keeps what came until it could fetch,
        however long this worker is busy with something else: or the last page would go round for ever.
        """
        allowance = held.counts.allowance
        if bundle.pages and bundle.account == allowance.account:
            allowance.pages += bundle.pages
            held.short, held.asked_at = False, self._clock()
            self._came[held.partition] = self._clock()

    def asked(self, now: float) -> None:
        """Everything that might be fetched at that time has been handed out."""
        self._asked_at = now

    def hear(self, whole: Whole) -> None:
        """Take what Redis has of the limit."""
        if not self._run.max_pages:
            return
        self._grant(whole)
        self._pay()
        first = whole.tallies[PLACE]
        if first.account == self._run.account <= first.granted:
            self._granted = self._run.account
            self._open = self._open if first.owed else self._run.account

    def share(self, short: Iterable[int]) -> None:
        """Give what is here and of no use to partitions that are short, or to pay. The next checkpoint sends it."""
        if not self._run.max_pages or self._granted < self._run.account:
            return
        now = self._clock()
        short = short if self.is_open else [PLACE]
        short = [one for one in short if self._given.get(one, -_UNDER_WAY) <= now - _UNDER_WAY]
        for held in self._held.values():
            if short and not held.is_leaving:
                self._give(held, self._spare(held, now), short, now)

    def _grant(self, whole: Whole) -> None:
        """Once a limit, the whole of it."""
        first, account = self._held.get(PLACE), self._run.account
        if first is None or first.counts.allowance.granted >= account or not whole.have_turned(account):
            return
        own, left = first.counts.allowance, self._run.max_pages - whole.allowed
        own.granted, own.pages, own.owed = account, own.pages + max(left, 0), max(-left, 0)

    def _pay(self) -> None:
        """Pay what is owed, as far as it is here."""
        if (first := self._held.get(PLACE)) is not None and (own := first.counts.allowance).owed:
            paid = min(own.owed, max(first.counts.room - self._in_flight(PLACE), 0))
            own.pages, own.owed = own.pages - paid, own.owed - paid

    def _spare(self, held: Held, now: float) -> int:
        if self._asked_at < self._came.get(held.partition, -REST) + REST:
            return 0
        spare = held.counts.room - self._in_flight(held.partition)
        return spare // 2 if self.is_open and now - held.asked_at < _BUSY else spare

    def _give(self, held: Held, spare: int, short: Iterable[int], now: float) -> None:
        targets = [one for one in short if one != held.partition]
        for place, target in enumerate(targets):
            pages = spare // (len(targets) - place)
            if pages > 0:
                spare -= pages
                held.counts.allowance.pages -= pages
                self._gifts[held.partition][target] += pages
                self._given[target] = now

    @property
    def has_gifts(self) -> bool:
        return bool(self._gifts)

    def gifts(self, partition: int) -> Mapping[int, int]:
        """Take the gifts of a partition to others; they are on their way from now on."""
        return self._gifts.pop(partition, {})
