"""Limits of a crawl by many workers: `max_pages` is exact over all, and `CLOSESPIDER_*` counts what all have done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_helpers import Steps, audit, outcome, seed
from cluster_workers import Worker as BareWorker
from cluster_workers import working
from fleet import Worker, fleet, stored, web_of
from redis_servers import Server, server
from syntheticweb import Web
from waiting import until, until_async

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.audit import audit as faults_of
from sitecrawl.cluster.budget import Part, moves
from sitecrawl.cluster.join import begin, join
from sitecrawl.cluster.options import ClusterOptions, CrawlLimits
from sitecrawl.cluster.repair import repair
from sitecrawl.cluster.shards import Keys
from sitecrawl.frontier.record import UrlState

WAITS, FETCHED, FAILED, EXCLUDED = UrlState.QUEUED, UrlState.FETCHED, UrlState.FAILED, UrlState.EXCLUDED


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def redis(redis_server: Server) -> Server:
    with redis_server.client() as client:
        client.flushall()
    return redis_server


@pytest.fixture
def steps(redis: Server) -> Iterator[Steps]:
    with redis.client() as client:
        made = Steps(client, shards=2)
        yield made
        audit(made)


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(150) as served:
        yield served


class TestBudget:
    """What a shard may lend, step by step."""

    @pytest.fixture
    def limited(self, steps: Steps) -> Steps:
        """Three hosts of shard 0 have four URLs each, and five may be fetched."""
        hosts = [name for n in range(40) if steps.keys.shard_of(name := f"h{n}.example") == 0][:3]
        steps.add(*(seed(f"http://{host}/{n}") for host in hosts for n in range(4)))
        steps.limit(5)
        return steps

    def lent(self, steps: Steps, want: int = 10, session: str = "one") -> list[Any]:
        """Leases of shard 0."""
        return steps.lease(0, session, want, span=10_000)

    def urls(self, leases: list[Any]) -> int:
        return sum(len(lease[6]) for lease in leases)

    def test_no_more_is_lent_than_may_be(self, limited: Steps) -> None:
        """Whoever asks, and however often."""
        assert self.urls(self.lent(limited)) + self.urls(self.lent(limited, session="two")) == 5
        assert self.lent(limited) == []
        assert limited.state(0)["budget"] == 0

    @pytest.mark.parametrize(("state", "back"), [(FETCHED, 0), (FAILED, 1), (EXCLUDED, 1), (WAITS, 1)])
    def test_only_what_was_fetched_is_spent(self, limited: Steps, state: UrlState, back: int) -> None:
        """A URL that fails, is excluded or waits again gives back what it took."""
        lease = self.lent(limited)[0]
        assert limited.send(limited.parcel(0, [outcome(lease, lease[6][0], state=int(state))])) == 1
        assert limited.state(0)["budget"] == back
        assert limited.budgets() == 5

    def test_dead_worker_holds_nothing_back(self, limited: Steps) -> None:
        """What it was lent expires, and its part of the limit returns with the URLs."""
        leases = self.lent(limited)
        for lease in leases:
            limited.expire(0, lease[0])
        assert self.urls(self.lent(limited, session="two")) == 5
        assert limited.send(limited.parcel(0, [outcome(leases[0], leases[0][6][0])])) == [1]
        assert limited.budgets() == 5

    def test_what_is_given_back_can_be_lent(self, limited: Steps) -> None:
        """Lease by lease, and at a worker's end."""
        for lease in self.lent(limited):
            limited.release(0, lease, *(url[0] for url in lease[6]))
        assert self.urls(self.lent(limited)) == 5
        limited.call(0, "resign", keep=[], leaves=1)
        assert limited.state(0)["budget"] == 5

    def test_what_has_no_use_here_is_carried_once(self, steps: Steps) -> None:
        """It leaves one shard in the step that puts it on its way, and counts once however often it arrives."""
        steps.limit(5)
        packed = steps.carry(0, 1, 3)
        assert packed is not None
        assert steps.budgets() == 5
        assert [steps.arrive(0, 1, packed) for _ in range(2)] == [1, 0]
        assert (steps.state(0)["budget"], steps.state(1)["budget"]) == (2, 3)

    def test_a_shard_keeps_what_it_can_lend(self, limited: Steps) -> None:
        """Else two workers could carry the last of a limit to and fro."""
        assert limited.carry(0, 1, 5) is None
        self.lent(limited, want=1)
        limited.limit(14)  # of twelve URLs
        packed = limited.carry(0, 1, 10)
        assert packed is not None
        assert limited.state(0)["budget"] == 12
        limited.arrive(0, 1, packed)

    def test_another_limit_ends_what_was_lent_under_the_last(self, limited: Steps) -> None:
        """So what has been fetched can be counted; late pages are refused."""
        fetched, late = self.lent(limited, want=2)[0], self.lent(limited)[0]
        limited.send(limited.parcel(0, [outcome(fetched, fetched[6][0])]))
        limited.limit(7)
        assert limited.state(0)["budget"] == 6
        assert limited.send(limited.parcel(0, [outcome(late, late[6][0])])) == [1]
        assert limited.budgets() == 7

    def test_what_was_on_its_way_under_another_limit_is_void(self, steps: Steps) -> None:
        """It would be lent beside what is granted of the new one."""
        steps.limit(5)
        packed = steps.carry(0, 1, 3)
        assert packed is not None
        steps.limit(7)
        assert steps.arrive(0, 1, packed) == 1
        assert steps.budgets() == 7

    def test_worker_of_an_old_limit(self, limited: Steps) -> None:
        """It has slept over the change: it is lent nothing."""
        limited.limit(7)
        limited.account -= 1
        assert self.lent(limited) == []

    def test_the_new_limit_is_granted_once(self, limited: Steps) -> None:
        """Several workers begin at once."""
        limited.call(0, "account", limited=1, grant=5)
        assert limited.budgets() == 5


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({0: Part(9, 0, 0), 1: Part(0, 1, 1)}, [(0, 1, 9)]),
        ({0: Part(9, 1, 2), 1: Part(0, 1, 1), 2: Part(0, 0, 5)}, [(0, 1, 4)]),
        ({0: Part(2, 0, 0), 1: Part(0, 1, 9), 2: Part(0, 1, 9), 3: Part(0, 1, 9)}, [(0, 1, 1), (0, 2, 1)]),
        ({0: Part(2, 1, 9), 1: Part(0, 1, 9)}, []),
        ({0: Part(-3, 0, 0), 1: Part(0, 1, 9)}, []),
    ],
)
def test_who_gives_how_much_to_whom(parts: dict[int, Part], expected: list[tuple[int, int, int]]) -> None:
    """Fair parts for those that could lend; a shard keeps what it can lend itself."""
    assert moves(parts) == expected


