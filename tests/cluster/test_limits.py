"""Limits of a crawl by many workers: `max_pages` is exact over all, and `CLOSESPIDER_*` counts what all have done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest
from bare_workers import Worker as BareWorker
from bare_workers import link, working
from fleet import Worker, fleet, stored, web_of
from redis_servers import Server
from syntheticweb import Web
from waiting import until, until_async

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.join import begin, join
from sitecrawl.cluster.keys import Keys
from sitecrawl.cluster.options import ClusterOptions, CrawlLimits
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.steps import script
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit

BASE = Keys("test", 1).base(0)


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(150) as served:
        yield served


def leave(redis: Server, session: str) -> None:
    """The worker is believed alive no more."""
    with redis.client() as client:
        client.zrem(BASE + "workers", session)


class TestJoining:
    """`two` and `three` begin beside `one`, or after it."""

    def begin(self, redis: Server, session: str, lease_seconds: float = 30, **limits: Any) -> Run:
        limited = CrawlLimits(**limits)
        options = ClusterOptions({"url": redis.url}, "test", shards=2, lease_seconds=lease_seconds, limits=limited)
        return begin(join(options), session)

    def test_who_comes_back_has_the_same_account(self, redis: Server) -> None:
        """Alone or beside others; another limit has another account, also one that is none."""
        assert self.begin(redis, "one").account == 0
        leave(redis, "one")
        assert [self.begin(redis, name, max_pages=5).account for name in ("one", "two", "one")] == [1, 1, 1]
        leave(redis, "one")
        leave(redis, "two")
        assert self.begin(redis, "two", max_pages=5).account == 1
        assert self.begin(redis, "two", max_pages=6).account == 2
        assert self.begin(redis, "two").account == 3

    def test_killed_workers_are_waited_for(self, redis: Server) -> None:
        """They are believed alive until their leases are over."""
        assert self.begin(redis, "one", lease_seconds=1, max_pages=5).account == 1
        assert self.begin(redis, "two", max_pages=6).account == 2

    def test_other_limits_than_those_at_work(self, redis: Server) -> None:
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

    def test_the_last_of_the_limit_dies_with_a_worker(self, redis: Server, tmp_path: Path) -> None:
        """Another gets it when the dead one's leases are over, and the crawl ends at the limit."""
        limited: dict[str, Any] = {"shards": 3, "limits": CrawlLimits(max_pages=3), "lease_seconds": 1}

        async def run() -> None:
            dying = BareWorker(redis, tmp_path / "dying", **limited)
            dying.frontier.start()
            dying.seed(*(f"http://h{n}.example/" for n in range(9)))
            await dying.visits(3)
            await dying.abandon()
            async with working(redis, tmp_path / "living", **limited) as living:
                for visit in await living.visits(3):
                    living.frontier.done(visit, UrlState.FETCHED, status=200)
                await until_async(living.has_finished, "the end of the crawl")
                assert living.look() is None
                assert living.frontier.figures.is_full
                assert living.frontier.figures.fetched == 3

        asyncio.run(run())

    def test_what_fails_is_made_up_for(self, redis: Server, tmp_path: Path) -> None:
        """By what waits in other partitions: the limit is reached exactly, or everything is fetched."""

        async def run() -> None:
            async with working(redis, tmp_path, shards=4, limits=CrawlLimits(max_pages=5)) as worker:
                worker.seed(*(f"http://h{n}.example/" for n in range(12)))
                for number in range(9):
                    (visit,) = await worker.visits(1)
                    worker.frontier.done(visit, UrlState.FAILED if number % 2 else UrlState.FETCHED)
                await until_async(worker.has_finished, "the end of the crawl")
                counts = worker.frontier.figures
                assert (counts.fetched, counts.failed, counts.queued) == (5, 4, 3)
                assert worker.look() is None

        asyncio.run(run())

    def test_a_worker_that_slept_over_a_new_limit_ends(self, redis: Server, tmp_path: Path) -> None:
        """If it is that of another run: it says with which limits to start it again."""

        async def run() -> None:
            async with working(redis, tmp_path, limits=CrawlLimits(max_pages=5)) as worker:
                with redis.client() as client:
                    client.hincrby(BASE + "run", "account", 1)
                    client.hset(BASE + "run", "limits", "SITECRAWL_MAX_PAGES=9")
                worker.frontier.exchange.kick()
                await until_async(lambda: worker.heard.errors, "an error")
                assert "anew with SITECRAWL_MAX_PAGES=9 while" in str(worker.heard.errors[0])

        asyncio.run(run())


def begin_again(redis: Server, folder: Path, seeds: str, **settings: Any) -> Worker:
    worker = Worker(folder, seeds, redis.url, **settings)
    assert worker.wait() == 0, worker.log[-2000:]
    return worker


def stat(worker: Worker, name: str) -> list[str]:
    """One of its statistics, each time that it ended."""
    return [line.partition(": ")[2].strip(" ',") for line in worker.log.splitlines() if f"'{name}'" in line]


def reasons(worker: Worker) -> list[str]:
    return stat(worker, "finish_reason")


@pytest.mark.deep
def test_a_later_run_may_have_another_limit(redis: Server, web: Web, tmp_path: Path) -> None:
    """A greater one goes on where the crawl was, the same and a smaller one end at once."""
    for limit, pages in ((7, 7), (20, 20), (12, 20)):
        worker = begin_again(redis, tmp_path / "worker", web.url(0), SITECRAWL_MAX_PAGES=limit)
        assert stored([worker]).total() == pages
    assert reasons(worker) == ["max_pages"] * 3


class TestLevels:
    """`max_depth`."""

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
                worker.seed(f"{home}/", f"{slow}/")
                held: list[Visit] = []
                looks = 0
                while not worker.frontier.is_finished() or held:
                    visit = worker.look()
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
        worker.frontier.expand(visit, [link(url) for url in links_of(visit.url)])
        worker.frontier.downloaded(visit, 0.0)
        worker.frontier.done(visit, UrlState.FETCHED, status=200)
        worker.checkpoint()

    def test_it_is_fixed_when_the_crawl_begins(self, redis: Server) -> None:
        """What was deeper has been left out by then."""
        join(ClusterOptions({"url": redis.url}, "test", shards=1, max_depth=3))
        with pytest.raises(OptionError, match="max_depth '3', not '4'"):
            join(ClusterOptions({"url": redis.url}, "test", shards=1, max_depth=4))

    def test_who_began_the_crawl_was_killed_at_it(self, redis: Server) -> None:
        """The next worker writes what is missing in a partition, and only there."""
        options = ClusterOptions({"url": redis.url}, "test", shards=4, max_depth=3)
        key = join(options).key
        with redis.client() as client:
            client.hdel(Keys("test", 4).base(2) + "crawl", "max_depth", "key")
            client.config_resetstat()
            assert join(options).key == key
            assert client.hget(Keys("test", 4).base(2) + "crawl", "max_depth") == b"3"
            asked = client.info("commandstats")
            assert asked["cmdstat_hsetnx"]["calls"] == 1 + 8
            assert asked["cmdstat_hgetall"]["calls"] == 4 + 1


