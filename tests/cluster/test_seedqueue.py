"""Seeds in the queue of scrapy-redis: who is no seed goes at once, and who is one when Redis has it in the crawl."""

from __future__ import annotations

import asyncio

import pytest
from redis_servers import Server

from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.seedqueue import SeedQueue

KEY = "generic:start_urls"


def test_many_that_are_no_seeds(redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """They are named once a look, and the next look is at once."""
    taken: list[str] = []
    has_settled = False

    def take(text: str) -> bool:
        if is_seed := text.startswith("http"):
            taken.append(text)
        return is_seed

    async def story() -> None:
        nonlocal has_settled
        client = connect_async({"url": redis.url}, cluster=False)
        queue = SeedQueue(client, KEY, take=take, settling=lambda: lambda: has_settled)

        def is_empty() -> bool:
            return queue.is_empty

        for _ in range(2):
            await queue(100.0)
            assert queue.next_look(100.0) <= 100.0
        assert await client.llen(KEY) == 51
        await queue(100.0)
        assert await client.lrange(KEY, 0, -1) == [b"http://a.example/"]
        await queue(100.0)
        assert len(caplog.messages) == 3
        assert is_empty() is False
        has_settled = True
        await queue(100.0)
        assert is_empty()
        assert await client.llen(KEY) == 0
        await client.aclose()

    with redis.client() as client:
        client.rpush(KEY, *("{broken" for _ in range(250)), "http://a.example/")
    asyncio.run(story())
    assert taken == ["http://a.example/"]
