"""A crawl, watched: a sample a second, and what it was before.

The page shows a list of workers, of which a crawl by itself is one. So pages of several crawlers can be joined.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from sitecrawl.base import declared
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.privates import is_closing
from sitecrawl.crawl.sharing import process_name
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.history import History
from sitecrawl.crawldir.meta import HISTORY
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.left import last_fetches
from sitecrawl.http import Want
from sitecrawl.plugins.dashboard.actions import Actions
from sitecrawl.plugins.dashboard.figures import COLUMNS, Figures, Meter, Sampler, Worker
from sitecrawl.plugins.dashboard.rows import Tables

_WATCHED: Final = 4.0
"""Seconds after a question in which somebody is taken to look at the page."""
CHARTED: Final = ("t", "fetched", "waiting")
"""Of the history what the page draws, and the time."""
_POINTS: Final = 120
"""At most so many points of it, and the last one."""
_STORE_SECONDS: Final = 15.0
"""Between two times that the history is stored: about 100 kB."""


logger = logging.getLogger(__name__)


class Monitor(Participant, ABC):
    """The figures that the page shows of a crawl. Call `tick` once a second; saved with every checkpoint."""

    def __init__(self, crawl: Crawl, actions: Actions, *, spider: str) -> None:
        self._crawl = crawl
        self._actions = actions
        self.spider = spider
        self.meter = Meter()
        self.asked_at = -_WATCHED
        """When somebody asked last, in monotonic seconds."""
        self.ending = ""
        """How the crawl ended, in words; empty while it runs."""
        self._sampler = Sampler(crawl, self.meter)
        self.tables = Tables(crawl, self.meter)
        self._own = self._sampler.take()
        """This worker's last sample."""
        crawl.fetches.on_finish.append(self.meter.finished)
        crawl.checkpoints.add(self)

    @property
    def figures(self) -> Figures:
        """Of the crawl: all processes of it."""
        return self._own

    def look(self) -> None:
        """Take a sample that is no point of a history."""
        self._own = self._sampler.take()

    @abstractmethod
    def tick(self) -> None: ...

    async def refresh(self) -> None:
        """Somebody asks, and wants what is known of other workers to be of now."""

    def is_watched(self) -> bool:
        """Whether somebody has asked of late."""
        return time.monotonic() < self.asked_at + _WATCHED

    def workers(self) -> Sequence[Worker]:
        """Those of a cluster; none where there is no other."""
        return ()

    def prepare(self, batch: Batch) -> None:
        self._sampler.checkpoint()

    @abstractmethod
    async def close(self) -> None:
        """The crawl has ended."""

    @property
    def state(self) -> str:
        return "ended" if self.ending else self._actions.state

    def _lacking(self) -> dict[str, Any] | None:
        """Why this worker pauses by itself, and since when, in Unix seconds; None while it does not."""
        pause = self._crawl.pause
        if pause.want is None or self.ending:
            return None
        return {"why": pause.why, "since": time.time() - pause.lasts}

    @property
    def wants(self) -> dict[str, float]:
        """For how many seconds this worker has paused by itself, by what it lacks."""
        pause = self._crawl.pause
        return {want.value: pause.lasts if want is pause.want else 0.0 for want in Want}

    @abstractmethod
    def overview(self) -> dict[str, Any]:
        """All that the page shows: `workers`, this one first, and rows for its tables."""

    def _about(self) -> dict[str, Any]:
        return {
            "spider": self.spider,
            "directory": str(self._crawl.directory.path),
            "resumed": self._crawl.directory.resumed,
            "ending": self.ending,
            "order": declared.ORDER.read(self._crawl.crawler.settings),
        }


class LocalMonitor(Monitor):
    """Monitor of a crawl in one process. Its history is stored now and then."""

    def __init__(self, crawl: Crawl, actions: Actions, *, spider: str) -> None:
        self._history = _history(crawl)
        self._before = self._history.last()
        """Totals of the runs before this one."""
        self._stored = 0.0
        super().__init__(crawl, actions, spider=spider)

    def tick(self) -> None:
        self.look()
        self._history.add(self.figures.at, self.figures.point(self._before))

    def prepare(self, batch: Batch) -> None:
        """Never fails for a figure that cannot be had."""
        try:
            super().prepare(batch)
            self._store(batch)
        except Exception:
            logger.exception("The crawl's history cannot be kept")

    def _store(self, batch: Batch) -> None:
        closing = is_closing(self._crawl.crawler)
        if closing:
            self.tick()
        if closing or time.monotonic() >= self._stored + _STORE_SECONDS:
            self._stored = time.monotonic()
            batch.put("meta", HISTORY, self._history.pack())

    async def close(self) -> None:
        """The last checkpoint had all that is to be kept."""

    def overview(self) -> dict[str, Any]:
        whole = self._crawl.ours.whole
        last = None if whole is None or self.ending else last_fetches(whole)
        worker = {
            **self._about(),
            "id": process_name(),
            "state": self.state,
            "figures": asdict(self.figures),
            "last": "" if last is None else str(last),
            "lacking": self._lacking(),
        }
        return {"workers": [worker], "history": charted(self._history), **self.tables.now()}


def charted(history: History) -> dict[str, list[float | None]]:
    """Values of `CHARTED` for the charts, thinned out, oldest first; None where unknown."""
    series = history.series(CHARTED)
    points = len(series["t"])
    chosen = [*range(0, points - 1, points // _POINTS + 1), points - 1] if points else []
    return {name: [values[at] for at in chosen] for name, values in series.items()}


def _history(crawl: Crawl) -> History:
    """What is stored; a new one if that is of no use. The crawl does not depend on it."""
    stored = crawl.database.get("meta", HISTORY)
    if stored is not None:
        try:
            return History.unpack(stored, COLUMNS)
        except StorageError as error:
            logger.error("The crawl's history begins anew: %s", error)
    return History(COLUMNS)
