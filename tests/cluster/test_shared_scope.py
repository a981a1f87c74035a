"""What all workers are told: each text once, whoever says it again."""

from __future__ import annotations

import asyncio

from redis_servers import Server

from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.seedqueue import SharedScope

KEY = "sitecrawl:{test.0}:scope"


def test_a_worker_that_begins_anew(redis: Server) -> None:
    """It cannot know what Redis has heard of it: what it says again is there once, and what is new is added."""
    heard: list[str] = []

    async def story() -> None:
        client = connect_async({"url": redis.url}, cluster=False)
        for said in (["one"], ["one", "two"]):
            scope = SharedScope(client, KEY, heard.append)
            for text in said:
                scope.add(text)
            await scope.tell()
        await SharedScope(client, KEY, heard.append).hear()
        await client.aclose()

    asyncio.run(story())
    assert heard == ["one", "two"]
    with redis.client() as client:
        assert client.lrange(KEY, 0, -1) == [b"one", b"two"]
