"""The steps on Redis: each is one Lua file, runs in one partition, and happens wholly or not at all.

A step names no key but the beginning of all of its partition's, which never exists itself: see `cluster.clients`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from redis.asyncio import RedisCluster
from redis.exceptions import NoScriptError

from sitecrawl.cluster.connection import closed_is_away
from sitecrawl.cluster.keys import Keys


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
        """That were sent."""

    async def run(self, step: str, partition: int, *args: Any) -> Any:
        (answer,) = await self.run_all([(step, partition, args)])
        return answer

    async def run_all(self, calls: Sequence[tuple[str, int, Sequence[Any]]]) -> list[Any]:
        """Steps, each with its partition and arguments, in one round trip."""
        commands = [
            ("EVALSHA", script(step)[1], 1, self.keys.base(partition), *args) for step, partition, args in calls
        ]
        with closed_is_away():
            answers = await self._ask(commands)
            for place, (answer, (step, partition, args)) in enumerate(zip(answers, calls, strict=True)):
                if isinstance(answer, NoScriptError):  # new, restarted or flushed: EVAL loads it as well
                    answers[place] = await self.client.eval(script(step)[0], 1, self.keys.base(partition), *args)
                elif isinstance(answer, BaseException):
                    raise answer
        return answers

    async def read(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answer to each command."""
        with closed_is_away():
            answers = await self._ask(commands)
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise answer
        return answers

    async def read_all(self, command: str, name: str, *args: Any) -> list[Any]:
        """What a command that reads says of a key of each partition."""
        names = [self.keys.base(partition) + name for partition in range(self.keys.shards)]
        return await self.read([(command, key, *args) for key in names])

    async def _ask(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answer to each, or its error: in one round trip, or on a Redis Cluster side by side."""
        if not commands:
            return []
        self.commands += len(commands)
        if isinstance(self.client, RedisCluster):
            return await asyncio.gather(
                *(self.client.execute_command(*command) for command in commands), return_exceptions=True
            )
        pipeline = self.client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers
