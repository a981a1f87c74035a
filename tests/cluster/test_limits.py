"""Limits of a crawl by many workers: `max_pages` and `max_depth` are exact over all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bare_workers import Worker as BareWorker
from bare_workers import link, working
from fleet import Worker, stored, web_of
from redis_servers import Server
from syntheticweb import Web
from waiting import until_async

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.cluster.join import begin, join
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.steps import Keys
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

    def begin(self, redis: Server, session: str, lease_seconds: float = 30, max_pages: int = 0) -> Run:
        where = {"url": redis.url}
        options = ClusterOptions(where, "test", shards=2, lease_seconds=lease_seconds, max_pages=max_pages)
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
            waiting = asyncio.to_thread(self.begin, redis, "two", max_pages=6)
            beside = asyncio.create_task(waiting)
            while not beside.done():
                self.begin(redis, "one", max_pages=5)
                await asyncio.sleep(0.05)
            await beside

        with pytest.raises(OptionError, match="SITECRAWL_MAX_PAGES=5, not SITECRAWL_MAX_PAGES=6:"):
            asyncio.run(run())


class TestWorkers:
    """Frontiers on a real Redis, without Scrapy."""

    def test_the_last_of_the_limit_dies_with_a_worker(self, redis: Server, tmp_path: Path) -> None:
        """Another gets it when the dead one's leases are over, and the crawl ends at the limit."""
        limited: dict[str, Any] = {"shards": 3, "max_pages": 3, "lease_seconds": 1}

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
            async with working(redis, tmp_path, shards=4, max_pages=5) as worker:
                worker.seed(*(f"http://h{n}.example/" for n in range(12)))
                for number in range(9):
                    (visit,) = await worker.visits(1)
                    worker.frontier.done(visit, UrlState.FAILED if number % 2 else UrlState.FETCHED)
                await until_async(worker.has_finished, "the end of the crawl")
                counts = worker.frontier.figures
                assert (counts.fetched, counts.failed, counts.queued) == (5, 4, 3)
                assert worker.look() is None

        asyncio.run(run())

    def test_what_a_limit_costs(self, redis: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """No command, once all have turned to it, until somebody is short."""

        async def commands(max_pages: int) -> int:
            with redis.client() as client:
                client.flushall()
            worker = BareWorker(redis, tmp_path / str(max_pages), shards=4, max_pages=max_pages)
            exchange = worker.frontier.exchange
            worker.seed("http://h0.example/", "http://h1.example/")
            while worker.look() is None:  # it is in flight from then on
                await exchange.round()
            monkeypatch.setattr(exchange, "_clock", exchange._clock().__float__)
            for _ in range(3):
                await exchange.round()
                worker.look()
            before = exchange.commands
            for _ in range(5):
                await exchange.round()
                worker.look()
            sent = exchange.commands - before
            await worker.abandon()
            return sent

        assert asyncio.run(commands(100)) == asyncio.run(commands(0))

    def test_a_worker_that_slept_over_a_new_limit_ends(self, redis: Server, tmp_path: Path) -> None:
        """If it is that of another run: it says with which limits to start it again."""

        async def run() -> None:
            async with working(redis, tmp_path, max_pages=5) as worker:
                with redis.client() as client:
                    client.hincrby(BASE + "run", "account", 1)
                    client.hset(BASE + "run", "limits", "SITECRAWL_MAX_PAGES=9")
                worker.frontier.exchange.kick()
                await until_async(lambda: worker.heard.errors, "an error")
                assert "anew with SITECRAWL_MAX_PAGES=9 while" in str(worker.heard.errors[0])

        asyncio.run(run())


class TestStrangeRedis:
    """Each ends in one line of ours."""

    def error(self, redis: Server, tmp_path: Path, spoil: Callable[[Any, BareWorker], object]) -> str:
        """What a worker says that had a partition when that was done."""

        async def run() -> str:
            async with working(redis, tmp_path, shards=1) as worker:
                held = worker.frontier.holdings.held
                await until_async(lambda: worker.has_finished() or (held and not held[0].unsent), "its partition")
                with redis.client() as client:
                    spoil(client, worker)
                worker.seed("http://a.example/")
                await until_async(lambda: worker.heard.errors, "an error")
                return str(worker.heard.errors[0])

        return asyncio.run(run())

    def test_it_was_emptied(self, redis: Server, tmp_path: Path) -> None:
        """It is no end of the crawl."""
        assert "does not have this crawl any more" in self.error(redis, tmp_path, lambda client, _: client.flushall())

    def test_a_worker_with_a_copy_of_the_directory(self, redis: Server, tmp_path: Path) -> None:
        """It has the same name, so Redis lends each what the other has."""

        def lend(client: Any, worker: BareWorker) -> None:
            client.set(f"{BASE}lease", f"9{worker.frontier.holdings.held[0].token}:{worker.frontier.session}")

        assert f"with a copy of {tmp_path}:" in self.error(redis, tmp_path, lend)

    @pytest.mark.parametrize("name", ["run", "workers", "crawl"])
    def test_a_key_of_another_type(self, redis: Server, name: str) -> None:
        with redis.client() as client:
            client.set(BASE + name, "x")
        with pytest.raises(StorageError, match="`scrapy check-crawl"):
            begin(join(ClusterOptions({"url": redis.url}, "test", shards=1)), "one")


def begin_again(redis: Server, folder: Path, seeds: str, **settings: Any) -> Worker:
    worker = Worker(folder, seeds, redis.url, **settings)
    assert worker.wait() == 0, worker.complaints
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
            assert asked["cmdstat_hsetnx"]["calls"] == 1 + 7
            assert asked["cmdstat_hgetall"]["calls"] == 4 + 1
