"""Seeds that come up while the crawl runs, and widen its scope on all workers; and what spiders say to each other.

A worker tells of such a seed before the seed's own parcel goes out, and hears of others' before it hands out what it
was lent. So no page of the new site can be parsed by a worker that would take its links for foreign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class SharedScope:
    """A Redis list of texts, in the order in which they came; `widened` is called with those of other workers.

    Its calls raise `redis.RedisError`.
    """

    def __init__(self, client: Any, key: str, widened: Callable[[str], None]) -> None:
        self._client = client
        self._key = key
        self._heard = 0
        self._known: set[str] = set()
        self._own: list[str] = []
        self._new: list[str] = []
        self._is_sure = False
        """Whether Redis has what it was told; this worker may have told it something before it began anew."""
        self._widened = widened

    def add(self, url: str) -> None:
        """Tell the others, with what is sent next."""
        if url not in self._known:
            self._known.add(url)
            self._own.append(url)
            self._new.append(url)

    def forget_answers(self) -> None:
        """Redis may have less than it was told, or has told."""
        self._heard = 0
        self._is_sure = not self._own

    async def tell(self) -> None:
        if not self._is_sure:
            there = set(await self._client.lrange(self._key, 0, -1))
            self._new = [url for url in self._own if url.encode() not in there]
            self._is_sure = True
        if self._new:
            new = list(self._new)
            await self._client.rpush(self._key, *new)
            del self._new[: len(new)]

    async def hear(self) -> None:
        for url in await self._client.lrange(self._key, self._heard, -1):
            self._heard += 1
            text = url.decode()
            if text not in self._known:
                self._known.add(text)
                self._widened(text)