class TestRun:
    """`CLOSESPIDER_*`."""

    LIMITS = {"itemcount": 10, "pagecount": 12, "errorcount": 3, "pagecount_no_item": 5}  # noqa: RUF012

    def tell(self, redis: Server, stream: str, *counts: int, bare: int = 0, **limits: int) -> str:
        """The limit that is met, when this worker has counted so many items, pages and errors."""
        given = [part for pair in (limits or self.LIMITS).items() for part in pair]
        with redis.client() as client:
            answer: Any = client.eval(script("tally")[0], 1, BASE, stream, *counts, bare, *given)
        return str(answer[0].decode())

    def test_what_all_have_counted(self, redis: Server) -> None:
        """Sums decide, and what is told twice counts once; what has been met stays so."""
        assert self.tell(redis, "one", 4, 4, 0) == ""
        assert self.tell(redis, "two", 5, 5, 0) == ""
        assert self.tell(redis, "one", 4, 4, 0) == ""
        assert self.tell(redis, "two", 6, 6, 0) == "itemcount"
        assert self.tell(redis, "one", 4, 9, 3) == "itemcount"

    @pytest.mark.parametrize(
        ("counts", "bare", "met"),
        [((0, 12, 0), 0, "pagecount"), ((1, 1, 3), 0, "errorcount"), ((0, 5, 0), 5, "pagecount_no_item")],
    )
    def test_which_limit(self, redis: Server, counts: tuple[int, int, int], bare: int, met: str) -> None:
        """The one that Scrapy would name first."""
        assert self.tell(redis, "one", *counts, bare=bare) == met

    def test_pages_since_the_last_item(self, redis: Server) -> None:
        """An item of any worker begins the count anew."""
        assert self.tell(redis, "one", 0, 4, 0, bare=4) == ""
        assert self.tell(redis, "two", 1, 2, 0, bare=1) == ""
        assert self.tell(redis, "one", 0, 7, 0, bare=7) == ""
        assert self.tell(redis, "one", 0, 8, 0, bare=8) == "pagecount_no_item"

    def test_time_is_that_of_the_run(self, redis: Server) -> None:
        """From its beginning on, and from the last item."""
        with redis.client() as client:
            client.hset(BASE + "run", mapping={"begun": 0, "item_at": 0})
        assert self.tell(redis, "one", 0, 0, 0, timeout=2**42) == ""
        assert self.tell(redis, "one", 0, 0, 0, timeout_no_item=1000) == "timeout_no_item"

    def test_a_new_run_counts_anew(self, redis: Server) -> None:
        """When no worker of the last is left."""
        options = ClusterOptions({"url": redis.url}, "test", shards=2, limits=CrawlLimits(itemcount=10))
        begin(join(options), "one")
        assert self.tell(redis, "one", 10, 10, 0) == "itemcount"
        begin(join(options), "one")
        assert self.tell(redis, "one", 10, 10, 0) == "itemcount"
        leave(redis, "one")
        begin(join(options), "one")
        assert self.tell(redis, "one again", 0, 0, 0) == ""

    def test_when_a_count_is_told(self, redis: Server, tmp_path: Path) -> None:
        """At once near a limit, and soon far from it; where there is none of counts, nothing is in a hurry."""

        async def is_told_at_once(**limits: int) -> bool:
            async with working(redis, tmp_path / "-".join(limits), limits=CrawlLimits(**limits)) as worker:
                tallies = worker.frontier.exchange.tallies
                await until_async(lambda: 0.0 < tallies.next_look() < inf, "an answer")
                tallies.count("pagecount")
                assert tallies.next_look() <= time.monotonic() + 1
                return tallies.next_look() == 0.0

        assert asyncio.run(is_told_at_once(pagecount=30))
        assert not asyncio.run(is_told_at_once(pagecount=3000))
        assert not asyncio.run(is_told_at_once(timeout=3000))

    @pytest.mark.deep
    def test_workers_end_together(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """When all of them together have counted so much, and not each of them."""
        settings = {"CLOSESPIDER_ITEMCOUNT": 60, "CONCURRENT_REQUESTS": 4, "DOWNLOAD_DELAY": 0.3}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers:
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [["closespider_itemcount"]] * 2
            total = sum(int(number) for worker in workers for number in stat(worker, "item_scraped_count"))
        assert 60 <= total < 120

    @pytest.mark.deep
    def test_time_is_up_for_all(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """It is the run's time, whenever a worker has begun."""
        settings = {"CLOSESPIDER_TIMEOUT": 3600, "SITECRAWL_CLUSTER_WATCH": True, "DOWNLOAD_DELAY": 1}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers, redis.client() as client:
            until(lambda: all(worker.pages() for worker in workers), "both have a page")
            client.hset("sitecrawl:{generic.0}:run", "begun", 0)
            assert [worker.wait() for worker in workers] == [0, 0]
            assert [reasons(worker) for worker in workers] == [["closespider_timeout"]] * 2
