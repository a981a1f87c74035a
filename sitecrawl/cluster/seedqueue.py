"""Seeds that come while many workers crawl: scrapy-redis' queue of them, and how all workers hear of them.

The queue: URLs that someone pushes to `<spider>:start_urls`, a list, a set or a sorted set.
scrapy-redis takes a seed out before it is scheduled, so a crash loses it. Here a seed is read, handed to the
frontier, and taken out when Redis has it in the crawl: a crash in between reads it again, and the seen set knows it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Final

logger = logging.getLogger(__name__)

_A_TIME: Final = 100
_EVERY: Final = 2.0
"""Seconds between two looks."""


class SeedQueue:
    """`take` gets each seed, text as it was pushed, and says whether it was of use; `settling` gives what says
    whether Redis has all that was taken up to then.
    """

    def __init__(
        self,
        client: Any,
        key: str,
        *,
        take: Callable[[str], bool],
        settling: Callable[[], Callable[[], bool]],
    ) -> None:
        self._client = client
        self._key = key
        self._take = take
        self._settling = settling
        self._has_settled = settling()
        self._at = 0.0
        self._pending: list[bytes] = []
        self.is_empty = False
        """Whether the last look found nothing, and nothing is on its way."""

    def next_look(self, now: float) -> float:
        """Time of the next look at the queue, in monotonic seconds."""
        return now + 0.1 if self._pending else self._at

    async def __call__(self, now: float) -> None:
        """Look, if it is time. Raises `redis.RedisError`."""
        if self._pending:
            if not self._has_settled():
                return
        elif now < self._at:
            return
        self._at = now + _EVERY
        await self._look()

    async def _look(self) -> None:
        kind = (await self._client.type(self._key)).decode()
        if self._pending:
            await self._remove(kind, self._pending)
            self._pending = []
        found: list[bytes] = list(await self._read(kind))
        taken = [self._take(text.decode("utf-8", "replace")) for text in found]
        self._pending = [text for text, is_seed in zip(found, taken, strict=True) if is_seed]
        self._has_settled = self._settling()
        self.is_empty = not found
        if useless := [text for text, is_seed in zip(found, taken, strict=True) if not is_seed]:
            logger.warning("No URL in %s, %d times, such as %r", self._key, len(useless), useless[0][:200])
            await self._remove(kind, useless)
            self._at = 0.0  # nothing has to be waited for

    async def _read(self, kind: str) -> Any:
        match kind:
            case "list":
                return await self._client.lrange(self._key, 0, _A_TIME - 1)
            case "set":
                return await self._client.srandmember(self._key, _A_TIME)
            case "zset":
                return await self._client.zrevrange(self._key, 0, _A_TIME - 1)
        return []

    async def _remove(self, kind: str, seeds: list[bytes]) -> None:
        match kind:
            case "list":
                await asyncio.gather(*(self._client.lrem(self._key, 1, seed) for seed in seeds))
            case "set":
                await self._client.srem(self._key, *seeds)
            case "zset":
                await self._client.zrem(self._key, *seeds)


def fields_of(text: str) -> dict[str, Any]:
    """A pushed seed: a URL, or JSON with `url` and, as scrapy-redis has it, `method` and `meta`; empty if neither."""
    text = text.strip()
    if not text.startswith("{"):
        return {"url": text}
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) and isinstance(fields.get("url"), str) else {}


class SharedScope:
    """Seeds that come up while the crawl runs, and widen its scope on all workers; and what spiders tell one another:
    a Redis list of texts, in the order in which they came. `widened` is called with those of other workers.

    A worker tells of such a seed before the seed's own parcel goes out, and hears of others' before it hands out what
    it was lent. So no page of the new site can be parsed by a worker that would take its links for foreign.

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
