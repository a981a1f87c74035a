"""The processes that read a crawl's pages, as the crawl sees them: started, asked, and ended when they fail.

A worker has no name and no memory: whoever is free takes the next page. One that dies, that does not answer in time,
or whose answer is none, is ended and has a successor, and the page that it was at is `Quarantined`: nothing that
came of it goes anywhere, and it is not tried again.

A worker also ends after `_LIFETIME` seconds of work. Until then one that a page has taken over could lie about
others' pages; whatever it says, it has to be what a page can say (`sitecrawl.isolation.facts`).
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
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.isolation.content import DIGEST_SIZE
from sitecrawl.isolation.facts import BadAnswer, Reading, reading_of
from sitecrawl.isolation.framing import BadFrame, Ended, frame, read_frame
from sitecrawl.isolation.worker import NO_MEMORY
from sitecrawl.page.codings import Damaged, TooLarge
from sitecrawl.page.items import Headers
from sitecrawl.page.links import PageOptions

_T = TypeVar("_T")

_START_SECONDS: Final = 60.0
"""In which a worker has to be ready. It imports for a third of a second, and machines can be busy."""
_VARIABLES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""By which a Python may find its own libraries."""
_LIFETIME: Final = 60.0
"""Seconds of work after which a worker is replaced: some 40,000 pages."""


class Quarantined(SitecrawlError):
    """A page whose reader broke: `reason` says how, in a word that can be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NoParser(SitecrawlError):
    """There is no process that could read the page: none can be started, or the crawl is over."""


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """How pages are read in processes of their own."""

    processes: int
    """How many; 0: pages are read in the crawl's own process."""
    seconds: float
    """For one page, from sending it to the last byte of the answer."""
    memory: int
    """Bytes of address space of each; 0: no limit."""
    page: PageOptions


@dataclass(frozen=True, slots=True)
class Content:
    """What a worker has made of a response."""

    body: bytes
    """Without the content codings that are known."""
    codings: list[bytes]
    """Those that are not."""
    reading: Reading | None
    """None where no page was asked for."""


class Parsers:
    """See the module. Any thread may call. Raises `NoParser` where a first worker cannot be started."""

    def __init__(self, options: ParserOptions, *, module: str = "sitecrawl.isolation.worker") -> None:
        self._options = options
        self._module = module
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self._all: set[_Worker] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.threads = ThreadPoolExecutor(options.processes, thread_name_prefix="parsers")
        """For who must not wait: as many as there are workers."""
        first = self._started()
        self.fences: Sequence[str] = first.fences
        """What holds the workers."""
        for place in (*(None,) * (options.processes - 1), first):
            self._idle.put(place)

    def read(
        self, url: str, body: bytes, headers: Headers, *, max_size: int, decode: bool = True, page: bool = True
    ) -> Content:
        """Take the content codings off `body`, to at most `max_size` bytes, if it is to `decode`; read a `page`.

        Raises `Quarantined`, `NoParser`, and as `sitecrawl.page.codings.checked` does `TooLarge` and `Damaged`.
        """
        request = {
            "url": url,
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
            "decode": decode,
            "page": page,
            "max_size": max_size,
        }
        return self._asked(
            request, body, lambda answer, given: self._content(answer, given, body, url), max(max_size, len(body))
        )

    def text_digest(self, content_type: str, body: bytes) -> bytes:
        """As `sitecrawl.isolation.content.text_digest`. Raises `Quarantined` and `NoParser`."""
        return self._asked({"digest_of": content_type}, body, _digest)

    def _asked(
        self, request: dict[str, Any], body: bytes, read: Callable[[dict[str, Any], bytes], _T], max_body: int = 0
    ) -> _T:
        """What `read` makes of the answer that whichever worker is free next gives to `request`."""
        worker = self._idle.get()
        try:
            worker = worker or self._started()
            return read(*worker.ask(frame(request, body), max_body, self._options.seconds))
        except (BadAnswer, BadFrame, Quarantined) as error:
            worker = self._end(worker)
            if self._closed:
                raise NoParser("the crawl is over") from error
            raise Quarantined(error.reason if isinstance(error, Quarantined) else "answer") from error
        finally:
            self._idle.put(self._end(worker) if worker is not None and worker.is_old else worker)

    def _content(self, answer: dict[str, Any], given: bytes, sent: bytes, url: str) -> Content:
        for name, error in (("too_large", TooLarge), ("damaged", Damaged)):
            if isinstance(answer.get(name), str):
                raise error(str(answer[name])[:200])
        kept = answer.get("kept")
        if not isinstance(kept, list) or not all(isinstance(one, str) and one.isascii() for one in kept):
            raise BadAnswer("no codings")
        body = given if answer.get("decoded") is True else sent
        facts = answer.get("facts")
        reading = reading_of(facts, url, body, self._options.page) if facts is not None else None
        return Content(body, [one.encode("ascii") for one in kept], reading)

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
            worker.begin(self._options)
        except (Ended, BadFrame, BadAnswer, Quarantined) as error:
            self._end(worker)
            raise NoParser(
                f"A process that reads pages does not start ({error}): see above for why, or set "
                "SITECRAWL_PARSE_PROCESSES=0"
            ) from error
        return worker

    def close(self) -> None:
        """End all workers. What they are at is quarantined, or has no parser."""
        with self._lock:
            self._closed = True
            workers = list(self._all)
        for worker in workers:
            worker.end()
        self.threads.shutdown(wait=False, cancel_futures=True)


def _digest(answer: dict[str, Any], _: bytes) -> bytes:
    try:
        digest = bytes.fromhex(answer["digest"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadAnswer("no digest") from error
    if len(digest) != DIGEST_SIZE:
        raise BadAnswer("no digest")
    return digest


class _Worker:
    """One process, and the socket to it. One thread at a time may ask it."""

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
        """Whether it has a request to which it has not answered."""
        self._worked = 0.0

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_old(self) -> bool:
        return self._worked > _LIFETIME

    def begin(self, options: ParserOptions) -> None:
        begin = {
            "page": asdict(options.page),
            "memory": options.memory,
            "cpu_seconds": _START_SECONDS + _LIFETIME + options.seconds,
        }
        answer, _ = self.ask(frame(begin), 0, _START_SECONDS)
        fences = answer.get("fences")
        if not isinstance(fences, list):
            raise BadAnswer("no fences")
        self.fences = [str(fence) for fence in fences]
        self._worked = 0.0

    def ask(self, request: bytes, max_body: int, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Raises `Quarantined`, also where it does not answer in time, and `BadFrame`."""
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
        self.end(wait=1.0)
        status = self._process.returncode
        if status == NO_MEMORY:
            return "memory"
        if status < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-status).name
        return f"exit {status}"

    def end(self, wait: float = 0.0) -> None:
        """It is gone afterwards. `wait`: seconds in which it may end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        if self._process.returncode is None:
            self._process.kill()
        self._process.wait()
        self._socket.close()
