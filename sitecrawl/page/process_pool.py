"""Processes that read hostile bytes, as those see them who ask: started, asked, and ended when they fail.

A worker has no name and no memory: whoever is free takes the next request. One that dies, that does not answer in
time, or whose answer is none, is ended and has a successor, and what it was at is `Quarantined`: nothing that came of
it goes anywhere, and it is not tried again.

A worker also ends after `_LIFETIME` seconds of work. Until then one that has been taken over could lie about what
others send it; whatever it says, it has to be what can be said (`sitecrawl.plugins.isolation.facts`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sitecrawl.base import compiled
from sitecrawl.base.errors import NoParser, SitecrawlError
from sitecrawl.page.process_serving import NO_MEMORY, BadAnswer, BadFrame, Ended, frame, read_frame

_T = TypeVar("_T")

_START_SECONDS: Final = 60.0
"""Seconds in which a worker has to be ready. Importing takes a third of a second, and machines can be busy."""
_VARIABLES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", compiled.PURE)
"""Variables by which Python finds its libraries, and the switch of the compiled core."""
_LIFETIME: Final = 60.0
"""Seconds of work after which a worker is replaced: some 40,000 pages of HTML."""


class Quarantined(SitecrawlError):
    """A page whose reader broke: `reason` says how, in a word that can be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How many processes there are, and what each may use."""

    processes: int
    seconds: float
    """For one request, from sending it to the last byte of the answer."""
    memory: int
    """Bytes of address space of each; 0: no limit."""


class WorkerPool:
    """See the module. `begin` is what each worker, a Python `module`, is told first. Any thread may call.

    Raises `NoParser` where a first worker cannot be started; `otherwise` is what its message says to do then.
    """

    def __init__(self, module: str, begin: dict[str, Any], options: PoolOptions, otherwise: str) -> None:
        self._module = module
        self._begin = begin
        self._rations = options
        self._otherwise = otherwise
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._all: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.threads = ThreadPoolExecutor(options.processes, thread_name_prefix="parsers")
        """Threads for callers in the event loop, one a worker."""
        first = self._started()
        self.fences: Sequence[str] = first.fences
        """What holds the workers."""
        for place in (*(None,) * (options.processes - 1), first):
            self._idle.put(place)

    def _asked(
        self, request: dict[str, Any], body: bytes, read: Callable[[dict[str, Any], bytes], _T], max_body: int = 0
    ) -> _T:
        """Ask the next free worker; return what `read` makes of its answer."""
        worker = self._idle.get()
        try:
            worker = worker or self._started()
            return read(*worker.ask(frame(request, body), max_body, self._rations.seconds))
        except (BadAnswer, BadFrame, Quarantined) as error:
            worker = self._end(worker)
            if self._closed:
                raise NoParser("the crawl is over") from error
            raise Quarantined(error.reason if isinstance(error, Quarantined) else "answer") from error
        finally:
            self._idle.put(self._end(worker) if worker is not None and worker.is_old else worker)

    def _end(self, worker: _Worker | None) -> _Worker | None:
        """Gives what is in its place: none yet."""
        if worker is not None:
            worker.end()
            with self._lock:
                self._all.discard(worker)
        return None

    def _started(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise NoParser("the crawl is over")
            worker = _Worker(self._module)
            self._all.add(worker)
        try:
            worker.begin(self._begin, self._rations)
        except (Ended, BadFrame, BadAnswer, Quarantined) as error:
            self._end(worker)
            raise NoParser(
                f"A process that reads pages does not start ({error}): see above for why, or {self._otherwise}"
            ) from error
        return worker

    def close(self) -> None:
        """End all workers. Requests under way raise `Quarantined` or `NoParser`."""
        with self._lock:
            self._closed = True
            workers = list(self._all)
        for worker in workers:
            worker.end()
        self.threads.shutdown(wait=False, cancel_futures=True)


class _Worker:
    """A worker process and its socket. Used by one thread at a time."""

    def __init__(self, module: str) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            # No variable of ours but the path: there are passwords among them. A group of its own: Ctrl-C is for us.
            known = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
            path = os.pathsep.join(place or os.curdir for place in sys.path)
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**known, "PYTHONPATH": path},
                process_group=0,
            )
        self.pid = self._process.pid
        self.fences: list[str] = []
        self.is_asked = False
        """Whether a request is unanswered."""
        self._worked = 0.0

    @property
    def is_old(self) -> bool:
        return self._worked > _LIFETIME

    def begin(self, options: dict[str, Any], rations: PoolOptions) -> None:
        """Send the worker its `options` and rations."""
        begin = {
            **options,
            "memory": rations.memory,
            "cpu_seconds": _START_SECONDS + _LIFETIME + rations.seconds,
        }
        answer, _ = self.ask(frame(begin), 0, _START_SECONDS)
        fences = answer.get("fences")
        if not isinstance(fences, list):
            raise BadAnswer("no fences")
        self.fences = [str(fence) for fence in fences]
        self._worked = 0.0

    def ask(self, request: bytes, max_body: int, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and read the answer. Raises `Quarantined`, also for a timeout, and `BadFrame`."""
        started = time.monotonic()
        until = started + seconds

        def receive(most: int) -> bytes:
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            return self._socket.recv(most)

        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(request)
            self.is_asked = True
            return read_frame(receive, max_body)
        except TimeoutError:
            raise Quarantined("timeout") from None
        except (OSError, Ended):
            raise Quarantined(self._how_it_ended()) from None
        finally:
            self.is_asked = False
            self._worked += time.monotonic() - started

    def _how_it_ended(self) -> str:
        """As it may have ended because the crawl does, this asks and does not say that it failed."""
        self.end(wait=5.0)
        status = self._process.returncode
        if status == NO_MEMORY:
            return "memory"
        if status < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-status).name
        return f"exit {status}"

    def end(self, wait: float = 0.0) -> None:
        """End the process; `wait`: seconds that it may take to end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        if self._process.returncode is None:
            self._process.kill()
        self._process.wait()
        self._socket.close()
