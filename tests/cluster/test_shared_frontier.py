"""Workers that share a crawl through a real Redis: no page is lost or counts twice, whoever dies and when."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random

import pytest
from database_files import database_at
from frontier_helpers import all_credit
from frontiers import Heard
from partitions import replayed
from redis import ConnectionError as RedisConnectionError
from redis import Redis
from redis_servers import Server, server
from waiting import PATIENCE
from worker_frontiers import CrawlOf

from sitecrawl.base.errors import OptionError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster import compaction, exchange
from sitecrawl.cluster.partition_store import Extent, PartitionStore
from sitecrawl.cluster.steps import Keys
from sitecrawl.frontier.by_hand import BLOCK, RELEASE, Act
from sitecrawl.frontier.moving import Row, rows_of
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.trap_state import TrapState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter

PARTITIONS = 6
PAGES = 120
HOSTS = 16
LEASE = 0.4
FINGERPRINTS = Fingerprinter(bytes(16))


def url_of(page: int) -> str:
    host = page % HOSTS
    return f"http://h{host}.{('com', 'de', 'org')[host % 3]}/t{page % 3}/p{page}"


def links_of(page: int) -> list[Link]:
    random = Random(page)
    return [link((page + 1) % PAGES), *(link(random.randrange(PAGES)) for _ in range(4))]


def link(page: int) -> Link:
    url = url_of(page)
    return Link(url, url[7:].partition("/")[0], key=FINGERPRINTS.url(url))


class Worker:
    """One worker, driven by hand; `rows` are its pages that are safe, and have not been withdrawn."""

    def __init__(self, folder: Path, redis: str) -> None:
        self.database = database_at(folder / "db", HASH_NAME)
        self.folder = folder
        self.heard = Heard()
        self.frontier, self.store = CrawlOf(redis, "shared", PARTITIONS, LEASE).worker(
            self.database, self.heard, FINGERPRINTS
        )
        self.exchange = self.frontier.exchange
        self.in_flight: list[Visit] = []
        self.pending: dict[int, str] = {}
        self.rows: dict[int, str] = {}

    def fetch(self, row: int) -> bool:
        """Take a page, and end one that was taken before."""
        if (visit := self.frontier.next()) is not None:
            self.in_flight.append(visit)
        if (len(self.in_flight) < 3 and visit is not None) or not self.in_flight:
            return visit is not None
        done = self.in_flight.pop(0)
        page = int(done.url.rpartition("p")[2])
        self.frontier.downloaded(done, 0.0)
        self.frontier.expand(done, links_of(page))
        self.pending[row] = done.url
        self.frontier.done(done, UrlState.FETCHED, status=200, row=row)
        return True

    def checkpoint(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.frontier.committed()
        self.rows |= self.pending
        self.pending = {}
        self._withdraw()

    def _withdraw(self) -> None:
        for row in self.heard.stale_rows:
            self.rows.pop(row, None)
            self.pending.pop(row, None)
        self.heard.stale_rows.clear()

    async def round(self) -> None:
        self.exchange.renewal.moved()
        self.exchange.renewal.round()
        await self.exchange.round()

    async def kill(self) -> None:
        await self.exchange.cease()
        self.database.close()

    async def void(self) -> None:
        """It will never come back: what Redis has not heard of does not count."""
        for held in self.frontier.holdings.all:
            accepted = await self.store.accepted(held.partition, held.token)
            for entry in held.unsent:
                if entry.number > accepted:
                    for row in entry.rows:
                        self.rows.pop(row, None)


class Crowd:
    def __init__(self, folder: Path, redis: Server) -> None:
        self.folder = folder
        self.redis = redis
        self.workers: list[Worker] = []
        self.safe: Counter[str] = Counter()
        self.row = 0
        self.made = 0

    def start(self, folder: Path | None = None) -> Worker:
        if folder is None:
            folder = self.folder / str(self.made)
            folder.mkdir()
            self.made += 1
        worker = Worker(folder, self.redis.url)
        self.workers.append(worker)
        worker.frontier.add([link(0), link(1)], depth=0)
        worker.frontier.is_starting = False
        worker.checkpoint()
        return worker

    async def run(self, random: Random, *, kills: int = 0) -> Counter[str]:
        """Until a worker sees the end. Each kill comes at some moment; half of the killed come back."""
        deadline = time.monotonic() + PATIENCE
        while not any(worker.frontier.has_ended for worker in self.workers):
            assert time.monotonic() < deadline, [vars(one) for one in self.workers[0].frontier.holdings.held.values()]
            worker = random.choice(self.workers)
            for _ in range(random.randrange(8)):
                self.row += 1
                worker.fetch(self.row)
            if random.random() < 0.5 or worker.frontier.wants_checkpoint:
                worker.checkpoint()
            if random.random() < 0.7:
                await worker.round()
            if kills and random.random() < 0.02:
                kills -= 1
                await self.kill(worker, comes_back=random.random() < 0.5)
            await asyncio.sleep(0)
        for worker in self.workers:
            for _ in range(3):  # it hears what it has lost, and what it had not sent is sent
                await worker.round()
                worker.checkpoint()
            self.safe.update(worker.rows.values())
            assert all_credit(worker.frontier.frontier) == worker.frontier.frontier.link_credit.ledger.total
        return self.safe

    async def until(self, holds: Callable[[], bool]) -> None:
        """Checkpoints and rounds, and nothing is fetched."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline
            for worker in self.workers:
                await worker.round()
                worker.checkpoint()

    async def share(self) -> tuple[Worker, Worker]:
        """Two workers that both have partitions, and know all hosts between them."""
        one, two = self.workers
        one.frontier.add([link(page) for page in range(HOSTS)], depth=0)
        await self.until(lambda: one.frontier.figures.waiting == HOSTS and two.frontier.frontier.figures.waiting > 0)
        return one, two

    def trap(self, name: str) -> TrapState | None:
        """Of the host of that name, as the worker that has it knows it."""
        for worker in self.workers:
            if worker.frontier.has(name) and (host := worker.frontier.hosts.find(name)) is not None:
                return host.trap
        return None

    async def kill(self, worker: Worker, *, comes_back: bool) -> None:
        self.workers.remove(worker)
        if not comes_back:
            await worker.void()
            self.safe.update(worker.rows.values())
        await worker.kill()
        if not comes_back and LEASE == PATIENCE:
            self._bury(worker)
        again = self.start(worker.folder if comes_back else None)
        if comes_back:
            again.rows = worker.rows

    def _bury(self, worker: Worker) -> None:
        """Its leases are over: nobody waits for that."""
        session, keys = worker.frontier.holdings.session, Keys("shared", PARTITIONS)
        with self.redis.client() as client:
            for partition in range(PARTITIONS):
                lease = keys.base(partition) + "lease"
                if (client.get(lease) or b"").decode().endswith(f":{session}"):
                    client.delete(lease)
            client.zrem(keys.base(0) + "workers", session)


