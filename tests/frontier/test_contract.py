"""What `sitecrawl.frontier.contract` promises, over every frontier there is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from frontiers import PART, PATIENT, WORKERS, Crawl, Setting, crawling, found, name_of, unfiltered_key
from redis_servers import Server, server
from waiting import PATIENCE

from sitecrawl.frontier.contract import Capability
from sitecrawl.frontier.urls.record import Flag, UrlState

KINDS = ("memory", "disk", "shared")
HOSTS = ("a.example", "b.example", "c.example")

Run = Callable[..., None]


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs a story on a crawl of each frontier: `run(story, order=..., politeness=...)`."""
    redis = None
    if request.param in WORKERS:
        redis = request.getfixturevalue("redis_server")
        with redis.client() as client:
            client.flushall()

    def tell(story: Callable[[Crawl], Awaitable[None]], **how: Any) -> None:
        async def whole() -> None:
            async with crawling(request.param, Setting(tmp_path, redis=redis, **how)) as crawl:
                await asyncio.wait_for(story(crawl), PATIENCE)

        asyncio.run(whole())

    return tell


# What goes in comes out, once


def test_all_that_is_added_comes_out_once(run: Run) -> None:
    """However often it was added, in however many calls, on however many hosts."""

    async def story(crawl: Crawl) -> None:
        urls = [found(f"p{n}", HOSTS[n % 3]) for n in range(30)]
        crawl.frontier.add(urls[:20], depth=0)
        crawl.frontier.add(urls[10:], depth=0)
        crawl.frontier.add([urls[0], urls[0]], depth=0)
        assert sorted(await crawl.drain()) == sorted(f"p{n}" for n in range(30))
        await crawl.settled(fetched=30, queued=0, known=30)

    run(story)


def test_links_come_out_after_their_page(run: Run) -> None:
    """Each once, one link deeper than the page, with it as referrer; a page's links to itself lead nowhere."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home")], depth=0)
        (home,) = await crawl.take("home")
        assert (home.depth, home.referrer) == (0, bytes(16))
        crawl.finish(home, found("x"), found("y", "b.example"), found("x"), found("home"))
        for visit in await crawl.take("x", "y"):
            assert (visit.depth, visit.referrer) == (1, home.key)
            crawl.finish(visit, found("home"), found("x"))
        assert await crawl.next() is None

    run(story)


# What pages are made of


@pytest.mark.parametrize("order", ["aopic", "bfs", "dfs", "best"])
def test_requisites_come_before_all_pages(run: Run, order: str) -> None:
    """At their page's depth, with it as referrer, each once, on whatever host, and whatever spiders want."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home")], depth=0)
        (home,) = await crawl.take("home")
        crawl.frontier.expand(home, [found("other"), found("x"), found("wanted", priority=1000)])
        parts = [found("i"), found("j", "b.example"), found("i"), found("home")]
        crawl.frontier.add(parts, depth=home.depth, referrer=home.key, asked=PART)
        crawl.finish(home)
        crawl.checkpoint()
        for visit in await crawl.take("i", "j"):
            assert (visit.depth, visit.referrer, visit.is_requisite) == (0, home.key, True)
            crawl.finish(visit)
        assert sorted(await crawl.drain()) == ["other", "wanted", "x"]
        await crawl.settled(fetched=4, requisites=2, queued=0, known=6)

    run(story, order=order)


def test_requisites_survive_a_crash(run: Run) -> None:
    """As what they are, with what they are beside a GET."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home")], depth=0)
        (home,) = await crawl.take("home")
        crawl.frontier.add([found("i")], depth=home.depth, referrer=home.key, asked=PART._replace(request=b"more"))
        crawl.finish(home)
        crawl.checkpoint()
        await crawl.crash()
        (visit,) = await crawl.take("i")
        assert (visit.is_requisite, visit.request) == (True, b"more")
        crawl.finish(visit)
        await crawl.settled(fetched=1, requisites=1, queued=0)

    run(story)


def test_a_page_that_is_a_requisite_too_is_a_page(run: Run) -> None:
    """It comes once, in its turn."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home")], depth=0)
        (home,) = await crawl.take("home")
        crawl.frontier.expand(home, [found("frame")])
        assert crawl.frontier.add([found("frame")], depth=home.depth, referrer=home.key, asked=PART) == 0
        crawl.finish(home)
        (visit,) = await crawl.take("frame")
        assert (visit.is_requisite, visit.depth) == (False, 1)
        crawl.finish(visit)
        await crawl.settled(fetched=2, requisites=0, queued=0)

    run(story)


