"""The run of a crawl, in the keys of partition 0: which workers are alive, and the limit under which they work.

A run lasts as long as any of its workers is believed alive. An *account* is one limit of pages: the first is 1, and
another limit has the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.steps import Steps

PLACE = 0
"""The partition that has the run's keys."""


class _Pulse(NamedTuple):
    """Answer to a worker's sign of life."""

    ended: str
    """Why a worker has ended the run, as Scrapy's finish reason; empty if none has."""
    alive: list[str]
    """The names of all workers that are."""
    short: list[int]
    """Partitions of these that the limit of pages keeps from fetching."""


@dataclass(slots=True)
class Run:
    """The run in which a worker takes part. Its parts share one object, which `beat` keeps as on Redis."""

    wanted: str
    """Limit by the settings, in words, the same for all workers."""
    account: int
    """Account of `max_pages`; 0 if there has never been a limit."""
    max_pages: int = 0
    """Current limit; 0 for none."""
    is_first: bool = False
    """Whether no other worker was at work when this one began."""

    async def beat(self, steps: Steps, session: str, seconds: float, short: Iterable[int] = ()) -> _Pulse:
        """The worker called `session` is alive for so long; 0 while it rests. The limit keeps its partitions `short`
        from fetching. What holds now is in the run then.

        Raises `StorageError` if another run has begun meanwhile, with another limit in its settings, or if Redis has
        none.
        """
        told = [" ".join(map(str, short))] if self.max_pages else []
        answer = await steps.run("beat", PLACE, session, int(1000 * seconds), *told)
        account, ended, names, limits, max_pages, found = answer
        if self.wanted and not limits:
            raise StorageError(
                "Redis does not have this crawl any more: it was emptied, or restarted without its data. The pages "
                "that are stored stay; to crawl the rest, begin anew in another JOBDIR"
            )
        if account > self.account:
            if limits.decode() != self.wanted:
                raise StorageError(
                    f"The crawl was begun anew with {limits.decode()} while this worker was silent: start it with "
                    "that"
                )
            self.account, self.max_pages = account, int(max_pages)
        return _Pulse(
            ended.decode(errors="replace"), [name.decode() for name in names], [int(one) for one in found.split()]
        )
