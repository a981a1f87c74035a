"""`scrapy` commands as forks of a process that has everything imported (`crawl_forks`): a start costs little."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PROGRAM = Path(__file__).with_name("crawl_forks.py")
PROJECT = _PROGRAM.resolve().parents[2]
_idle: list[_Server] = []
"""Those that wait for a command."""
_all: list[_Server] = []
"""As many as commands have run at once."""


class _Server:
    """Runs one command at a time, in the project's folder."""

    def __init__(self) -> None:
        # Unbuffered: a line that waited in a buffer would be one that `select` does not see.
        self._process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout

    def order(self, line: str) -> int:
        """The process id of what begins now; `answer` has its exit code."""
        self._orders.write(line.encode() + b"\n")
        return int(self._answers.readline())

    def answer(self, seconds: float | None) -> int | None:
        """None if there is none within so many seconds."""
        return int(self._answers.readline()) if select.select([self._answers], [], [], seconds)[0] else None

    def close(self) -> None:
        self._orders.close()
        self._process.wait(120)
        self._answers.close()


class Fork:
    """A process of `scrapy`: `subprocess.Popen` in small."""

    def __init__(self, server: _Server, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"scrapy, process {self.pid}", timeout or 0.0)
        return code

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and (code := self._server.answer(seconds)) is not None:
            self.returncode = code
            _idle.append(self._server)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, and its server has yet to say so
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def prepare(commands: int) -> None:
    """Let so many be able to begin at once."""
    while len(_idle) < commands:
        _all.append(_Server())
        _idle.append(_all[-1])


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
    prepare(1)
    server = _idle.pop()
    order = [words, dict(environment), str(folder), str(out), str(errors or out)]
    return Fork(server, server.order(json.dumps(order)))


@atexit.register
def _close() -> None:
    for server in _all:
        server.close()
