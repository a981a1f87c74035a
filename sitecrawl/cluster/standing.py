"""State of the whole crawl: the sum of the partitions' tallies, which their workers write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.contract import Figures, HeldBack
from sitecrawl.frontier.credit.ledger import Flow
from sitecrawl.frontier.urls.counts import NONE_OF_EACH
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.trap_state import Reason


class Standing(NamedTuple):
    """State of a partition on Redis."""

    entry: int
    """The number of the newest."""
    tally: bytes
    heard: int
    """Bundles that it has let in, ever."""
    waiting: int
    """Bundles that are on their way from or to it."""
    is_lent: bool = True
    """Whether anybody has it, or ever had."""


@dataclass(frozen=True, slots=True)
class OfWorker:
    """State of a worker with all its partitions."""

    session: str = ""
    idle: bool = False
    """Whether it has nothing left to hand out, and nothing in flight."""
    level: int | None = None
    """The lowest level of which it has a URL that is not done; None if it has none."""
    held: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """URLs that are held back, and sets of which any are, by reason."""
    joined: int = 0
    silent: int = 0
    silent_hosts: int = 0
    good: int = 0
    """Good pages that its judge of traps has counted."""
    spent: float = 0.0
    """Credit that came along links, as its ledger has it."""
    total: float = 0.0
    """All credit in its ledger."""

    @property
    def held_sets(self) -> Mapping[int, int]:
        """Number of held-back sets, by reason."""
        return {reason: sets for reason, (_, sets) in self.held.items()}


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a partition for the other workers."""

    worker: OfWorker = field(default_factory=OfWorker)
    states: Sequence[int] = NONE_OF_EACH
    """Numbers of URLs by state."""
    account: int = 0
    """Account of the current limit of pages."""
    pages: int = 0
    """Its part of that limit, as in `frontier.urls.counts.Allowance`."""
    granted: int = 0
    """The last account of which it was given the whole limit, to share it out."""
    owed: int = 0
    """Pages that all partitions have beyond the limit."""

    def pack(self) -> bytes:
        """MessagePack."""
        one = self.worker
        held = [[reason, *numbers] for reason, numbers in one.held.items()]
        figures = [one.joined, one.silent, one.silent_hosts, one.good, one.spent, one.total]
        worker = [one.session, one.idle, one.level, held, *figures]
        limit = [self.account, self.pages, self.granted, self.owed]
        packed: bytes = msgpack.packb([worker, list(self.states), limit])
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> Tally:
        """Inverse of `pack`; empty bytes give the tally of an unknown partition. Raises `CorruptFile`."""
        if not data:
            return NO_TALLY
        try:
            (session, idle, level, held, *numbers), states, (account, pages, granted, owed) = msgpack.unpackb(data)
            by_reason = {reason: (urls, sets) for reason, urls, sets in held}
            worker = OfWorker(session, idle, level, by_reason, *numbers)
            return cls(worker, tuple(states), account, pages, granted, owed)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"A partition's tally of {len(data)} bytes cannot be read: {error}") from error


NO_TALLY: Final = Tally()
"""Tally of a partition of which nothing is known yet."""


class Whole:
    """See the module. `standing` is that of each partition, one after the other. Raises `CorruptFile`."""

    def __init__(self, standing: Sequence[Standing]) -> None:
        self.standing = standing
        self.tallies = [Tally.unpack(one.tally) for one in standing]
        self._workers = {tally.worker.session: tally.worker for tally in self.tallies}

    @property
    def is_still(self) -> bool:
        """Whether no bundle is on its way."""
        return not any(one.waiting for one in self.standing)

    @property
    def is_idle(self) -> bool:
        """Whether all workers have said that nothing is left to do, and nothing is on its way. If it is so twice, and
        nothing has changed in between, it is the end.
        """
        return self.is_still and all(tally.worker.idle for tally in self.tallies)

    @property
    def level(self) -> int | None:
        """The lowest of which any URL is not done; None if there is none."""
        levels = (tally.worker.level for tally in self.tallies)
        return min((level for level in levels if level is not None), default=None)

    def have_turned(self, account: int) -> bool:
        """Whether nothing is fetched under another limit of pages any more."""
        return all(
            tally.account >= account for tally, one in zip(self.tallies, self.standing, strict=True) if one.is_lent
        )

    @property
    def allowed(self) -> int:
        """Pages that all partitions may have together."""
        return sum(tally.pages for tally in self.tallies)

    @property
    def waiting(self) -> list[int]:
        """Partitions with URLs to be fetched, or to which any may be on their way."""
        both = enumerate(zip(self.standing, self.tallies, strict=True))
        return [partition for partition, (one, tally) in both if one.waiting or tally.states[UrlState.QUEUED]]

    def lender(self, alive: Iterable[str]) -> str:
        """The worker that is to give up a partition, as another one of those that are `alive` has no URL to fetch;
        empty for none.
        """
        return lender(Counter(self.tallies[partition].worker.session for partition in self.waiting), alive)

    def good_beside(self, session: str) -> int:
        """Good pages that workers other than `session` have found, of those that have a partition."""
        good: dict[str, int] = {}
        for worker in (tally.worker for tally in self.tallies):  # of a partition that rests it is an old word
            good[worker.session] = max(worker.good, good.get(worker.session, 0))
        return sum(good.values()) - good.get(session, 0)

    def flow_beside(self, session: str) -> Flow:
        """Credit that workers other than `session` have, and have seen flow."""
        others = [one for one in self._workers.values() if one.session != session]
        return Flow(sum(one.spent for one in others), sum(one.total for one in others))

    def figures(self) -> Figures:
        """The crawl's counts, as Redis has heard of them last."""
        states = [sum(counts) for counts in zip(*(tally.states for tally in self.tallies), strict=True)]
        workers = list(self._workers.values())
        return Figures(
            states[UrlState.QUEUED],
            states[UrlState.FETCHED],
            states[UrlState.FAILED],
            states[UrlState.EXCLUDED],
            states[UrlState.REQUISITE],
            held=_sum_of(one.held for one in workers),
            joined=sum(one.joined for one in workers),
            silent=sum(one.silent for one in workers),
            silent_hosts=sum(one.silent_hosts for one in workers),
        )


def lender(waiting: Mapping[str, int], alive: Iterable[str]) -> str:
    """The one with most partitions with URLs to be fetched, of which `waiting` has the numbers, if it has two or more
    and another one none; empty for none.
    """
    numbers = [(waiting.get(session, 0), session) for session in alive]
    least, (most, session) = min(numbers, default=(1, "")), max(numbers, default=(0, ""))
    return session if most > 1 and not least[0] else ""


def _sum_of(parts: Iterable[Mapping[int, tuple[int, int]]]) -> HeldBack:
    urls, sets = Counter[Reason](), Counter[Reason]()
    for held in parts:
        for reason, (waiting, number) in held.items():
            urls[Reason(reason)] += waiting
            sets[Reason(reason)] += number
    return HeldBack(urls, sets)
