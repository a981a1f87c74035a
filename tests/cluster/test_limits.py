"""Limits of a crawl by many workers: `max_pages` is exact over all, and `CLOSESPIDER_*` counts what all have done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest
from cluster_helpers import KEY, Steps, audit, link, outcome, seed
from cluster_workers import Worker as BareWorker
from cluster_workers import working
from fleet import Worker, fleet, stored, web_of
from frontiers import abandon
from redis_servers import Server
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
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link

WAITS, FETCHED, FAILED, EXCLUDED = UrlState.QUEUED, UrlState.FETCHED, UrlState.FAILED, UrlState.EXCLUDED


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
            await abandon(dying.frontier)
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


class TestLevels:
    """`max_depth`."""

    def test_a_level_waits_for_the_last_of_the_one_above(self, steps: Steps) -> None:
        """A shard lends what is no deeper than the crawl has come; the rest waits in its place, and is counted."""
        deep = Steps(steps.client, crawl="deep", shards=2, max_depth=3)
        host = next(name for n in range(40) if deep.keys.shard_of(name := f"h{n}.example") == 0)
        deep.add(seed(f"http://{host}/"), *(link(f"http://{host}/{depth}", depth=depth) for depth in (2, 1, 2)))
        deep.add(link(f"http://{host}/first", depth=3, priority=1))  # what a spider wants before any link
        lent = []
        for deep.level in (0, 0, 1, 2, 3):
            for lease in deep.lease(0):
                lent.append((deep.level, sorted(url[1].decode().rpartition("/")[2] for url in lease[6])))
                deep.release(0, lease)
        assert lent == [(0, ["", "first"]), (1, ["1"]), (2, ["2"])]
        audit(deep)

    def test_a_repair_leaves_levels_as_they_are(self, steps: Steps) -> None:
        """What waits for its level does so again, when queues and workbench have been made from nothing."""
        deep = Steps(steps.client, crawl="deep", shards=1, max_depth=3)
        deep.add(seed("http://a.example/"), *(link(f"http://a.example/{n}", depth=n % 3 + 1) for n in range(6)))
        params = {"connection_pool": steps.client.connection_pool}
        for spoil in ("DEL deep", "DEL ready", "ZADD deep 1 stranger", "SET deep x"):
            verb, name, *rest = spoil.split()
            steps.client.execute_command(verb, deep.keys.base(0) + name, *rest)
            steps.client.delete(deep.keys.base(0) + "sessions")  # nobody is at work any more
            repaired = repair(params, "deep", [])
            assert (len(repaired.before) > 0, repaired.after) == (True, []), spoil
        assert steps.client.zcard(deep.keys.base(0) + "deep") == 6
        (lease,) = deep.lease(0)
        assert [url[1] for url in lease[6]] == [b"http://a.example/"]

    def test_what_is_deeper_is_no_work(self, steps: Steps) -> None:
        """The level has ended when only that is left."""
        deep = Steps(steps.client, crawl="deep", shards=1, max_depth=3)
        deep.add(seed("http://a.example/"), link("http://a.example/1", depth=1))
        (lease,) = deep.lease(0)
        assert deep.send(deep.parcel(0, [outcome(lease, lease[6][0])])) == 1
        deep.release(0, lease)
        answer = deep.call(0, "lease", want=9, hosts=9, span=1, most=9)
        assert (answer[b"ends"], answer[b"shard"][b"deep"], answer[b"shard"][b"waiting"]) == (1, 1, 1)
        audit(deep)

    @pytest.mark.parametrize("shards", [1, 4])
    @pytest.mark.parametrize("depth", [1, 3])
    def test_max_depth_is_exact(self, redis: Server, tmp_path: Path, depth: int, shards: int) -> None:
        """All pages within so many links of a seed, by the shortest way, although that is found late."""
        home, slow = "http://h0.example", "http://h1.example"

        def links_of(url: str) -> list[str]:
            # The short way to the far page leads over a slow host: it is found after the long one.
            if url == f"{slow}/":
                return [f"{slow}/1", f"{home}/far"]
            if url.startswith(f"{home}/far"):
                return [f"{url}r"]
            step = int(url.rpartition("/")[2] or 0)
            return [f"{url.rpartition('/')[0]}/{step + 1}", *([f"{home}/far"] if step == 2 else [])]

        async def run() -> dict[str, int]:
            found: dict[str, int] = {}
            async with working(redis, tmp_path, shards=shards, max_depth=depth) as worker:
                await worker.seed(f"{home}/", f"{slow}/")
                held: list[Visit] = []
                looks = 0
                while not worker.frontier.is_finished() or held:
                    visit = worker.frontier.next()
                    if visit is not None and visit.url == f"{slow}/":
                        held.append(visit)
                    elif visit is not None:
                        self.fetch(worker, visit, links_of, found)
                    elif held and (looks := looks + 1) > 20:  # nothing else comes
                        self.fetch(worker, held.pop(), links_of, found)
                    await asyncio.sleep(0.02)
            return found

        far = {f"{home}/far{'r' * (step - 1)}": step for step in range(1, depth + 1)}
        steps = {f"{host}/{step or ''}": step for host in (home, slow) for step in range(depth + 1)}
        assert asyncio.run(run()) == {**steps, **far}

    def fetch(
        self, worker: BareWorker, visit: Visit, links_of: Callable[[str], list[str]], found: dict[str, int]
    ) -> None:
        assert visit.url not in found
        found[visit.url] = visit.depth
        links = [Link(url, url.split("/")[2], key=KEY.url(url)) for url in links_of(visit.url)]
        worker.frontier.expand(visit, links)
        worker.frontier.downloaded(visit, 0.0)
        worker.frontier.done(visit, FETCHED, status=200)
        worker.checkpoint()

    def test_it_is_fixed_when_the_crawl_begins(self, redis: Server) -> None:
        """What was deeper has been left out by then."""
        join(ClusterOptions({"url": redis.url}, "test", shards=1, max_depth=3))
        with pytest.raises(OptionError, match="max_depth '3', not '4'"):
            join(ClusterOptions({"url": redis.url}, "test", shards=1, max_depth=4))


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

    def test_when_a_count_is_told(self, redis: Server, tmp_path: Path) -> None:
        """At once near a limit, and soon far from it; where there is none of counts, nothing is in a hurry."""

        async def run(**limits: int) -> list[bool]:
            async with working(redis, tmp_path / "-".join(limits), limits=CrawlLimits(**limits)) as worker:
                tallies = worker.frontier.pump.tallies
                await until_async(lambda: time.monotonic() < tallies.next_look() < inf, "an answer")
                now = time.monotonic()
                tallies.count("pagecount")
                return [tallies.next_look() <= now, now < tallies.next_look() <= time.monotonic() + 1]

        assert asyncio.run(run(pagecount=30)) == [True, False]
        assert asyncio.run(run(pagecount=3000)) == [False, True]
        assert asyncio.run(run(timeout=3000)) == [False, True]

    def test_workers_end_together(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """When all of them together have counted so much, and not each of them."""
        settings = {"CLOSESPIDER_ITEMCOUNT": 60, "CONCURRENT_REQUESTS": 4, "DOWNLOAD_DELAY": 0.3}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers:
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [["closespider_itemcount"]] * 2
            total = sum(int(number) for worker in workers for number in stat(worker, "item_scraped_count"))
        assert 60 <= total < 120

    def test_time_is_up_for_all(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """It is the run's time, whenever a worker has begun."""
        settings = {"CLOSESPIDER_TIMEOUT": 3600, "SITECRAWL_CLUSTER_WATCH": True}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers, redis.client() as client:
            until(lambda: client.hlen("sitecrawl:{generic.0}:tallies") == 2, "both have begun")
            client.hset("sitecrawl:{generic.0}:run", "begun", 0)
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [["closespider_timeout"]] * 2
