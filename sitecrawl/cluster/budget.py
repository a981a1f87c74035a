"""`max_pages` over all workers: how many more URLs each shard may lend.

The limit is cut into parts, as the URLs are: a shard lends no URL without taking one of its own part, in the same
step, and whatever comes of that URL but a fetched page gives it back, in the step that ends the lease. So a worker
that dies takes nothing with it: what it was lent expires, and its part of the limit returns with the URLs.

What a shard may lend and has no use for is carried, by whichever worker wants URLs, to those that could lend more
than they may. It goes through the outbox, which counts once. So at every moment

    budgets + lent + fetched + what outboxes hold of budgets = max_pages

over all shards, and no single key is asked for every page.

Another limit has another account (`account.lua`). It begins when no worker of the old one is believed alive: each
shard ends its leases and forgets its part; then what is left of the new limit, after all that has been fetched, is
granted to shard 0. Whoever still works under the old account is lent nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.in_transit import Forward
from sitecrawl.cluster.shard_calls import ShardCalls
from sitecrawl.cluster.shards import Call

_FIRST: Final = 0
"""The shard that has the run, and is granted the limit."""


class Part(NamedTuple):
    """What is known of one shard."""

    budget: int
    """URLs that it may lend; below 0 if more were fetched than are wanted by now."""
    ready: int
    """Hosts that may be asked now."""
    waiting: int
    """URLs."""

    @property
    def spare(self) -> int:
        return max(0, self.budget - (self.waiting if self.ready else 0))

    @property
    def is_short(self) -> bool:
        return self.ready > 0 >= self.budget


class Budget:
    """See the module. `account` is that of the limit, 0 if there has never been one."""

    def __init__(self, shard_calls: ShardCalls, limit: int, account: int, transfers: Transfers) -> None:
        self._shard_calls = shard_calls
        self._limit = limit
        self.account = account
        self._transfers = transfers

    @property
    def is_limited(self) -> bool:
        return self._limit > 0

    def may_lend(self, shard: int) -> bool:
        """Whether the shard may lend anything, by what it last said."""
        return not self.is_limited or self._shard_calls.shards[shard]["budget"] > 0

    @property
    def is_spent(self) -> bool:
        """Whether no shard may lend anything any more, but for what comes back of what is lent."""
        return not any(map(self.may_lend, self._shard_calls.shards))

    async def open(self) -> None:
        """Begin the account, if nobody has. To be called before anything is leased."""
        if not self.account:
            return
        answers = await self._shard_calls.call([self._account(shard) for shard in self._shard_calls.shards])
        heard = [answer for answer in answers if answer is not None]
        if len(heard) < len(answers) or heard[_FIRST][b"granted"] == self.account or not self.is_limited:
            return
        fetched = sum(int(answer[b"shard"][b"fetched"]) for answer in heard)
        await self._shard_calls.call([self._account(_FIRST, grant=self._limit - fetched)])

    def _account(self, shard: int, **more: int) -> Call:
        args = self._shard_calls.args(shard, account=self.account, limited=int(self.is_limited), **more)
        return Call(shard, "account", args)

    async def level(self) -> None:
        """Carry budget to where something could be lent for it. Raises `StorageError` if the account is closed."""
        shards = self._shard_calls.shards
        if any(shard["account"] > self.account for shard in shards.values()):
            raise StorageError(
                "The crawl was begun anew with another max_pages while this worker was silent: start it with that"
            )
        if not self.is_limited:
            return
        parts = {n: Part(shard["budget"], shard["ready"], shard["waiting"]) for n, shard in shards.items()}
        for source, target, amount in moves(parts):
            await self._transfers.carry(source, target, amount, account=self.account)


class Transfers:
    """Carries parts of what shards hold to others, each once: `step` takes them out, in numbers of `stream`."""

    def __init__(
        self, shard_calls: ShardCalls, step: str, stream: str, forward: Callable[[int, Forward], None]
    ) -> None:
        self._shard_calls = shard_calls
        self._step = step
        self._stream = stream
        self._forward = forward
        self._seqs: dict[int, int] = {}

    async def carry(self, source: int, target: int, amount: int, **more: Any) -> None:
        """At most `amount`: as much as the source has when it is asked."""
        seq = self._seqs[source] = self._seqs.get(source, 0) + 1
        numbers = {"stream": self._stream, "seq": seq, "target": str(target), "amount": amount}
        args = self._shard_calls.args(source, **numbers, **more)
        (answer,) = await self._shard_calls.call([Call(source, self._step, args)])
        if answer is not None and answer[b"blob"]:
            forward = Forward(source, self._shard_calls.session, self._stream, seq, answer[b"blob"])
            self._forward(target, forward)


def moves(parts: Mapping[int, Part]) -> list[tuple[int, int, int]]:
    """Who gives how much to whom: source, target, amount. Shards that could lend, and may not, get a fair part."""
    short = [number for number, part in parts.items() if part.is_short]
    spare = {number: part.spare for number, part in parts.items() if part.spare}
    if not short or not spare:
        return []
    able = sum(part.ready > 0 for part in parts.values())
    fair = max(1, sum(part.budget for part in parts.values()) // able)
    found = []
    for target in short:
        source = max(spare, key=spare.__getitem__)
        amount = min(fair, spare[source])
        if amount:
            found.append((source, target, amount))
            spare[source] -= amount
    return found