def test_a_requisite_that_waits_and_is_linked_to_is_a_page(run: Run) -> None:
    """One link deeper than the page that links to it, and no request of its own."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home"), found("busy")], depth=0)
        home, busy = [visit for _ in range(2) if (visit := await _after(crawl)) is not None]
        crawl.frontier.add([found("i")], depth=home.depth, referrer=home.key, asked=PART._replace(request=b"more"))
        crawl.frontier.expand(busy, [found("i")])
        assert await crawl.drain() == ["i"]
        await crawl.settled(fetched=3, requisites=0, queued=0, known=3)

    async def _after(crawl: Crawl) -> Any:
        visit = await crawl.next()
        assert visit is not None
        crawl.finish(visit)
        return visit

    run(story)


@pytest.mark.parametrize("when", ["in flight", "done"])
def test_a_requisite_that_was_fetched_and_is_linked_to_is_told(run: Run, when: str) -> None:
    """So that what it says can be looked at; asked for again, it is a page."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home"), found("late", "b.example")], depth=0)
        home, late = sorted(await crawl.take("home", "late"), key=name_of)
        crawl.frontier.add([found("i")], depth=home.depth, referrer=home.key, asked=PART)
        crawl.finish(home)
        (visit,) = await crawl.take("i")
        if when == "in flight":
            crawl.frontier.expand(late, [found("i")])
            crawl.finish(visit)
        else:
            crawl.finish(visit)
            crawl.frontier.expand(late, [found("i")])
        crawl.finish(late)
        assert crawl.heard.linked == [visit.key]
        assert crawl.frontier.again(visit.key)
        assert await crawl.drain() == ["i"]
        await crawl.settled(fetched=3, requisites=0, queued=0, known=3)

    run(story)


