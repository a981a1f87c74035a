"""One redis-server for each file of tests, empty when a test begins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis_servers import Server, server


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
