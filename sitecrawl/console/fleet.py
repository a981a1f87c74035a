"""The workers on one machine: starts them, starts again those that are killed, shows what they say, and waits for
the end.
"""

from __future__ import annotations

import fcntl
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, Final

from sitecrawl.base.display import visible
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.line import VARIABLE, Ear
from sitecrawl.console.status_line import Status, StatusLine, TimeLeft
from sitecrawl.console.summary import Share
from sitecrawl.crawl.traffic import RATE_SECONDS, Rate
from sitecrawl.crawldir.faults import file_errors

logger = logging.getLogger(__name__)

POLL: Final = 0.2
"""Seconds between two looks at the workers."""
MOST_RESTARTS: Final = 20
_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A terminal that is closed ends a crawl as Ctrl-C does: workers are in groups of their own, and would stay."""
_STOPPED: Final = (-signal.SIGINT, -signal.SIGTERM)
"""Exit codes of workers that had not come so far as to end by themselves."""
_REMEMBERED: Final = 1000
"""Messages remembered, to print each once for all workers."""


class Team:
    """What the workers say, for the user: one live line, and the warnings of their logs. At the end `shares` has each
    worker's figures, and `errors` why any could not begin. The `greeting` is printed when the first has begun.
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

    def heard(self, worker: str, said: Mapping[str, Any]) -> None:
        """Handle a message of the worker on its line (`cluster.line`)."""
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
        """Its process has ended; `again`: it was killed, and is started again; `wanted`: by the signal by which
        somebody has ended the crawl.
        """
        self._statuses.pop(worker, None)
        if again:
            logger.warning("%s was ended by signal %d, and starts again", worker, -code)
        elif code != 0 and not wanted and worker not in self.shares and worker not in self._refusing:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            logger.error("%s %s: %s says why", worker, how, _log_of(self._directory / worker))

    def tick(self) -> None:
        """`POLL` has gone by."""
        if not self._line.interval or (now := time.monotonic()) < self._show_at:
            return
        self._show_at = now + self._line.interval
        status = _together([*self._statuses.values()], self._rate, now - self._began)
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


def _together(found: Sequence[Status], rate: Rate, seconds: float) -> Status:
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


@dataclass(slots=True)
class _Worker:
    """A process, and what it says."""

    place: Path
    process: subprocess.Popen[bytes]
    ear: Ear | None
    """None when nothing can come any more."""
    is_told: bool = False
    """Whether its end is."""

    @property
    def is_over(self) -> bool:
        return self.ear is None and self.process.poll() is not None


class Fleet:
    """See the module. `command` gives a worker's, of its directory; `alive` is what each of them inherits: the Redis
    that they share runs as long as any of them does. `environment` is added to that of each.
    """

    def __init__(
        self,
        command: Callable[[Path], list[str]],
        places: Sequence[Path],
        team: Team,
        alive: Sequence[int] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._command = command
        self._places = places
        self._team = team
        self._alive = alive
        self._environment = environment
        self._workers: dict[Path, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._restarts = 0
        self._ended_by: int | None = None
        """The signal by which somebody has ended the crawl."""

    @property
    def is_stopping(self) -> bool:
        """Whether somebody has ended the crawl."""
        return self._ended_by is not None

    def run(self) -> list[int]:
        """The exit codes of all workers, when all have ended."""
        old = [signal.signal(number, self._stop) for number in _ENDS]
        try:
            for place in self._places:
                self._start(place)
            while not all(worker.is_over for worker in self._workers.values()):
                for key, _ in self._selector.select(POLL):
                    self._hear(key.data)
                self._team.tick()
                self._look_after()
        finally:
            for number, handler in zip(_ENDS, old, strict=True):
                signal.signal(number, handler)
            for worker in self._workers.values():
                if worker.process.poll() is None:
                    worker.process.terminate()
        return [worker.process.wait() for worker in self._workers.values()]

    def _start(self, place: Path) -> None:
        with file_errors(place):
            place.mkdir(parents=True, exist_ok=True)
        with file_errors(_log_of(place)):
            log = _log_of(place).open("ab")
        ours, theirs = socket.socketpair()
        with theirs, log:
            environment = {**os.environ, **self._environment, VARIABLE: str(theirs.fileno())}
            # A group of its own: Ctrl-C reaches the fleet alone, which hands it on once.
            process = subprocess.Popen(  # noqa: S603 - the user's own command line
                self._command(place), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=environment, pass_fds=[theirs.fileno(), *self._alive],
            )  # fmt: skip
        worker = self._workers[place] = _Worker(place, process, Ear(ours))
        self._selector.register(ours, selectors.EVENT_READ, worker)
        if self._ended_by is not None:  # it came while this one was being started, who is not known until now
            process.send_signal(self._ended_by)

    def _hear(self, worker: _Worker) -> None:
        if worker.ear is None:
            return
        try:
            for said in worker.ear.heard():
                self._team.heard(worker.place.name, said)
        except EOFError:
            self._selector.unregister(worker.ear.socket)
            worker.ear.socket.close()
            worker.ear = None

    def _look_after(self) -> None:
        """A worker that was killed goes on where it was; one that says what is wrong would only say it again."""
        for place, worker in [*self._workers.items()]:
            if not worker.is_over or worker.is_told:
                continue
            code, worker.is_told = worker.process.returncode, True
            again = code < 0 and not self.is_stopping and self._restarts < MOST_RESTARTS
            self._team.ended(place.name, code, again=again, wanted=self.is_stopping and code in _STOPPED)
            if again:
                self._restarts += 1
                self._start(place)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._ended_by = signal.SIGTERM if number == signal.SIGHUP else number
        for worker in self._workers.values():
            if worker.process.poll() is None:
                worker.process.send_signal(self._ended_by)


def _log_of(place: Path) -> Path:
    """Log file of a worker with the directory `place`."""
    return place.parent / f"{place.name}.log"


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Lock `directory` against others that start workers there. Raises `StorageError`."""
    with ExitStack() as stack:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((directory / "lock").open("ab+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            process = lock.read().decode(errors="replace") or "unknown"
            raise StorageError(f"The crawl in {directory} is at work already: process {process}") from None
        except OSError as error:
            raise StorageError(f"{error.filename or directory}: {error.strerror or error}") from error
        lock.truncate(0)
        lock.write(str(os.getpid()).encode())
        lock.flush()
        yield