def test_a_requisite_that_is_put_back_is_one_still(run: Run) -> None:
    """By a retry, or because nothing could be asked."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("home")], depth=0)
        (home,) = await crawl.take("home")
        crawl.frontier.expand(home, [found("page")])
        crawl.frontier.add([found("i")], depth=home.depth, referrer=home.key, asked=PART)
        crawl.finish(home)
        (visit,) = await crawl.take("i")
        crawl.frontier.downloaded(visit, 0.0)
        crawl.frontier.retry(visit, priority=visit.priority - 1, request=None)
        (visit,) = await crawl.take("i")
        crawl.frontier.put_back(visit)
        (visit,) = await crawl.take("i")
        assert visit.is_requisite
        crawl.finish(visit, state=UrlState.FAILED)
        assert await crawl.drain() == ["page"]
        await crawl.settled(fetched=2, requisites=0, failed=1, queued=0)

    run(story)


def test_a_graph_is_fetched_as_far_as_it_can_be_reached(run: Run) -> None:
    """Made graphs, whose reachable part is known; nothing else comes, and nothing twice."""

    async def story(crawl: Crawl) -> None:
        random = Random(3)
        pages = [found(f"n{n}", random.choice(HOSTS)) for n in range(60)]
        links = {f"n{n}": random.sample(pages, 2) for n in range(60)}
        reached, left = {"n0"}, ["n0"]
        while left:
            new = {one.url.rpartition("/")[2] for one in links[left.pop()]} - reached
            reached |= new
            left += new
        crawl.frontier.add(pages[:1], depth=0)
        came = await crawl.drain(links)
        assert sorted(came) == sorted(reached)

    run(story)


def test_new_is_told_where_it_can_be(run: Run) -> None:
    """A frontier that knows the records says how many of what it is given are new."""

    async def story(crawl: Crawl) -> None:
        if Capability.RECORDS not in crawl.frontier.can:
            return
        assert crawl.frontier.add([found("p"), found("q")], depth=0) == 2
        assert crawl.frontier.add([found("q"), found("r")], depth=0) == 1
        assert not crawl.ask("q")
        (visit,) = await crawl.take("p")
        assert crawl.frontier.expand(visit, [found("q"), found("s")]) == 1
        record = crawl.frontier.urls.get(found("s").key)
        assert record is not None
        assert (record.url, record.depth, record.state) == (found("s").url, 1, UrlState.QUEUED)

    run(story)


def test_what_is_filtered_comes_once_and_what_is_not_always(run: Run) -> None:
    """A request without filter has a key of its own, and is no part of the seen set."""

    async def story(crawl: Crawl) -> None:
        for _ in range(2):
            crawl.ask("form")
        for _ in range(2):
            crawl.ask("form", key=unfiltered_key(), flags=Flag.UNFILTERED)
        assert await crawl.drain() == ["form"] * 3
        await crawl.settled(fetched=3, known=3)

    run(story)


def test_what_a_request_is_comes_back(run: Run) -> None:
    """Its bytes, its priority, its depth; and the new ones after a retry, with one more attempt."""

    async def story(crawl: Crawl) -> None:
        crawl.ask("form", request=b"POST", priority=7, depth=4)
        (visit,) = await crawl.take("form")
        assert (visit.request, visit.depth, visit.attempts, visit.volatile) == (b"POST", 4, 0, False)
        crawl.frontier.downloaded(visit, 0.0)
        crawl.frontier.retry(visit, priority=3, request=b"PUT")
        (again,) = await crawl.take("form")
        assert (again.key, again.request, again.depth, again.attempts) == (visit.key, b"PUT", 4, 1)
        crawl.finish(again)
        assert await crawl.next() is None

    run(story)


def test_what_was_not_asked_for_waits_where_it_did(run: Run) -> None:
    """With what it asks for, before what comes after it, and with no attempt counted; also after a crash."""

    async def story(crawl: Crawl) -> None:
        crawl.ask("first", request=b"POST")
        crawl.frontier.add([found("second")], depth=1)
        (visit,) = await crawl.take("first")
        crawl.frontier.put_back(visit)
        crawl.peers.pause()
        crawl.checkpoint()
        (again,) = await crawl.take("first")
        assert (again.request, again.attempts, again.depth) == (b"POST", 0, 1)
        crawl.frontier.put_back(again)
        await crawl.crash()
        (again,) = await crawl.take("first")
        assert (again.request, again.attempts) == (b"POST", 0)
        crawl.finish(again)
        assert await crawl.drain() == ["second"]
        await crawl.settled(fetched=2, queued=0, known=2)

    run(story)


def test_a_host_rests_whose_page_was_put_back(run: Run) -> None:
    """For as long as it is said; what waits elsewhere does not wait for it."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("a")], depth=0)
        (visit,) = await crawl.take("a")
        crawl.frontier.put_back(visit, rest=100.0)
        crawl.frontier.add([found("b", "b.example")], depth=0)
        (other,) = await crawl.take("b")
        crawl.finish(other)
        assert await crawl.nothing_comes()

    run(story)


