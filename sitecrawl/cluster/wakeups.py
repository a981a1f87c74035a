"""Messages by which shards wake idle workers. Without them a worker looks for itself, only later."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final

import redis

_PAUSE: Final = 1.0
"""Seconds until a connection that broke is made anew."""


class Wakeups:
    """`called` is told the number of each shard that has sent a message on `channel`."""

    def __init__(self, connect: Callable[[], Any], channel: str, called: Callable[[int], None]) -> None:
        self._connect = connect
        self._channel = channel
        self._called = called
        self._client: Any = None

    async def listen(self) -> None:
        """For as long as the task lasts; `close` when it is over."""
        while True:
            self._client = self._connect()
            try:
                async with self._client.pubsub() as messages:
                    await messages.subscribe(self._channel)
                    async for message in messages.listen():
                        if message["type"] == "message":
                            self._called(int(message["data"]))
            except (redis.RedisError, OSError, ValueError, KeyError):
                await asyncio.sleep(_PAUSE)
            await self.close()

    async def close(self) -> None:
        """Not within the task when that is cancelled: if it is again meanwhile, the connection would stay open."""
        if self._client is not None:
            with contextlib.suppress(redis.RedisError, OSError):
                await self._client.aclose()