class TestJoining:
    """`two` and `three` begin beside `one`, or after it."""

    def begin(self, redis: Server, session: str, lease_seconds: float = 30, **limits: Any) -> int:
        limited = CrawlLimits(**limits)
        options = ClusterOptions({"url": redis.url}, "test", shards=2, lease_seconds=lease_seconds, limits=limited)
        return begin(join(options), session)

    def test_who_comes_back_has_the_same_account(self, redis: Server, steps: Steps) -> None:
        """Alone or beside others; another limit has another account, also one that is none."""
        assert self.begin(redis, "one") == 0
        steps.call(0, "resign", "one", keep=[], leaves=1)
        assert [self.begin(redis, name, max_pages=5) for name in ("one", "two", "one")] == [1, 1, 1]
        for name in ("one", "two"):
            steps.call(0, "resign", name, keep=[], leaves=1)
        assert self.begin(redis, "two", max_pages=5) == 1
        assert self.begin(redis, "two", max_pages=6) == 2
        assert self.begin(redis, "two") == 3

    def test_killed_workers_are_waited_for(self, redis: Server, steps: Steps) -> None:
        """They are believed alive until their leases are over."""
        assert self.begin(redis, "one", lease_seconds=1, max_pages=5) == 1
        assert self.begin(redis, "two", max_pages=6) == 2

    def test_other_limits_than_those_at_work(self, redis: Server, steps: Steps) -> None:
        """An error that names both, as soon as another worker has shown that it lives."""

        self.begin(redis, "one", max_pages=5)

        async def run() -> None:
            waiting = asyncio.to_thread(self.begin, redis, "two", max_pages=6, timeout=9)
            beside = asyncio.create_task(waiting)
            while not beside.done():
                self.begin(redis, "one", max_pages=5)
                await asyncio.sleep(0.05)
            await beside

        with pytest.raises(OptionError, match=r"SITECRAWL_MAX_PAGES=5, not SITECRAWL_MAX_PAGES=6, CLOSESPIDER_TIM"):
            asyncio.run(run())


