"""`scrapy` commands as forks of a process that has everything imported (`crawl_forks`): a start costs little."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from waiting import PATIENCE

_PROGRAM = Path(__file__).with_name("crawl_forks.py")
PROJECT = _PROGRAM.resolve().parents[2]


class Fork:
    """A process of `scrapy`: `subprocess.Popen` in small."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ended = threading.Event()
        self._lost = ""

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired(f"scrapy, process {self.pid}", timeout or 0.0)
        assert self.returncode is not None, self._lost
        return self.returncode

    def end(self, code: int) -> None:
        self.returncode = code
        self._ended.set()

    def lose(self, why: str) -> None:
        """Nobody will say how it ends."""
        self._lost = why
        self._ended.set()

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it has ended, and the server has yet to say so
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Server:
    """Starts commands, in the project's folder unless they name another, and hears of their ends.

    It is a process of `program`. When that ends, or says what is no word of it, who waits for it is told so at once.
    """

    def __init__(self, program: Path = _PROGRAM) -> None:
        self._folder = TemporaryDirectory(prefix="crawl-forks-")
        self._errors = Path(self._folder.name, "errors")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(program)],
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._lock = threading.Lock()
        self._begun: SimpleQueue[Fork | None] = SimpleQueue()
        self._end = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        atexit.register(self.close)

    def start(self, order: list[object]) -> Fork:
        assert self._process.stdin is not None
        with self._lock:
            with suppress(BrokenPipeError):  # it has ended, as is heard below
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
            fork = self._begun.get(timeout=PATIENCE)
            if fork is None:
                self._begun.put(None)  # for whoever comes next
            assert fork is not None, self._end
            return fork

    def _read(self) -> None:
        """Hear what it says, until it has ended."""
        running: dict[int, Fork] = {}
        assert self._process.stdout is not None
        last = ""
        with suppress(ValueError):  # that is no word of it
            for last in self._process.stdout:
                pid, code = json.loads(last)
                if code is None:
                    running[pid] = Fork(pid)
                    self._begun.put(running[pid])
                else:
                    running.pop(pid).end(code)
        self._end = f"The server of forks has ended. Its last words: {last}{self._errors.read_text(errors='replace')}"
        self._begun.put(None)
        for fork in running.values():
            fork.lose(self._end)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self._process.stdout.close()
        self._folder.cleanup()


_server = cache(Server)


def prepare() -> None:
    """Have everything imported: what starts from now on begins at once."""
    _server()


def start(
    words: Sequence[str],
    environment: Mapping[str, str],
    out: Path,
    errors: Path | None = None,
    *,
    folder: Path = PROJECT,
) -> Fork:
    """`scrapy` with `words` begins now, in `folder`. What it prints is added to `out`.

    So are errors, unless they have a file.
    """
    return _server().start([words, dict(environment), str(folder), str(out), str(errors or out)])
