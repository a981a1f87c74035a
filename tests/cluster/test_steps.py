"""Steps of one partition happen in their order, whatever a Redis Cluster's connections or other workers do meanwhile.

A healthy Redis Cluster lost pages so: two bundles of links for one partition went over two connections, the later one
came first, and the earlier one was taken for an old one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import redis.asyncio
from redis_servers import Server, cluster

from sitecrawl.cluster.connection import _AsyncCluster, connect_async
from sitecrawl.cluster.entries import Entry, FromInbox
from sitecrawl.cluster.leases import Leases
from sitecrawl.cluster.partition_store import Commit, PartitionStore
from sitecrawl.cluster.steps import Keys, Steps, script

SESSION = "5e55105e55105e55"
STEPS = ("commit", "deliver", "lease")


class Overtaken(_AsyncCluster):
    """Whatever is sent beside another command comes behind it: the first one last."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: list[asyncio.Event] = []

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        done = asyncio.Event()
        self._under_way.append(done)
        await asyncio.sleep(0)  # all that are sent side by side have come here by then
        for later in self._under_way[self._under_way.index(done) + 1 :]:
            await later.wait()
        try:
            return await super().execute_command(*args, **kwargs)
        finally:
            self._under_way.remove(done)
            done.set()


class Interrupted(redis.asyncio.Redis):
    """Another worker loads the steps right behind the first command of each pipeline."""

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Any:
        made = super().pipeline(transaction, shard_hint)
        send, execute = made.execute_command, made.execute
        loads = [("SCRIPT LOAD", script(step)[0]) for step in STEPS]
        sent: list[Any] = []

        def interrupted(*command: Any) -> None:
            send(*command)
            sent.append(command)
            for load in loads if len(sent) == 1 else ():
                send(*load)

        async def answers(**options: Any) -> list[Any]:
            found = await execute(**options)
            return [found[0], *found[1 + len(loads) :]]

        made.execute_command, made.execute = interrupted, answers  # type: ignore[method-assign, assignment]
        return made


@pytest.fixture(scope="module")
def node() -> Iterator[Server]:
    """That of a Redis Cluster of one, which has the steps."""
    with cluster(1) as nodes:
        with closing(nodes[0].client()) as client:
            for step in STEPS:
                client.script_load(script(step)[0])
        yield nodes[0]


@asynccontextmanager
async def store_on(client: Any) -> AsyncIterator[tuple[PartitionStore, int]]:
    """That of a worker with the only partition, and its token."""
    store = PartitionStore(Steps(client, Keys("test", 1)), SESSION, Leases(30.0, time.monotonic), time.monotonic)
    try:
        lent = await store.lease(0)
        assert lent is not None
        yield store, lent[0]
    finally:
        await client.aclose()


async def takes_all_in_order(store: PartitionStore, token: int) -> None:
    """Three entries, and three bundles of one sender."""
    names = [b"one", b"two", b"three"]
    entries = [Entry(0, number, name) for number, name in enumerate(names, 1)]
    assert await store.commit([Commit(0, token, entry) for entry in entries]) == [1, 2, 3]
    assert [entry async for entry in store.log(0)] == names
    await store.deliver([(0, "7", number, name) for number, name in enumerate(names, 1)])
    assert await store.inboxes({0: 0}, 9) == {0: names}
    (standing,) = await store.standing()
    assert standing.waiting == len(names)


def test_commands_that_overtake_each_other_on_a_redis_cluster(node: Server) -> None:
    """Nothing is lost, and no entry is taken for one that Redis has forgotten the one before of."""

    async def story() -> None:
        async with store_on(Overtaken.from_url(node.url)) as (store, token):
            await takes_all_in_order(store, token)

    asyncio.run(story())


def test_another_worker_loads_a_step_meanwhile(redis: Server) -> None:
    """The first command is answered NOSCRIPT, and the ones behind it are carried out."""

    async def story() -> None:
        async with store_on(Interrupted.from_url(redis.url)) as (store, token):
            await store.steps.client.script_flush()
            await takes_all_in_order(store, token)

    asyncio.run(story())


def test_bundles_that_are_sent_again_with_later_ones(redis: Server) -> None:
    """The answer was lost: those that have arrived are not there twice, and the later ones come behind them."""

    async def story() -> None:
        async with store_on(connect_async({"url": redis.url}, cluster=False)) as (store, _):
            bundles = [(0, "7", number, b"%d" % number) for number in (3, 5, 8)]
            for some in (bundles[:2], bundles, bundles[:1]):
                await store.deliver(some)
            assert await store.inboxes({0: 0}, 9) == {0: [b"3", b"5", b"8"]}

    asyncio.run(story())


def test_a_replica_that_has_not_got_what_was_heard(redis: Server) -> None:
    """A bundle was let in, and the Redis that has taken over has another one in its place: that one is not taken out
    unread, and the entry is not taken.
    """

    async def story() -> None:
        async with store_on(connect_async({"url": redis.url}, cluster=False)) as (store, token):
            entry = Entry(0, 1, b"entry", heard=FromInbox.of([b"one"]))
            for bundles in ([], [b"other"], [b"other", b"one"]):
                await store.steps.client.delete(store.keys.base(0) + "inbox")
                if bundles:
                    await store.steps.client.rpush(store.keys.base(0) + "inbox", *bundles)
                assert await store.commit([Commit(0, token, entry)]) == [None]
                assert await store.inboxes({0: 0}, 9) == {0: bundles}
            await store.steps.client.lpush(store.keys.base(0) + "inbox", b"one")
            for _ in range(2):  # once more where its answer was lost
                assert await store.commit([Commit(0, token, entry)]) == [1]
                assert await store.inboxes({0: 0}, 9) == {0: [b"other", b"one"]}

    asyncio.run(story())