def test_no_failure_is_counted_of_a_host_that_was_not_asked(run: Run) -> None:
    """However often its URL is put back, the host is not given up."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("a")], depth=0)
        for _ in range(5):
            (visit,) = await crawl.take("a")
            crawl.frontier.put_back(visit)
        (visit,) = await crawl.take("a")
        crawl.finish(visit)
        await crawl.settled(fetched=1, failed=0, queued=0)

    run(story, politeness=replace(PATIENT, max_failures=2))


def test_again(run: Run) -> None:
    """What has come to its end comes once more where that can be asked for; what waits, or is not known, does not."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("p")], depth=0)
        assert not crawl.frontier.again(found("p").key)
        assert await crawl.drain() == ["p"]
        can = Capability.AGAIN in crawl.frontier.can
        assert crawl.frontier.again(found("p").key) == can
        assert not crawl.frontier.again(found("p").key)
        assert not crawl.frontier.again(found("other").key)
        visit = await crawl.next()
        assert (visit is not None) == can
        if visit is not None:
            crawl.frontier.downloaded(visit, 0.0)
            crawl.frontier.retry(visit, priority=0, request=None)
            (visit,) = await crawl.take("p")
            assert visit.attempts == 1
            crawl.finish(visit)
            crawl.frontier.again(visit.key, request=b"If-None-Match")
            (visit,) = await crawl.take("p")
            assert (visit.request, visit.attempts) == (b"If-None-Match", 0), "what failed before is another matter"
            crawl.finish(visit)
        assert await crawl.next() is None

    run(story)


# In order, when the host may be asked


@pytest.mark.parametrize(
    ("order", "names"),
    [("bfs", "abcdef"), ("dfs", "fedcba"), ("best", "fcebda"), ("aopic", "abcdef"), ("aopic-published", "")],
)
def test_one_hosts_urls_come_in_the_order(run: Run, order: str, names: str) -> None:
    """First come first served; the last first; by score; and by credit, where equal credit is served as it came, or
    at random.
    """

    async def story(crawl: Crawl) -> None:
        scores = {"f": 6.0, "c": 5.5, "e": 5.0, "b": 2.0, "d": 1.0, "a": -1.0}
        crawl.frontier.add([found(name, score=scores[name]) for name in "abcdef"], depth=0)
        drained = await crawl.drain()
        assert drained == list(names) if names else sorted(drained) == list("abcdef")

    run(story, order=order)


def test_priority_goes_before_order(run: Run) -> None:
    """The greatest first, links with priority 0 among them, and last what is wanted last."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("seed")], depth=0)
        (seed,) = await crawl.take("seed")
        for name, priority in (("last", -5), ("first", 9), ("second", 1)):
            crawl.ask(name, priority=priority, referrer=seed.key)
        crawl.finish(seed, found("link"))
        assert await crawl.drain() == ["first", "second", "link", "last"]

    run(story)


def test_one_request_a_host(run: Run) -> None:
    """While one is under way the host is left alone, and others are not."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("a1"), found("a2"), found("b1", "b.example")], depth=0)
        first, second = await crawl.take("a1", "b1")
        assert await crawl.nothing_comes()
        crawl.frontier.downloaded(first if name_of(first) == "a1" else second, 0.0)
        (third,) = await crawl.take("a2")
        for visit in (first, second, third):
            crawl.finish(visit)
        assert await crawl.next() is None

    run(story)


def test_a_host_rests(run: Run) -> None:
    """After a download: the pause of the politeness, or the longer one that its robots.txt or it itself asks for."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}") for n in range(4)], depth=0)
        (visit,) = await crawl.take("p0")
        for n, (slow_down, retry_after, pause) in enumerate(((0.0, 0.0, 0.1), (0.2, 0.0, 0.2), (0.0, 0.3, 0.3)), 1):
            crawl.frontier.manners.slow_down("a.example", slow_down)
            before = crawl.clock()
            crawl.frontier.downloaded(visit, 0.0, retry_after=retry_after)
            crawl.frontier.done(visit, UrlState.FETCHED, status=200)
            (visit,) = await crawl.take(f"p{n}")
            assert crawl.clock() >= before + pause - 0.001

    run(story, politeness=replace(PATIENT, delay=0.1))


def test_a_host_that_never_answers_is_given_up(run: Run) -> None:
    """Its URLs fail, and whoever listens is told of each; what someone waits for is handed out, to fail at once."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}", "dead.example") for n in range(6)], depth=0)
        crawl.ask("awaited", host="dead.example", flags=Flag.AWAITED, depth=0)
        crawl.frontier.add([found("live")], depth=0)
        names: list[str] = []
        dead: list[str] = []
        while (visit := await crawl.next()) is not None:
            (dead if visit.dead else names).append(name_of(visit))
            on_dead = visit.url.startswith("http://dead.example")
            if not visit.dead:
                crawl.frontier.downloaded(visit, 0.0, failed=on_dead)
            crawl.frontier.done(visit, UrlState.FAILED if on_dead else UrlState.FETCHED)
        assert dead == ["awaited"]
        assert sorted(names) == ["live", "p0", "p1", "p2"]
        assert sorted(crawl.heard.given) == sorted(found(f"p{n}", "dead.example").key for n in (3, 4, 5))
        await crawl.settled(failed=7, fetched=1, queued=0)

    run(story, politeness=replace(PATIENT, max_failures=10))


