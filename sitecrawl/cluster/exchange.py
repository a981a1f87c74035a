"""A worker's talk with Redis: what it has done goes out, what others have told comes in, partitions come and go.

A round takes what there is, in this order, so that nothing is said of a partition that was lost: entries, bundles of
messages, inboxes, trust; then who has which partitions (`cluster.lending`), and whether all has ended (`Whole`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Final

import redis

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.compaction import Compaction
from sitecrawl.cluster.connection import back_off, closed_is_away, is_transient, refusal
from sitecrawl.cluster.entries import Entry
from sitecrawl.cluster.holdings import Held
from sitecrawl.cluster.leases import Renewal
from sitecrawl.cluster.lending import Lending
from sitecrawl.cluster.partition_store import Commit, PartitionStore
from sitecrawl.cluster.partitions import Partitions
from sitecrawl.cluster.run import PLACE, Run
from sitecrawl.cluster.seedqueue import SeedQueue, SharedScope
from sitecrawl.cluster.standing import Whole
from sitecrawl.frontier.credit.trust import Elsewhere

if TYPE_CHECKING:
    from sitecrawl.cluster.shared_frontier import SharedFrontier

UNSENT: Final = 50
"""Entries that Redis has not taken, over all partitions and checkpoints, with which a worker fetches on."""
BUNDLES: Final = 50
"""Bundles of an inbox that are let in within one round."""
_TRUST_SECONDS: Final = 2.0
_EVERY: Final = 0.2
"""Seconds between two rounds of a worker that has nothing to tell."""
_LONGEST: Final = 2.0
"""The same where nothing happens on any worker either."""
_LOOK: Final = 1.0
"""Seconds between two looks at the crawl as a whole, of a worker that has something to do."""
_PULSE: Final = 1.0
"""Seconds after which the loop says that it moves."""
_SOON: Final = 0.005
_CLOSING: Final = 10.0
"""Seconds for which the end waits for Redis; what is not sent by then is sent by the next start."""

logger = logging.getLogger(__name__)


class Exchange:
    """See the module; `seeds_key` names a queue of seeds, empty for none."""

    def __init__(
        self,
        store: PartitionStore,
        run: Run,
        partitions: Partitions,
        worker: SharedFrontier,
        renewal: Renewal,
        *,
        seeds_key: str = "",
    ) -> None:
        listener, clock = partitions.listener, partitions.clock
        self._store = store
        self._run_of_crawl = run
        self._partitions = partitions
        self._holdings = partitions.holdings
        self._worker = worker
        self.renewal = renewal
        self._listener = listener
        self._clock = clock
        self._lending = Lending(store, partitions, give_up=worker.give_up, hear=self._beat)
        self.scope = SharedScope(store.steps.client, store.keys.base(PLACE) + "scope", listener.widened)
        self._seeds: SeedQueue | None = None
        if seeds_key:
            settling = partitions.holdings.settling
            self._seeds = SeedQueue(store.steps.client, seeds_key, take=listener.seed_pushed, settling=settling)
        self._trust_at = self._look_at = 0.0
        self.waits_since: float | None = None
        """Time of the oldest unconfirmed message to Redis; None if all are confirmed."""
        self._whole = Whole(())
        """What was last heard of all partitions."""
        self._short: Sequence[int] = ()
        """Those that the limit of pages keeps from fetching, as was last heard."""
        self._calm = 0
        """Rounds in which nothing has happened anywhere, and there was nothing to do."""
        self._compaction = Compaction(store, partitions.holdings.database)
        self._kick = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._beats: asyncio.TimerHandle | None = None
        self._is_closing = False
        self._end = ""
        """Why all workers are to end."""
        self._is_in_doubt = False
        """Whether Redis may have forgotten what it has answered: a replica that has taken over, for one."""
        self.is_last = False
        """Whether this worker has ended, and no other was at work then."""

    @property
    def commands(self) -> int:
        """Number of commands sent to Redis."""
        return self._store.steps.commands

    @property
    def awaits_seeds(self) -> bool:
        """Whether there may be seeds in the queue that nobody has taken."""
        return self._seeds is not None and not self._seeds.is_empty

    @property
    def is_behind(self) -> bool:
        """Whether Redis has yet to take so much, or has not taken what it was told for so long, that nothing more is
        to be fetched: what it does not have counts for nothing when a lease is lost.
        """
        unsent = sum(len(one.unsent) for one in self._holdings.held.values())
        since = self.waits_since
        is_late = since is not None and self._clock() - since > self._store.leases.seconds / 2
        return unsent > UNSENT * max(len(self._holdings.held), 1) or (unsent > 0 and is_late)

    def end(self, reason: str) -> None:
        """Let all workers end."""
        self._end = reason
        self.kick()

    # Life

    def kick(self) -> None:
        """Wake the task: there is news for Redis."""
        self._calm = 0
        self._kick.set()

    def start(self) -> None:
        """Begin to talk, inside the event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._pulse()
        self.renewal.start()

    def _pulse(self) -> None:
        self.renewal.moved()
        self._beats = asyncio.get_running_loop().call_later(_PULSE, self._pulse)

    async def close(self) -> None:
        """Send what is left, let others have what this worker had, and stop."""
        self._is_closing = True
        self._kick.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=_CLOSING)
        await self.cease()

    async def cease(self) -> None:
        """Stop as a kill would: send nothing more, and give nothing back. Before Python 3.12 `asyncio.wait_for`,
        which redis-py uses, may swallow a cancellation: so it is said until it is heard.
        """
        if self._beats is not None:
            self._beats.cancel()
        self.renewal.cease()
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=0.1)
        await self._compaction.cease()
        with contextlib.suppress(redis.RedisError, OSError):
            await self._store.steps.client.aclose()

    async def _run(self) -> None:
        failures = 0
        try:
            while not self._is_closing:
                try:
                    with closed_is_away():
                        await self.round()
                    if failures:
                        logger.info("Redis answers again")
                    failures = 0
                except (redis.RedisError, OSError) as error:
                    failures += 1
                    self._fault(error, failures)
                await self._sleep(back_off(failures) or self._rest())
            with closed_is_away():
                await self.leave()
        except StorageError as error:
            self._listener.failed(error)
        except (redis.RedisError, OSError) as error:
            logger.warning("What Redis has not heard of is sent by the next start: %s", error)
        except Exception as error:
            logger.exception("The worker's connection to Redis broke down")
            self._listener.failed(StorageError(f"The worker's connection to Redis broke down: {error!r}"))

    def _fault(self, error: BaseException, failures: int) -> None:
        """Raises `StorageError` if the next attempt would fail, too."""
        if not is_transient(error):
            raise StorageError(f"Redis refuses the crawl's work: {refusal(error)}") from error
        self._listener.counted("cluster/faults", 1)
        self._wait(waits=True)
        self.scope.forget_answers()  # it may come back with less than it was told
        self._is_in_doubt = True
        if failures == 1:
            logger.warning("Waiting for Redis: %s", error or type(error).__name__)

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._kick.wait()
        self._kick.clear()
        await asyncio.sleep(_SOON)

    def _rest(self) -> float:
        """Seconds until the next round is due, if nothing comes up."""
        calm = min(_EVERY * 2.0 ** min(self._calm, 10), _LONGEST)
        now = self._clock()
        times = [now + calm]
        if self._seeds is not None:
            times.append(self._seeds.next_look(now))
        return max(_SOON, min(times) - now)

    async def round(self) -> None:
        """Raises `redis.RedisError`; then it is to be repeated. `StorageError` if there is no going on."""
        is_resting = self._worker.is_resting
        await self.scope.tell()
        alive = await self._beat()
        if not self._worker.is_working:
            await self._lending.resume()
            await self.scope.hear()  # what it has may be of sites that others have named since
            self._worker.is_working = True
        if self._is_in_doubt:
            await self._repeat()
        await self._send()
        await self._deliver()
        await self._hear()
        await self._share_trust(alive)
        fair = 0 if is_resting and alive else ceil(self._store.keys.shards / max(len(alive), 1))
        is_through = self._worker.is_through
        if await self._lending.rebalance(fair, alive, self._whole, is_through=is_through):
            await self.scope.hear()  # what has come may be of sites that are new
        if self._seeds is not None:
            await self._seeds(self._clock())
        await self._look_around()
        self._worker.page_limit.share(self._short)
        if self._partitions.arrivals:
            self._listener.woken()

    async def _beat(self) -> list[str]:
        """The worker is alive. Who else is; and if the limit of pages is another by now, it holds here, too."""
        before, self.renewal.is_resting = self._run_of_crawl.account, self._worker.is_resting
        seconds = 0.0 if self._worker.is_resting else self._store.leases.seconds
        steps, session, short = self._store.steps, self._store.session, self._worker.page_limit.short
        ended, alive, self._short = await self._run_of_crawl.beat(steps, session, seconds, short)
        if self._run_of_crawl.account != before:
            self._worker.turn()
            self.kick()
        if ended:
            self._listener.ended(ended)
        return alive

    async def _repeat(self) -> None:
        """Repeat what Redis may have forgotten; what it knows counts once."""
        for held in self._holdings.all:
            held.outgoing, held.arrived, held.copies = await self._store.outbox(held.partition), [], {}
        last = self._holdings.delivered_last
        await self._store.deliver([(one.partition, self._store.session, one.number, one.bundle) for one in last])
        self._is_in_doubt = False

    async def _send(self) -> None:
        """Send the news of each partition and of the run."""
        if self._end:
            await self._store.steps.client.hset(self._store.keys.base(PLACE) + "run", "ended", self._end)
        commits, of = [], []
        for held in [one for one in self._holdings.all if not one.is_lost]:
            if self._store.leases.has_lost(held.partition, held.token):
                await self._lending.fenced(held)
                continue
            entries: list[Entry | None] = [*held.unsent]
            if not entries and held.arrived:
                entries = [None]
            for place, entry in enumerate(entries):
                commits.append(Commit(held.partition, held.token, entry, () if place else list(held.arrived)))
                of.append(held)
        self._wait(waits=bool(commits))
        for held, commit, number in zip(of, commits, await self._store.commit(commits), strict=True):
            await self._committed(held, commit, number)
        self._wait(waits=False)
        await self._lending.let_go()
        partitions = self._partitions
        self._compaction.look(partitions.ours, partitions.territory, partitions.frontier.fingerprint)

    def _wait(self, *, waits: bool) -> None:
        since = self._clock() if self.waits_since is None else self.waits_since
        self.waits_since = since if waits else None

    async def _committed(self, held: Held, commit: Commit, number: int | None) -> None:
        if number is None:
            if not held.is_lost:
                await self._lending.fenced(held)
            return
        held.arrived = [name for name in held.arrived if name not in commit.arrived]
        held.log += len(commit.entry.data) if commit.entry is not None else 0
        self._holdings.confirmed(held, number)

    async def _deliver(self) -> None:
        out = [(held, name) for held in self._partitions.ours for name in held.to_deliver()]
        told = list(self._holdings.told.values())
        bundles = [self._bundle(held, name) for held, name in out]
        bundles += [(one.partition, self._store.session, one.number, one.bundle) for one in told]
        await self._store.deliver(bundles)
        for held, name in out:
            held.has_arrived(name)
        for one in told:
            self._holdings.delivered(one)

    @staticmethod
    def _bundle(held: Held, name: str) -> tuple[int, str, int, bytes]:
        number, _, target = name.partition(":")
        return int(target), str(held.partition), int(number), held.outgoing[name]

    async def _hear(self) -> None:
        """No page of a new site may be read by a worker that does not know that it is one: so scope comes first."""
        await self.scope.hear()
        ours = {one.partition: one for one in self._partitions.ours if not one.is_leaving}
        starts = {partition: held.read for partition, held in ours.items()}
        for partition, bundles in (await self._store.inboxes(starts, BUNDLES)).items():
            for bundle in bundles:
                self._worker.receive(partition, bundle)
                self._listener.woken()
                self._calm = 0

    async def _share_trust(self, alive: Sequence[str]) -> None:
        if (now := self._clock()) < self._trust_at or self._calm:
            return
        self._trust_at = now + _TRUST_SECONDS
        graph, territory = self._partitions.frontier.link_credit.graph, self._partitions.territory
        flows: defaultdict[int, dict[bytes, float]] = defaultdict(dict)
        for host, amount in graph.outflow.items():
            flows[territory.partition(host)][host] = amount
        held = sorted(territory.held)
        total, seeds, inflow = await self._store.share_trust(graph.total, graph.seed_count, flows, held, alive)
        graph.hear(Elsewhere(inflow, total, seeds))

    async def _look_around(self) -> None:
        """Read the state of the whole crawl."""
        is_open = self._worker.page_limit.is_open
        if is_open and not self._worker.has_nothing_to_do and self._clock() < self._look_at:
            return
        self._look_at = self._clock() + _LOOK
        standing = await self._store.standing()
        is_same = standing == self._whole.standing
        self._whole = self._whole if is_same else Whole(standing)
        self._calm = self._calm + 1 if is_same and self._worker.has_nothing_to_do else 0
        self._worker.stands(self._whole, unchanged=is_same)
        if not is_same and self._whole.is_still and self._worker.has_nothing_to_do:
            self._kick.set()

    async def leave(self) -> None:
        """The worker ends: what Redis has wholly, others may have."""
        await self._send()
        await asyncio.to_thread(self.renewal.close)
        await self._lending.let_go_of_all()
        heard = await self._run_of_crawl.beat(self._store.steps, self._store.session, 0.0)
        self.is_last = not heard.alive
