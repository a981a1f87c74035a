"""One redis-server for each file of tests, empty when a test begins; and crawls on it that two workers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis_servers import Server, server
from sharing import Frozen, begin, dead, work


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def redis(redis_server: Server) -> Server:
    """That of the file, with nothing in it and nothing counted."""
    with redis_server.client() as client:
        client.flushall()
        client.config_resetstat()
    return redis_server


@pytest.fixture(scope="module")
def half_done(redis_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """Both workers were killed; the first one had stored three pages more than Redis has heard of."""
    return _frozen(redis_server, tmp_path_factory.mktemp("half"), 25)


@pytest.fixture(scope="module")
def finished(redis_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    return _frozen(redis_server, tmp_path_factory.mktemp("whole"), None)


def _frozen(redis: Server, folder: Path, pages: int | None) -> Frozen:
    with redis.client() as client:
        client.flushall()
    begin(redis)
    work(redis, [folder / "worker-1", folder / "worker-2"], pages, untold=0 if pages is None else 3)
    dead(redis)
    return Frozen(redis, folder)