def test_a_host_that_answered_before_is_out(run: Run) -> None:
    """When it fails for one URL after the other; one URL that fails is that URL's affair."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}") for n in range(4)], depth=0)
        (visit,) = await crawl.take("p0")
        crawl.finish(visit)
        outs = []
        for n in (1, 2, 3):
            (visit,) = await crawl.take(f"p{n}")
            crawl.frontier.downloaded(visit, 0.0, failed=True)
            outs.append(crawl.frontier.manners.is_out(visit))
            crawl.frontier.done(visit, UrlState.FAILED)
        assert outs == [False, True, True]

    run(story)


def test_what_came_may_be_looked_at_later(run: Run) -> None:
    """The host is free at once; whether it failed counts from when that is known, as does the time it asks for."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}") for n in range(4)], depth=0)
        (visit,) = await crawl.take("p0")
        crawl.finish(visit)
        outs = []
        for n, failed in ((1, True), (2, True), (3, False)):
            (visit,) = await crawl.take(f"p{n}")
            crawl.frontier.downloaded(visit, 0.0, failed=None)
            (before,) = {host.failures for host in crawl.frontier.hosts.live()}
            now = crawl.clock()
            crawl.frontier.manners.answered(visit, failed=failed, retry_after=0.2)
            (after,) = {host.failures for host in crawl.frontier.hosts.live()}
            assert after == (before + 1 if failed else 0)
            assert max(host.free_at for host in crawl.frontier.hosts.live()) >= now + 0.2
            outs.append(crawl.frontier.manners.is_out(visit))
            crawl.frontier.done(visit, UrlState.FAILED)
        assert outs == [False, True, False]

    run(story)


def test_the_end(run: Run) -> None:
    """It has come when nothing waits and nothing is in flight, and not before the last page's links are known."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("p")], depth=0)
        assert not crawl.frontier.is_finished()
        (visit,) = await crawl.take("p")
        assert crawl.frontier.figures.in_flight == 1
        crawl.frontier.expand(visit, [found("q")])
        assert not crawl.frontier.is_finished()
        crawl.finish(visit)
        assert await crawl.drain() == ["q"]
        assert crawl.frontier.is_finished()
        assert not crawl.frontier.figures.in_flight

    run(story)


def test_counts(run: Run) -> None:
    """Every URL is in one state, and those in flight are among the queued."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}") for n in range(5)], depth=0)
        await crawl.settled(known=5, queued=5, fetched=0)
        for state in (UrlState.FETCHED, UrlState.FAILED, UrlState.EXCLUDED):
            visit = await crawl.next()
            assert visit is not None
            crawl.finish(visit, state=state)
        await crawl.settled(known=5, queued=2, fetched=1, failed=1, excluded=1)
        assert (crawl.frontier.figures.held_back, crawl.frontier.figures.silent) == (0, 0)

    run(story)


# Nothing is lost before `flushed`