class TestWorkers:
    """Frontiers on a real Redis, without Scrapy."""

    async def finished(self, worker: BareWorker) -> None:
        await until_async(worker.frontier.is_finished, "the end of the crawl")

    def test_the_last_of_the_limit_dies_with_a_worker(self, redis: Server, tmp_path: Path) -> None:
        """Another gets it when the dead one's leases are over, and the crawl ends at the limit."""
        limited: dict[str, Any] = {"shards": 3, "limits": CrawlLimits(max_pages=3), "lease_seconds": 1}

        async def run() -> None:
            dying = BareWorker(redis, tmp_path / "dying", **limited)
            dying.frontier.start()
            await dying.seed(*(f"http://h{n}.example/" for n in range(9)))
            await dying.visits(3)
            await dying.frontier.pump.cease()  # as in a kill: nothing is given back
            dying.database.close()
            async with working(redis, tmp_path / "living", **limited) as living:
                for visit in await living.visits(3):
                    living.frontier.done(visit, FETCHED, status=200)
                living.checkpoint()
                await self.finished(living)
                assert living.frontier.next() is None
                assert living.frontier.is_full
                assert living.frontier.counts.fetched == 3

        asyncio.run(run())

    def test_what_fails_is_made_up_for(self, redis: Server, tmp_path: Path) -> None:
        """By what waits on other shards: the limit is reached exactly, or everything is fetched."""

        async def run() -> None:
            async with working(redis, tmp_path, shards=4, limits=CrawlLimits(max_pages=5)) as worker:
                await worker.seed(*(f"http://h{n}.example/" for n in range(12)))
                for number in range(9):
                    (visit,) = await worker.visits(1)
                    worker.frontier.done(visit, FAILED if number % 2 else FETCHED)
                    worker.checkpoint()
                await self.finished(worker)
                counts = worker.frontier.counts
                assert (counts.fetched, counts.failed, counts.queued) == (5, 4, 3)
                assert worker.frontier.next() is None

        asyncio.run(run())

    def test_a_worker_that_slept_over_a_new_limit_ends(self, redis: Server, tmp_path: Path) -> None:
        """It says with which limit to start it again."""

        async def run() -> None:
            async with working(redis, tmp_path, limits=CrawlLimits(max_pages=5)) as worker:
                with redis.client() as client:
                    begun = Steps(client, shards=1)
                    begun.account = 1
                    await until_async(lambda: begun.state(0).get("account"), "its limit")
                    begun.limit(6)
                worker.frontier.pump.kick()
                await until_async(lambda: worker.heard.errors, "an error")
                assert "another max_pages" in str(worker.heard.errors[0])

        asyncio.run(run())


def begin_again(redis: Server, folder: Path, seeds: str, **settings: object) -> Worker:
    worker = Worker(folder, seeds, redis.url, **settings)
    assert worker.wait() == 0, worker.log[-2000:]
    return worker


def stat(worker: Worker, name: str) -> list[str]:
    """One of its statistics, each time that it ended."""
    return [line.partition(": ")[2].strip(" ',") for line in worker.log.splitlines() if f"'{name}'" in line]


def reasons(worker: Worker) -> list[str]:
    return stat(worker, "finish_reason")


def test_a_later_run_may_have_another_limit(redis: Server, web: Web, tmp_path: Path) -> None:
    """A greater one goes on where the crawl was, the same and a smaller one end at once."""
    for limit, pages in ((7, 7), (20, 20), (12, 20)):
        worker = begin_again(redis, tmp_path / "worker", web.url(0), SITECRAWL_MAX_PAGES=limit)
        assert stored([worker]).total() == pages
    assert reasons(worker) == ["max_pages"] * 3


def test_what_is_spoilt_is_reckoned_anew(redis: Server, web: Web, tmp_path: Path) -> None:
    """Parts that do not add up, and a run that cannot be read: each is named, and after a repair the limit holds."""
    params, spoils = (
        {"url": redis.url},
        ("HINCRBY state budget 3", "HSET run account x", "HSET tallies s x", "DEL run"),
    )
    for limit, spoil in zip((7, 12, 20, 30), spoils, strict=True):
        worker = begin_again(redis, tmp_path / "worker", web.url(0), SITECRAWL_MAX_PAGES=limit)
        assert stored([worker]).total() == limit
        assert faults_of(params, "generic") == ([], False)
        with redis.client() as client:
            verb, name, *rest = spoil.split()
            client.execute_command(verb, Keys("generic", 1).base(0) + name, *rest)
        assert len(faults_of(params, "generic")[0]) == (verb != "DEL")
        assert repair(params, "generic", []).after == []


