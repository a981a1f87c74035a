"""The steps on Redis: each is one Lua file, runs in one partition, and happens wholly or not at all.

A step names no key but the beginning of all of its partition's, which never exists itself: see `cluster.connection`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any

from redis.asyncio import RedisCluster
from redis.exceptions import NoScriptError

from sitecrawl.cluster.connection import closed_is_away


class Keys:
    """Key names of the crawl `crawl`."""

    def __init__(self, crawl: str, shards: int) -> None:
        self.crawl = crawl
        self.shards = shards

    def base(self, partition: int) -> str:
        """Common prefix of a partition's keys. The hash tag keeps them in one slot."""
        return f"sitecrawl:{{{self.crawl}.{partition}}}:"


@cache
def script(step: str) -> tuple[str, str]:
    """The text of a step, and its SHA-1."""
    text = (files("sitecrawl.cluster") / "lua" / f"{step}.lua").read_text(encoding="utf-8")
    return text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class Steps:
    """`client` is an asyncio client, of one Redis or of a cluster. All calls raise `redis.RedisError`."""

    def __init__(self, client: Any, keys: Keys) -> None:
        self.client = client
        self.keys = keys
        self.commands = 0
        """Number of sent commands."""

    async def run(self, step: str, partition: int, *args: Any) -> Any:
        (answer,) = await self.run_all([(step, partition, args)])
        return answer

    async def run_all(self, calls: Sequence[tuple[str, int, Sequence[Any]]]) -> list[Any]:
        """Steps, each with its partition and arguments, in one round trip. Those of one partition happen in their
        order: on a Redis Cluster, where each command may go over a connection of its own, one after the other.
        """
        commands = [
            ("EVALSHA", script(step)[1], 1, self.keys.base(partition), *args) for step, partition, args in calls
        ]
        with closed_is_away():
            answers = await self._ask(commands, [partition for _, partition, _ in calls])
            again: set[int] = set()
            for place, (answer, (step, partition, args)) in enumerate(zip(answers, calls, strict=True)):
                if isinstance(answer, NoScriptError) or partition in again:
                    # New, restarted or flushed: EVAL loads it as well. Another worker may have done so meanwhile, and
                    # then the next step of the same partition came before this one.
                    again.add(partition)
                    answers[place] = await self.client.eval(script(step)[0], 1, self.keys.base(partition), *args)
                elif isinstance(answer, BaseException):
                    raise answer
        return answers

    async def read(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answer to each command."""
        with closed_is_away():
            answers = await self._ask(commands, range(len(commands)))
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise answer
        return answers

    async def read_all(self, command: str, name: str, *args: Any) -> list[Any]:
        """Run a reading command on a key of each partition."""
        names = [self.keys.base(partition) + name for partition in range(self.keys.shards)]
        return await self.read([(command, key, *args) for key in names])

    async def _ask(self, commands: Sequence[tuple[Any, ...]], rows: Sequence[int]) -> list[Any]:
        """The answer to each, or its error: in one round trip, or on a Redis Cluster side by side, but for those that
        have the same of `rows`: they come in their order.
        """
        if not commands:
            return []
        self.commands += len(commands)
        if isinstance(self.client, RedisCluster):
            places: defaultdict[int, list[int]] = defaultdict(list)
            for place, row in enumerate(rows):
                places[row].append(place)
            in_order = [[commands[place] for place in row] for row in places.values()]
            found = await asyncio.gather(*map(self._ask_in_order, in_order))
            by_place = zip(chain.from_iterable(places.values()), chain.from_iterable(found), strict=True)
            return [answer for _, answer in sorted(by_place, key=lambda one: one[0])]
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    async def _ask_in_order(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers; from the first error on that error, and nothing more is sent."""
        answers: list[Any] = []
        try:
            for command in commands:
                answers.append(await self.client.execute_command(*command))  # noqa: PERF401 - what came before stays
        except Exception as error:  # noqa: BLE001 - it is raised by who asks
            answers += [error] * (len(commands) - len(answers))
        return answers
