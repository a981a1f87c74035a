"""Output of a crawl by many workers: one live line, the warnings of their logs, one summary."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.display import visible
from sitecrawl.cluster.fleet import log_of
from sitecrawl.console.share import Share
from sitecrawl.console.status_line import Status, StatusLine, TimeLeft
from sitecrawl.crawl.traffic import RATE_SECONDS, Rate

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 1000
"""Messages remembered, to print each once for all workers."""


class Team:
    """A `cluster.fleet.Listener`. At the end `shares` has each worker's figures, and `errors` why any could not
    begin. The `greeting` is printed when the first has begun.
    """

    def __init__(self, directory: Path, line: StatusLine, greeting: Sequence[str] = ()) -> None:
        self.shares: dict[str, Share] = {}
        self.errors: list[str] = []
        self._refusing: set[str] = set()
        """Workers with an error."""
        self._greeting = greeting
        self._directory = directory
        self._line = line
        self._statuses: dict[str, Status] = {}
        self._said: deque[tuple[str, str]] = deque(maxlen=_REMEMBERED)
        self._rate = Rate(max(RATE_SECONDS, line.interval))
        self._left = TimeLeft()
        self._began = time.monotonic()
        self._show_at = self._began + line.interval

    def start(self) -> None:
        self._line.start()

    def stop(self) -> None:
        self._line.stop()

    # Of the fleet

    def heard(self, worker: str, said: Mapping[str, Any]) -> None:
        for kind, what in said.items():
            if kind in {"say", "status"}:
                self._greet()
            if kind == "status":
                self._statuses[worker] = Status(**what)
            elif kind == "share":
                self.shares[worker] = Share(**what)
            elif kind == "error":
                self._refuse(worker, what)
            elif kind == "say" and self._is_new(worker, what):
                print(visible(what), file=sys.stderr, flush=True)
            elif kind == "log":
                self._log(worker, *what)

    def ended(self, worker: str, code: int, *, again: bool, wanted: bool) -> None:
        self._statuses.pop(worker, None)
        if again:
            logger.warning("%s was ended by signal %d, and starts again", worker, -code)
        elif code != 0 and not wanted and worker not in self.shares and worker not in self._refusing:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            logger.error("%s %s: %s says why", worker, how, log_of(self._directory / worker))

    def tick(self) -> None:
        if not self._line.interval or (now := time.monotonic()) < self._show_at:
            return
        self._show_at = now + self._line.interval
        status = together([*self._statuses.values()], self._rate, now - self._began)
        waiting = status.waiting or 0
        self._left.update(now, status.pages, waiting)
        self._line.show(replace(status, left=self._left.words(now, status.pages, waiting)).line())

    def _greet(self) -> None:
        lines, self._greeting = self._greeting, ()
        for line in lines:
            print(visible(line), file=sys.stderr, flush=True)

    def _refuse(self, worker: str, why: str) -> None:
        self._refusing.add(worker)
        if why not in self.errors:
            self.errors.append(why)
            print(visible(f"sitecrawl: {why}"), file=sys.stderr, flush=True)

    def _log(self, worker: str, name: str, level: int, text: str) -> None:
        if self._is_new(worker, text):
            logging.getLogger(name).log(level, "%s: %s", worker, text)

    def _is_new(self, worker: str, text: str) -> bool:
        """Whether no other worker has said the same."""
        if any(other != worker and before == text for other, before in self._said):
            return False
        self._said.append((worker, text))
        return True


def together(found: Sequence[Status], rate: Rate, seconds: float) -> Status:
    """Status of the whole crawl. Each worker knows how many URLs all have fetched; the largest number is the
    newest.
    """
    latest = max(found, key=lambda one: one.pages, default=None)
    pages = latest.pages if latest is not None else 0
    return Status(
        pages=pages,
        rate=rate.update(time.monotonic(), pages),
        received=sum(one.received for one in found),
        duplicates=sum(one.duplicates for one in found),
        errors=sum(one.errors for one in found),
        seconds=seconds,
        waiting=latest.waiting if latest is not None else 0,
        resting=sum(one.resting for one in found),
        active=sorted({name for one in found for name in one.active}),
        paused=next((one.paused for one in found if one.paused), ""),
        rests=next((one.rests for one in found if one.rests), ""),
    )
