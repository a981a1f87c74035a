"""The run of a crawl, in the keys of partition 0: which workers are alive, and the limits under which they work.

A run lasts as long as any of its workers is believed alive. An *account* is one limit of pages: it begins with 1, and
another limit has the next.
"""

from __future__ import annotations

from typing import NamedTuple

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.options import CrawlLimits
from sitecrawl.cluster.steps import Steps

PLACE = 0
"""The partition that has the run's keys."""


class Run(NamedTuple):
    """That in which a worker takes part."""

    limits: CrawlLimits
    account: int
    """Of its `max_pages`; 0 if there has never been a limit."""
    is_first: bool = False
    """Whether no other worker was at work when this one began."""

    @property
    def max_pages(self) -> int:
        """0 for no limit."""
        return self.limits.max_pages


class Heard(NamedTuple):
    """What a worker is told when it says that it is alive."""

    ended: str
    """Why a worker has ended the run, as Scrapy's finish reason; empty if none has."""
    alive: list[str]
    """The names of all workers that are."""


async def beat(steps: Steps, run: Run, session: str, seconds: float) -> Heard:
    """The worker called `session` is alive for so long; 0 while it rests.

    Raises `StorageError` if another run has begun meanwhile, with another limit.
    """
    account, ended, names = await steps.run("beat", PLACE, session, int(1000 * seconds))
    if account > run.account:
        raise StorageError(
            "The crawl was begun anew with another max_pages while this worker was silent: start it with that"
        )
    return Heard(ended.decode(errors="replace"), [name.decode() for name in names])


async def end(steps: Steps, reason: str) -> None:
    """Let all workers end, for Scrapy's finish reason `reason`."""
    await steps.client.hset(steps.keys.base(PLACE) + "run", "ended", reason)