def test_a_crash_forgets_what_no_checkpoint_has(run: Run) -> None:
    """What was done by the last checkpoint stays done; what was in flight, or done later, comes again."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found(f"p{n}", HOSTS[n]) for n in range(3)], depth=0)
        crawl.ask("form", request=b"POST", host="d.example", depth=0)
        first, second, third, form = await crawl.take("p0", "p1", "p2", "form")
        visits = {name_of(visit): visit for visit in (first, second, third, form)}
        crawl.finish(visits["p0"], found("child"))
        await crawl.settled(fetched=1, known=5)
        crawl.finish(visits["p1"], found("lost-and-found-again"))
        await crawl.crash()
        came = {}
        while (visit := await crawl.next()) is not None:
            came[name_of(visit)] = visit.request
            crawl.finish(visit, *([found("lost-and-found-again")] if name_of(visit) == "p1" else []))
        assert came == {"child": None, "p1": None, "p2": None, "form": b"POST", "lost-and-found-again": None}
        await crawl.settled(fetched=6, queued=0, known=6)

    run(story)


def test_a_rest_that_was_asked_for_survives_a_crash(run: Run) -> None:
    """Others are asked at once."""

    async def story(crawl: Crawl) -> None:
        hosts = ("a.example", "a.example", "b.example", "b.example")
        crawl.frontier.add([found(f"p{n}", host) for n, host in enumerate(hosts)], depth=0)
        first, second = await crawl.take("p0", "p2")
        for visit, retry_after in ((first, 600.0), (second, 0.0)):
            crawl.frontier.downloaded(visit, 0.0, retry_after=retry_after)
            crawl.frontier.done(visit, UrlState.FETCHED, status=200)
        await crawl.settled(fetched=2, queued=2)
        await crawl.crash()
        (third,) = await crawl.take("p3")
        crawl.finish(third)
        assert await crawl.nothing_comes()

    run(story)


def test_volatile_requests_die_with_the_process(run: Run) -> None:
    """They come out like any other, also after a retry, and a crash forgets them."""

    async def story(crawl: Crawl) -> None:
        crawl.frontier.add([found("stored", "b.example")], depth=0)
        for name, host in (("v1", "a.example"), ("v2", "c.example")):
            crawl.ask(name, host=host, flags=Flag.VOLATILE)
        visits = {name_of(visit): visit for visit in await crawl.take("v1", "v2", "stored")}
        assert [visits[name].volatile for name in ("v1", "v2", "stored")] == [True, True, False]
        crawl.frontier.downloaded(visits["v1"], 0.0)
        crawl.frontier.retry(visits["v1"], priority=0, request=None, volatile=True)
        (again,) = await crawl.take("v1")
        assert again.attempts == 1
        crawl.checkpoint()
        await crawl.crash()
        assert await crawl.drain() == ["stored"]

    run(story)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (2, 3))])
def test_whatever_happens_each_url_is_done_once(run: Run, seed: int) -> None:
    """Random graphs, retries, failures, checkpoints and crashes: in the end the durable outcomes are those of a crawl
    to which nothing happened, each once.
    """

    async def story(crawl: Crawl) -> None:
        random = Random(seed)
        pages = [found(f"n{n}", random.choice(HOSTS)) for n in range(40)]
        links = {one.key: [pages[0], *random.sample(pages, 3)] for one in pages}
        reached, left = {pages[0].key}, [pages[0].key]
        while left:
            new = {one.key for one in links[left.pop()]} - reached
            reached |= new
            left += new
        done: set[bytes] = set()
        fresh: set[bytes] = set()

        def durable() -> None:
            done.update(fresh)
            fresh.clear()

        crawl.on_checkpoint = durable
        crawl.frontier.add(pages[:1], depth=0)
        crawl.checkpoint()
        crashes = 3
        while (visit := await crawl.next()) is not None:
            assert visit.key not in done | fresh
            if random.random() < 0.15 and visit.attempts < 3:
                crawl.frontier.downloaded(visit, 0.0, failed=True)
                crawl.frontier.retry(visit, priority=0, request=None)
            else:
                crawl.finish(visit, *links[visit.key])
                fresh.add(visit.key)
            if random.random() < 0.2:
                crawl.checkpoint()
            if random.random() < 0.06 and crashes:
                crashes -= 1
                fresh.clear()
                await crawl.crash()
        crawl.checkpoint()
        assert done == reached
        await crawl.settled(fetched=len(reached), queued=0, known=len(reached))

    run(story)
