"""How much is lent ahead, and by which shards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import redis

from sitecrawl.cluster.budget import Budget
from sitecrawl.cluster.leased_hosts import Lease, LeasedHosts
from sitecrawl.cluster.options import ClusterOptions
from sitecrawl.cluster.shard_calls import ShardCalls
from sitecrawl.cluster.shards import Call
from sitecrawl.cluster.shared_scope import SharedScope

_SHARDS_A_ROUND: Final = 4
"""Shards that are asked for leases at once: the best by what they last said."""
_MILLISECONDS: Final = 1000


class Leasing:
    """See the module."""

    def __init__(
        self,
        shard_calls: ShardCalls,
        options: ClusterOptions,
        leased_hosts: LeasedHosts,
        scope: SharedScope,
        budget: Budget,
        *,
        on_dead: Callable[[Lease], None],
    ) -> None:
        self._shard_calls = shard_calls
        self._options = options
        self._leased_hosts = leased_hosts
        self._scope = scope
        self._budget = budget
        self._on_dead = on_dead
        self._level = 0
        self.orphans: list[tuple[int, str]] = []
        """Shards and sessions that are dead, and left something in their outboxes there."""

    @property
    def wanted(self) -> int:
        """URLs: nothing until half of what is kept ahead is gone."""
        room = self._options.ahead - self._leased_hosts.waiting
        return room if 2 * room >= self._options.ahead else 0

    @property
    def level(self) -> int:
        """How far from the seeds the crawl has come, where it goes level by level."""
        return max(self._level, *(shard["level"] for shard in self._shard_calls.shards.values()))

    def next_level(self) -> int | None:
        """That of the next URLs which wait for theirs; None if none does, by what the shards last said."""
        found = [shard.numbers.get("deep", -1) for shard in self._shard_calls.shards.values()]
        return min((int(level) for level in found if level >= 0), default=None)

    def forget_answers(self) -> None:
        """The level is what the shards say it is."""
        self._level = 0

    def descend(self, level: int) -> None:
        """All of the levels above are done."""
        self._level = level
        for shard in self._shard_calls.shards.values():
            shard.look_at = 0.0

    @property
    def poll(self) -> float:
        """Seconds after which an idle worker looks at a shard that has said nothing: three looks a second in all."""
        return max(2.0, self._options.shards / 3)

    def next_look(self) -> float:
        """When the next shard may have something to lend, in monotonic seconds."""
        return min(shard.look_at for shard in self._shard_calls.shards.values())

    async def lease(self, now: float) -> bool:
        """Ask the shards that may have something, if something is wanted; whether any came."""
        wanted = self.wanted
        shards = self._shard_calls.shards
        due = [number for number, shard in shards.items() if shard.look_at <= now]
        if wanted <= 0 or not due:
            return False
        due.sort(key=lambda number: shards[number].numbers.get("best", 0.0), reverse=True)
        rich = [number for number in due if self._has_something(number)][:_SHARDS_A_ROUND]
        asked = rich + [number for number in due if not self._has_something(number)]
        return await self.ask(asked, max(1, -(-wanted // max(1, len(rich)))), now)

    def _has_something(self, shard: int) -> bool:
        """Whether it could lend something, by what it last said."""
        return self._shard_calls.shards[shard]["ready"] > 0 and self._budget.may_lend(shard)

    async def ask(self, asked: list[int], want: int, now: float) -> bool:
        """Ask these shards for `want` URLs each; whether any came."""
        options = self._options
        given = {
            "want": want,
            "hosts": want,
            "span": int(_MILLISECONDS * options.host_seconds),
            "most": options.host_batch,
            "account": self._budget.account,
            "level": self.level,
        }
        calls = [Call(shard, "lease", self._shard_calls.args(shard, **given)) for shard in asked]
        answers = await self._shard_calls.call(calls)
        if any(answer is not None and answer[b"leases"] for answer in answers) and not await self._hear():
            return False
        came = [
            self._lent(number, answer, now)
            for number, answer in zip(asked, answers, strict=True)
            if answer is not None
        ]
        return any(came)

    async def _hear(self) -> bool:
        """Before anything is handed out: what is in scope by now."""
        try:
            await self._scope.hear()
        except (redis.RedisError, OSError) as error:
            self._shard_calls.fault(error)  # and what was lent just now is resigned
            return False
        return True

    def _lent(self, number: int, answer: dict[bytes, Any], now: float) -> bool:
        shard = self._shard_calls.shards[number]
        for granted in answer[b"leases"]:
            lease = self._leased_hosts.take(number, granted, now)
            if self._leased_hosts.is_dead(lease):
                self._on_dead(lease)
        self.orphans += [(number, session.decode()) for session in answer[b"orphans"]]
        shard.settled, shard.ends = bool(answer[b"settled"]), bool(answer[b"ends"])
        times = [self.poll]
        if answer[b"leases"]:
            times.append(0.0)
        elif self._has_something(number):
            times.append(0.2)
        waits = [shard.numbers.get(name, -1) for name in ("rest", "expires")]
        times += [wait / _MILLISECONDS + 0.002 for wait in waits if wait >= 0]
        shard.look_at = now + min(times)
        return bool(answer[b"leases"])
