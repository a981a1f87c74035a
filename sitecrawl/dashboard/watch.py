"""One crawler, watched: a sample a second, and what it was before.

The page shows a list of workers, of which a crawl by itself is one. So pages of several crawlers can be joined.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Any, Final

from sitecrawl import __version__
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.engine import is_closing
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawl.traffic import Rate
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.history import History
from sitecrawl.crawldir.meta import HISTORY
from sitecrawl.dashboard.figures import COLUMNS, TOTALS, Sampler
from sitecrawl.dashboard.meter import Meter
from sitecrawl.dashboard.operator import Operator
from sitecrawl.dashboard.peers import process_name

RECENT: Final = 600
"""Samples of the last minutes that are kept one by one."""
_STORE_SECONDS: Final = 15.0
"""Between two times that the history is stored: about 100 kB."""


logger = logging.getLogger(__name__)


class Watch:
    """Call `tick` once a second. It is part of every checkpoint, in which the history is stored now and then."""

    def __init__(self, runtime: Runtime, operator: Operator, *, spider: str) -> None:
        self._runtime = runtime
        self._operator = operator
        self.spider = spider
        self.meter = Meter()
        self._sampler = Sampler(runtime, self.meter, (Rate().update, Rate().update))
        self._began = time.time()
        self._history = _history(runtime)
        self._before = self._history.last()
        """Totals of the runs before this one."""
        self._recent: deque[dict[str, float]] = deque(maxlen=RECENT)
        self._stored = 0.0
        self.ending = ""
        """How the crawl ended, in words; empty while it runs."""
        self.figures = self._sampler.take()
        runtime.on_finish.append(self.meter.finished)
        runtime.add_part(self)

    def look(self) -> None:
        """Take a sample that is no point of the history."""
        self.figures = self._sampler.take()

    def tick(self) -> None:
        self.look()
        point = self.figures.point(self._before)
        self._history.add(self.figures.at, point)
        self._recent.append({"t": self.figures.at, **point})

    def flush(self, batch: Batch) -> None:
        """Part of every checkpoint, which never fails for a figure that cannot be had."""
        try:
            self._store(batch)
        except Exception:
            logger.exception("The crawl's history cannot be kept")

    def _store(self, batch: Batch) -> None:
        self._sampler.checkpoint()
        closing = is_closing(self._runtime.crawler)
        if closing:
            self.tick()
        if closing or time.monotonic() >= self._stored + _STORE_SECONDS:
            self._stored = time.monotonic()
            batch.put("meta", HISTORY, self._history.pack())

    # What the page shows

    def sample(self) -> dict[str, Any]:
        """What changes every second."""
        return {"workers": [{"id": process_name(), "state": self.state, "figures": self.figures.as_json()}]}

    def overview(self) -> dict[str, Any]:
        """All there is to know at first."""
        worker = {
            "id": process_name(),
            "spider": self.spider,
            "directory": str(self._runtime.path),
            "version": __version__,
            "began": self._began,
            "resumed": self._runtime.directory.resumed,
            "state": self.state,
            "ending": self.ending,
            "order": self._runtime.crawler.settings.get("SITECRAWL_ORDER", ""),
            "figures": self.figures.as_json(),
            "totals_before": {name: value for name, value in self._before.items() if name in TOTALS},
            "history": self._history.series(),
            "recent": {name: [point.get(name) for point in self._recent] for name in ("t", *COLUMNS)},
        }
        return {"workers": [worker]}

    @property
    def state(self) -> str:
        return "ended" if self.ending else self._operator.state


def _history(runtime: Runtime) -> History:
    """What is stored; a new one if that is of no use. The crawl does not depend on it."""
    stored = runtime.database.get("meta", HISTORY)
    if stored is not None:
        try:
            return History.unpack(stored, COLUMNS)
        except StorageError as error:
            logger.error("The crawl's history begins anew: %s", error)
    return History(COLUMNS)