class TestRun:
    """`CLOSESPIDER_*`."""

    LIMITS = {"itemcount": 10, "pagecount": 12, "errorcount": 3, "pagecount_no_item": 5}  # noqa: RUF012

    def tell(self, steps: Steps, stream: str, *counts: int, bare: int = 0, **limits: int) -> str:
        """The limit that is met, when this worker has counted so many items, pages and errors."""
        given = limits or self.LIMITS
        answer = steps.call(0, "tally", stream, stream=stream, counts=list(counts), bare=bare, limits=given)
        return str(answer[b"met"].decode())

    def test_what_all_have_counted(self, steps: Steps) -> None:
        """Sums decide, and what is told twice counts once; what has been met stays so."""
        assert self.tell(steps, "one", 4, 4, 0) == ""
        assert self.tell(steps, "two", 5, 5, 0) == ""
        assert self.tell(steps, "one", 4, 4, 0) == ""
        assert self.tell(steps, "two", 6, 6, 0) == "itemcount"
        assert self.tell(steps, "one", 4, 9, 3) == "itemcount"

    @pytest.mark.parametrize(
        ("counts", "bare", "met"),
        [((0, 12, 0), 0, "pagecount"), ((1, 1, 3), 0, "errorcount"), ((0, 5, 0), 5, "pagecount_no_item")],
    )
    def test_which_limit(self, steps: Steps, counts: tuple[int, int, int], bare: int, met: str) -> None:
        """The one that Scrapy would name first."""
        assert self.tell(steps, "one", *counts, bare=bare) == met

    def test_pages_since_the_last_item(self, steps: Steps) -> None:
        """An item of any worker begins the count anew."""
        assert self.tell(steps, "one", 0, 4, 0, bare=4) == ""
        assert self.tell(steps, "two", 1, 2, 0, bare=1) == ""
        assert self.tell(steps, "one", 0, 7, 0, bare=7) == ""
        assert self.tell(steps, "one", 0, 8, 0, bare=8) == "pagecount_no_item"

    def test_time_is_that_of_the_run(self, steps: Steps) -> None:
        """From its beginning on, and from the last item."""
        steps.client.hset(steps.keys.base(0) + "run", mapping={"begun": 0, "item_at": 0})
        assert self.tell(steps, "one", 0, 0, 0, timeout=2**42) == ""
        assert self.tell(steps, "one", 0, 0, 0, timeout_no_item=1000) == "timeout_no_item"

    def test_a_new_run_counts_anew(self, redis: Server, steps: Steps) -> None:
        """When no worker of the last is left."""
        options = ClusterOptions({"url": redis.url}, "test", shards=2, limits=CrawlLimits(itemcount=10))
        begin(join(options), "one")
        assert self.tell(steps, "one", 10, 10, 0) == "itemcount"
        assert begin(join(options), "one") == 0
        assert self.tell(steps, "one", 10, 10, 0) == "itemcount"
        steps.call(0, "resign", "one", keep=[], leaves=1)
        begin(join(options), "one")
        assert self.tell(steps, "one again", 0, 0, 0) == ""

    @pytest.mark.parametrize("counted", ["response_received", "item_scraped"])
    def test_workers_end_together(self, redis: Server, web: Web, tmp_path: Path, counted: str) -> None:
        """When all of them together have counted so much, and not each of them."""
        name = {"response_received": "PAGECOUNT", "item_scraped": "ITEMCOUNT"}[counted]
        settings = {f"CLOSESPIDER_{name}": 60, "CONCURRENT_REQUESTS": 4, "DOWNLOAD_DELAY": 0.3}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers:
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [[f"closespider_{name.lower()}"]] * 2
            total = sum(int(number) for worker in workers for number in stat(worker, f"{counted}_count"))
        assert 60 <= total < 120

    def test_time_is_up_for_all(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """It is the run's time, whenever a worker has begun."""
        settings = {"CLOSESPIDER_TIMEOUT": 3600, "SITECRAWL_CLUSTER_WATCH": True}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers, redis.client() as client:
            until(lambda: client.hlen("sitecrawl:{generic.0}:tallies") == 2, "both have begun")
            client.hset("sitecrawl:{generic.0}:run", "begun", 0)
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [["closespider_timeout"]] * 2