@pytest.fixture(scope="module")
def redis() -> Iterator[Server]:
    with server() as started:
        yield started


@asynccontextmanager
async def crowd_of(workers: int, folder: Path, redis: Server) -> AsyncIterator[Crowd]:
    with redis.client() as client:
        client.flushall()
    crowd = Crowd(folder, redis)
    for _ in range(workers):
        crowd.start()
    try:
        yield crowd
    finally:
        for worker in crowd.workers:
            await worker.kill()


@pytest.fixture
def nobody_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lease is over while its worker is alive, however slow that is."""
    monkeypatch.setattr(sys.modules[__name__], "LEASE", PATIENCE)


def all_pages() -> Counter[str]:
    return Counter(url_of(page) for page in range(PAGES))


@pytest.mark.usefixtures("nobody_is_late")
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_share_a_crawl(tmp_path: Path, redis: Server, workers: int) -> None:
    async def crawl() -> None:
        async with crowd_of(workers, tmp_path, redis) as crowd:
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_redis_stood_still_for_a_lease(tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """All leases are over, and all workers live: whoever comes first takes nothing of the others, and what they have
    fetched meanwhile counts.
    """

    async def crawl() -> None:
        async with crowd_of(2, tmp_path, redis) as crowd:
            one, two = await crowd.share()
            crowd.row = 20
            worked(one, range(1, crowd.row))
            assert any(held.unsent for held in one.frontier.holdings.held.values())
            held = [set(worker.frontier.holdings.held) for worker in crowd.workers]
            keys = Keys("shared", PARTITIONS)
            with redis.client() as client:
                client.delete(keys.base(0) + "workers", *(keys.base(at) + "lease" for at in range(PARTITIONS)))
            silence = [LEASE]
            monkeypatch.setattr(two.exchange._lending, "_clock", lambda: time.monotonic() + silence[0])
            for worker in (two, two, one, two):
                await worker.round()
                worker.checkpoint()
            assert [set(worker.frontier.holdings.held) for worker in crowd.workers] == held
            assert not any(worker.heard.counts["cluster/lost_partitions"] for worker in crowd.workers)
            silence[0] = 2 * LEASE  # whoever was to come back has
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_worker_that_is_slower_than_its_leases(
    tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits once for others that may come back, and has what nobody has with its next round."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (one,) = crowd.workers
            ticks = count()
            monkeypatch.setattr(one.exchange._lending, "_clock", lambda: next(ticks) * 10.0 * LEASE)
            for _ in range(3):
                await one.round()
                one.checkpoint()
            assert set(one.frontier.holdings.held) == set(range(PARTITIONS))

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_worker_that_stopped_while_it_took_a_partition(
    tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is over and another worker has the partition when it goes on: what it let in is nothing."""
    real = PartitionStore.extent

    async def crawl() -> None:
        async with crowd_of(2, tmp_path, redis) as crowd:
            one, two = crowd.workers

            async def stops(store: PartitionStore, partition: int) -> Extent:
                monkeypatch.setattr(PartitionStore, "extent", real)
                with redis.client() as client:
                    client.delete(Keys("shared", PARTITIONS).base(partition) + "lease")
                await two.round()
                two.checkpoint()
                assert partition in two.frontier.holdings.held
                return await real(store, partition)

            monkeypatch.setattr(PartitionStore, "extent", stops)
            await one.round()
            one.checkpoint()
            await one.round()
            assert one.heard.counts["cluster/lost_partitions"] == 1
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_look_for_urls_ends(tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing may be handed out: also when the first host has rested before the last was asked of."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (one,) = crowd.workers
            await rounds(one, lambda: len(one.frontier.holdings.held) == PARTITIONS, "it has all")
            one.frontier.add([link(page) for page in range(HOSTS)], depth=0)
            for held in one.frontier.holdings.held.values():
                held.is_leaving = True
            ticks = iter(range(100 * HOSTS))
            now = time.monotonic()
            for place in (one.frontier, one.frontier.frontier, one.frontier.frontier.dispatcher):
                monkeypatch.setattr(place, "_clock", lambda: now + next(ticks) / 2)
            assert one.frontier.next() is None
            for held in one.frontier.holdings.held.values():
                held.is_leaving = False
            assert len([*iter(one.frontier.next, None)]) == HOSTS

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_host_that_has_asked_for_a_rest(tmp_path: Path, redis: Server) -> None:
    """Whoever has it next leaves it alone as well, and has the others at once."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (first,) = crowd.workers
            await rounds(first, lambda: len(first.frontier.holdings.held) == PARTITIONS, "it has all")
            first.frontier.add([link(page) for page in range(HOSTS + 1)], depth=0)
            visit = next(one for one in iter(first.frontier.next, None) if one.url == url_of(0))
            first.frontier.downloaded(visit, 0.0, failed=True, retry_after=600.0)
            first.frontier.put_back(visit)
            first.checkpoint()
            await first.exchange.leave()
            second = crowd.start()
            await rounds(second, lambda: len(second.frontier.holdings.held) == PARTITIONS, "it has all")
            came = {one.url for one in iter(second.frontier.next, None)}
            assert came == {url_of(page) for page in range(1, HOSTS)}
            (left,) = [one for one in second.frontier.hosts.live() if one.queued and not one.active]
            assert 500 < left.asked_until - time.monotonic() <= 601

    asyncio.run(crawl())


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(3))
def test_workers_that_are_killed(tmp_path: Path, redis: Server, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some come back to their directories, for others new ones begin; all pages are stored, and each counts once.

    Also where snapshots take the place of logs.
    """
    monkeypatch.setattr(compaction, "LEAST", [1 << 20, 0, 2_000][seed])
    monkeypatch.setattr(compaction, "URLS", [1000, 3, 10][seed])

    async def crawl() -> None:
        async with crowd_of(3, tmp_path, redis) as crowd:
            assert await crowd.run(Random(seed), kills=4) == all_pages()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_worker_that_is_killed_twice(tmp_path: Path, redis: Server) -> None:
    """At first Redis has not heard of its pages; then it has, and the worker has made no checkpoint since."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (one,) = crowd.workers
            await rounds(one, lambda: one.frontier.figures.waiting > 0, "it has seeds")
            crowd.row = 20
            worked(one, range(1, crowd.row))
            assert one.rows
            assert one.rows.keys() == {
                row for held in one.frontier.holdings.held.values() for entry in held.unsent for row in entry.rows
            }
            for _ in range(2):
                await crowd.kill(one, comes_back=True)
                (one,) = crowd.workers
                await one.round()
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (1, 2))])
def test_a_worker_that_lost_partitions_never_comes_back(
    tmp_path: Path, redis: Server, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it found for the lost ones on pages of those that it had still is not lost with it."""
    tree = {page: [link(child) for child in (2 * page + 1, 2 * page + 2) if child < PAGES] for page in range(PAGES)}
    monkeypatch.setattr(sys.modules[__name__], "links_of", tree.__getitem__)  # each page is linked to once

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (one,) = crowd.workers
            await rounds(one, lambda: len(one.frontier.holdings.held) == PARTITIONS, "all partitions")
            for _ in range(20 * seed):
                crowd.row += 1
                one.fetch(crowd.row)
            one.checkpoint()
            await one.round()
            for _ in range(20):
                crowd.row += 1
                one.fetch(crowd.row)
            one.checkpoint()
            with redis.client() as client:
                for partition in range(0, PARTITIONS, 2):
                    client.delete(Keys("shared", PARTITIONS).base(partition) + "lease")
            two = crowd.start()
            await two.round()
            assert two.frontier.partitions.arrivals
            await one.round()
            await crowd.kill(one, comes_back=False)
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(crawl())


def host_of(worker: Worker) -> str:
    """A host that the worker has."""
    return next(host.name for host in worker.frontier.hosts.live())


@pytest.mark.usefixtures("nobody_is_late")
def test_good_pages_of_others_are_known(tmp_path: Path, redis: Server) -> None:
    """Each worker's judge of traps knows how many the other one has found."""

    async def story() -> None:
        async with crowd_of(2, tmp_path, redis) as crowd:
            await crowd.share()
            for row in range(12):
                crowd.workers[row % 2].fetch(row + 1)
            one, two = (worker.frontier.frontier.judge for worker in crowd.workers)
            assert one.good > 0 < two.good
            await crowd.until(lambda: (one.elsewhere, two.elsewhere) == (two.good, one.good))

    asyncio.run(story())


@pytest.mark.usefixtures("nobody_is_late")
def test_an_act_on_another_workers_host(tmp_path: Path, redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """It is done once, by who has the host, though who was asked is killed before it could tell; and it is known to
    whoever has the host afterwards.
    """
    caplog.set_level("INFO")

    async def story() -> None:
        async with crowd_of(2, tmp_path, redis) as crowd:
            one, two = await crowd.share()
            name = host_of(two)
            one.frontier.act(Act(BLOCK, name))
            one.checkpoint()
            await crowd.kill(one, comes_back=True)
            await crowd.until(lambda: (trap := crowd.trap(name)) is not None and trap.is_blocked)
            await crowd.until(lambda: not any(one.frontier.holdings.unheard() for one in crowd.workers))
            await crowd.kill(two, comes_back=False)
            await crowd.until(lambda: (trap := crowd.trap(name)) is not None and trap.is_blocked)
            crowd.workers[0].frontier.act(Act(RELEASE, name))
            await crowd.until(lambda: (trap := crowd.trap(name)) is not None and not trap.demoted)

    asyncio.run(story())
    assert sum("By hand: Blocked" in line for line in caplog.messages) == 1


@pytest.mark.usefixtures("nobody_is_late")
def test_an_act_that_cannot_be_done(tmp_path: Path, redis: Server, caplog: pytest.LogCaptureFixture) -> None:
    """It is refused where that is known, and else logged where it comes to; the crawl goes on."""

    async def story() -> None:
        async with crowd_of(2, tmp_path, redis) as crowd:
            one, two = await crowd.share()
            with pytest.raises(OptionError, match="has no section '/none'"):
                one.frontier.act(Act(BLOCK, host_of(one), "/none"))
            one.frontier.act(Act(BLOCK, host_of(two), "/none"))
            await crowd.until(lambda: "has no section '/none'" in caplog.text)
            assert await crowd.run(Random(1)) == all_pages()

    asyncio.run(story())


async def rounds(worker: Worker, condition: Callable[[], bool], what: str) -> None:
    """Let the worker go on until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        await worker.round()
        worker.checkpoint()
        await asyncio.sleep(0.001)


def snapshots(client: Redis) -> int:
    """Entries that stand in snapshots, over all partitions."""
    states = [Keys("shared", PARTITIONS).base(partition) + "state" for partition in range(PARTITIONS)]
    return sum(int(client.hget(state, "snapshot") or 0) for state in states)


def worked(worker: Worker, pages: range) -> None:
    for row in pages:
        worker.fetch(row)
    worker.checkpoint()


async def rows_on_redis(worker: Worker, partition: int) -> list[Row]:
    parts = [part async for part in worker.store.snapshot(partition)]
    log = [entry async for entry in worker.store.log(partition)]
    return sorted(replayed(log, parts, fingerprint=FINGERPRINTS.url)[1])


@pytest.mark.usefixtures("nobody_is_late")
def test_a_checkpoint_while_a_partition_is_read(
    tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has come of Redis up to then comes in with it, and the rest with the next one."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (worker,) = crowd.workers
            read = worker.store.log

            async def slowly(partition: int) -> AsyncIterator[bytes]:
                worker.checkpoint()
                async for entry in read(partition):
                    yield entry

            monkeypatch.setattr(worker.store, "log", slowly)
            await worker.round()
            worker.checkpoint()
            assert len(worker.frontier.holdings.held) == PARTITIONS

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_partition_is_written_while_it_is_read(
    tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch, *, is_killed: bool
) -> None:
    """Nobody sees its rows before it is there as a whole; if that breaks off or the worker dies, they are deleted."""

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (first,) = crowd.workers
            await rounds(first, lambda: first.frontier.figures.waiting > 0, "it has seeds")
            worked(first, range(1, 40))
            await first.exchange.leave()
            second = crowd.start()
            second.checkpoint()
            partitions, broken = second.frontier.partitions, list[int]()
            read = second.store.log

            async def breaks_off(partition: int) -> AsyncIterator[bytes]:
                async for entry in read(partition):
                    yield entry
                    second.checkpoint()
                    if list(rows_of(second.database, partitions.territory.regions(partition))):
                        assert not second.frontier.frontier.counts.known
                        broken.append(partition)
                        raise RedisConnectionError

            monkeypatch.setattr(second.store, "log", breaks_off)
            if is_killed:
                monkeypatch.setattr(partitions, "_forget", lambda _: None)
            with pytest.raises(RedisConnectionError):
                await rounds(second, lambda: bool(broken), "it breaks off")
            if is_killed:
                crowd.workers.remove(second)
                await second.kill()
                second = crowd.start(second.folder)
            monkeypatch.setattr(second.store, "log", read if not is_killed else second.store.log)
            assert not list(rows_of(second.database, second.frontier.partitions.territory.regions(*broken)))
            await rounds(second, lambda: len(second.frontier.holdings.held) == PARTITIONS, "it has all")
            crowd.workers.remove(first)
            assert len(await crowd.run(Random(1)) + Counter(first.rows.values())) == PAGES
            await first.kill()

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_snapshot_stands_for_the_log(tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the entries that came after it, also while it was made, it is what the worker has."""
    monkeypatch.setattr(compaction, "LEAST", 0)
    monkeypatch.setattr(compaction, "GROWTH", 0.1)
    monkeypatch.setattr(compaction, "URLS", 2)

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (worker,) = crowd.workers
            await rounds(worker, lambda: len(worker.frontier.holdings.held) == PARTITIONS, "all partitions")
            with redis.client() as client:
                for start in range(1, 80, 20):
                    before = snapshots(client)
                    worked(worker, range(start, start + 20))
                    await rounds(worker, lambda before=before: snapshots(client) > before, "a snapshot")  # type: ignore[misc]
            worked(worker, range(100, 105))
            await worker.round()
            await worker.exchange.cease()
            for partition in range(PARTITIONS):
                regions = worker.frontier.partitions.territory.regions(partition)
                assert await rows_on_redis(worker, partition) == sorted(rows_of(worker.database, regions))
            with redis.client() as client:
                for partition, held in worker.frontier.holdings.held.items():
                    left = int(client.hget(Keys("shared", PARTITIONS).base(partition) + "state", "log") or 0)
                    assert held.log <= left  # else it would be compacted with each entry from now on

    asyncio.run(crawl())


@pytest.mark.usefixtures("nobody_is_late")
def test_a_worker_dies_in_mid_compaction(tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Redis has of the partition is what it was, the parts of the snapshot go, and every page comes once."""
    monkeypatch.setattr(compaction, "LEAST", 0)
    monkeypatch.setattr(compaction, "GROWTH", 0)
    monkeypatch.setattr(compaction, "URLS", 1)

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (worker,) = crowd.workers
            with redis.client() as client:
                for _ in range(PAGES):  # a compaction may end between two looks
                    crowd.row += 1
                    worked(worker, range(crowd.row, crowd.row + 1))
                    await worker.round()
                    await asyncio.sleep(0.001)
                    if client.keys("*parts"):
                        await worker.exchange.cease()
                    if client.keys("*parts"):
                        break
                base = client.keys("*parts")[0].decode().removesuffix("parts")
                before = client.lrange(base + "snapshot", 0, -1), client.lrange(base + "log", 0, -1)
                await crowd.kill(worker, comes_back=False)
                assert before == (client.lrange(base + "snapshot", 0, -1), client.lrange(base + "log", 0, -1))
                monkeypatch.setattr(compaction, "LEAST", 1 << 30)
                assert await crowd.run(Random(1)) == all_pages()
                assert not client.keys("*parts")

    asyncio.run(crawl())


@pytest.mark.deep
@pytest.mark.parametrize("when", ["fetching", "compacting"])
def test_redis_is_full(
    tmp_path: Path, redis: Server, when: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker says so in one line, fetches no more than it may hold, and goes on when there is room: every page
    comes once. What has come of a snapshot gives back its room.
    """
    monkeypatch.setattr(exchange, "UNSENT", 0)
    monkeypatch.setattr(compaction, "URLS", 1)

    async def crawl() -> None:
        async with crowd_of(1, tmp_path, redis) as crowd:
            (worker,) = crowd.workers
            with redis.client() as client:
                worker.exchange.start()
                await work(worker, lambda: len(worker.rows) > 30)
                if when == "compacting":
                    monkeypatch.setattr(compaction, "LEAST", 0)
                    await work(worker, lambda: bool(client.keys("*parts")), fetches=False)
                client.config_set("maxmemory", "1")
                try:
                    await work(
                        worker, lambda: "Waiting for Redis" in caplog.text and worker.frontier.exchange.is_behind
                    )
                    assert worker.frontier.next() is None
                    if when == "compacting":
                        await work(worker, lambda: not client.keys("*parts"), fetches=False)
                finally:
                    client.config_set("maxmemory", "0")
            await work(worker, lambda: worker.frontier.has_ended)
            assert Counter(worker.rows.values()) == all_pages()
            assert sum("Waiting for Redis" in record.message for record in caplog.records) == 1

    asyncio.run(crawl())


async def work(worker: Worker, condition: Callable[[], bool], *, fetches: bool = True) -> None:
    """Until it holds, beside the worker's talk with Redis."""
    deadline = time.monotonic() + PATIENCE
    row = max([*worker.rows, *worker.pending, 0]) + 1
    while not condition():
        assert time.monotonic() < deadline
        if fetches:
            worker.fetch(row)
            row += 1
        worker.checkpoint()
        await asyncio.sleep(0.005)
