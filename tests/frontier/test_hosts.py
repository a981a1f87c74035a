"""Politeness: when a host may be asked again, to the second."""

from __future__ import annotations

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.silent_hosts import _GIVE_UP_PAUSE, _GIVEN_UP_AT_ONCE


@pytest.fixture
def bench(tmp_path):
    """Makes a frontier with ten URLs of one host, and the politeness asked for, else none."""
    made: list[Bench] = []

    def make(**politeness):
        options = {"delay_factor": 0.0, "failure_delay": 0.0, "max_failures": 0, "max_first_failures": 99}
        made.append(Bench(tmp_path / "db", politeness=PolitenessOptions(**{**options, **politeness})))
        made[0].add(*"0123456789")
        return made[0]

    yield make
    put_away(made[0].database)


def test_a_host_without_delay_is_never_idle(bench):
    """With no pause asked for, the next URL comes out as soon as a download has ended."""
    crawl = bench()
    for name in "0123456789":
        visit = crawl.take(name)
        assert crawl.frontier.next() is None
        crawl.frontier.downloaded(visit, 5.0)
    assert crawl.frontier.next_time() is None


@pytest.mark.parametrize(
    ("politeness", "seconds", "pause"),
    [
        ({"delay": 3.0}, 0.5, 3.0),
        ({"delay_factor": 10.0}, 0.5, 5.0),
        ({"delay_factor": 10.0, "delay": 7.0}, 0.5, 7.0),
        ({"delay_factor": 10.0, "max_delay": 20.0}, 30.0, 20.0),
        ({"delay_factor": 10.0, "max_delay": 20.0, "delay": 25.0}, 30.0, 25.0),
    ],
)
def test_pause_after_a_download(bench, politeness, seconds, pause):
    """The pause is the greater of the delay and the factor times the download's time, which is capped."""
    crawl = bench(**politeness)
    crawl.finish(crawl.take("0"), seconds=seconds)
    assert crawl.frontier.next() is None
    assert crawl.frontier.next_time() == pause
    crawl.now += pause - 0.25
    assert crawl.frontier.next() is None
    crawl.now += 0.25
    crawl.take("1")


def test_crawl_delay_of_robots_txt(bench):
    """A host's Crawl-delay counts from its next request on, and survives a restart."""
    crawl = bench(delay=1.0)
    crawl.frontier.manners.slow_down("a.example", 4.0)
    crawl.finish(crawl.take("0"))
    assert crawl.frontier.next_time() == 4.0
    crawl.restart()
    crawl.finish(crawl.take("1"))
    assert crawl.frontier.next_time() == 4.0


def test_crawl_delay_of_a_host_without_urls(bench):
    """What robots.txt says of a host that is not yet known holds when its first URL is found."""
    crawl = bench()
    crawl.frontier.manners.slow_down("b.example", 4.0)
    crawl.restart()
    crawl.drain()
    crawl.add("x", "y", host="b.example")
    crawl.finish(crawl.take("x"))
    assert crawl.frontier.next_time() == 4.0


def test_retry_after(bench):
    """What a host asks for in Retry-After is a lower bound on the pause, above any cap of ours."""
    crawl = bench(delay=1.0, max_delay=10.0)
    crawl.finish(crawl.take("0"), retry_after=99.0)
    assert crawl.frontier.next_time() == 99.0


def killed_and_resumed(crawl, seconds):
    """Another process, whose clock begins anew, resumes after so many seconds."""
    crawl.commit()
    crawl.wall += seconds
    crawl.now = 5.0
    crawl.crash()


def test_retry_after_survives_a_restart(bench):
    """A crawl that is resumed waits for what is left of the rest that a host has asked for, and knows why."""
    crawl = bench(delay=1.0)
    crawl.finish(crawl.take("0"), retry_after=99.0)
    killed_and_resumed(crawl, 40)
    assert crawl.frontier.next() is None
    assert crawl.frontier.next_time() == 59.0
    (host,) = crawl.frontier.hosts.live()
    assert host.asked_until == 64.0
    killed_and_resumed(crawl, 60)
    crawl.take("1")


def test_retry_after_of_a_host_of_which_nothing_waits(bench):
    """It holds for what is found of the host after the restart."""
    crawl = bench()
    crawl.drain()
    crawl.add("x", host="b.example")
    crawl.finish(crawl.take("x"), retry_after=99.0)
    killed_and_resumed(crawl, 40)
    crawl.add("y", host="b.example")
    assert crawl.frontier.next() is None
    assert crawl.frontier.next_time() == 59.0


def test_a_clock_that_was_a_year_ahead(bench):
    """No host is left alone for the year."""
    crawl = bench(max_rest=50.0)
    crawl.finish(crawl.take("0"), retry_after=99.0)
    killed_and_resumed(crawl, -3e7)
    assert crawl.frontier.next_time() == 50.0


def test_no_rest_is_wanted_any_more(bench):
    """A crawl that is resumed with the limit 0 asks at once."""
    crawl = bench(max_rest=0.0)
    crawl.finish(crawl.take("0"), retry_after=99.0)
    killed_and_resumed(crawl, 1)
    crawl.take("1")


def test_back_off_doubles_up_to_its_cap(bench):
    """Each failure in a row doubles the pause, until the cap; a success starts anew."""
    crawl = bench(failure_delay=1.0, max_delay=6.0)
    pauses = []
    for outcome in (True, True, True, True, False, True):
        crawl.finish(crawl.frontier.next(), failed=outcome)
        pauses.append(crawl.frontier.next_time() or 0.0)
        crawl.now += pauses[-1]
    assert pauses == [1.0, 2.0, 4.0, 6.0, 0.0, 1.0]


def test_failures_at_once_are_one(bench):
    """What was under way when a host failed had been asked for before: it is not given up for that."""
    crawl = bench(max_failures=2, per_host=5, failure_delay=1.0)
    crawl.finish(crawl.take("0"))
    under_way = [crawl.frontier.next() for _ in range(5)]
    for visit in under_way:
        crawl.finish(visit, UrlState.FAILED, failed=True)
    crawl.now += 1
    crawl.finish(crawl.frontier.next())
    assert crawl.frontier.counts.failed == 5
    assert crawl.frontier.figures.waiting == 3
    assert crawl.frontier.next() is not None


def test_several_requests_to_one_host(bench):
    """Up to `per_host` requests are under way on one host, each `delay` after the one before."""
    crawl = bench(per_host=2, delay=2.0)
    first = crawl.take("0")
    assert crawl.frontier.next() is None
    crawl.now += crawl.frontier.next_time()
    crawl.take("1")
    crawl.now += 100
    assert crawl.frontier.next() is None
    assert crawl.frontier.next_time() is None
    crawl.frontier.downloaded(first, 0.0)
    assert crawl.frontier.next_time() == 2.0


def test_a_host_that_never_answered_is_given_up_sooner(bench):
    """A host is dead after `max_failures` in a row, after `max_first_failures` if it never answered at all."""
    crawl = bench(max_failures=3, max_first_failures=2)
    crawl.finish(crawl.take("0"), UrlState.FAILED, failed=True)
    crawl.finish(crawl.take("1"))
    for name in "23":
        crawl.finish(crawl.take(name), UrlState.FAILED, failed=True)
    crawl.take("4")
    crawl.add("x", "y", "z", host="b.example")
    for name in "xy":
        crawl.finish(crawl.take(name), UrlState.FAILED, failed=True)
    assert crawl.frontier.next() is None
    assert crawl.frontier.urls.get(url("z", "b.example").key).state == UrlState.FAILED


def test_what_waits_for_a_host_that_never_answered_fails(bench):
    """After `max_failures` in a row, on disk too; requests that someone waits for come out to be told so."""
    crawl = bench(max_failures=2)
    crawl.ask("volatile", flags=Flag.VOLATILE)
    crawl.ask("stored", request=b"request", flags=Flag.AWAITED)
    crawl.ask("untold", request=b"request")
    for name in "01":
        crawl.finish(crawl.take(name), UrlState.FAILED, failed=True)
    dead = []
    while (visit := crawl.frontier.next()) is not None:
        assert visit.dead
        dead.append(visit.url.rpartition("/")[2])
        crawl.frontier.done(visit, UrlState.FAILED)
    assert sorted(dead) == ["stored", "volatile"]
    assert crawl.frontier.is_finished()
    assert crawl.frontier.counts.failed == 13
    crawl.restart()
    assert crawl.frontier.next() is None
    assert (crawl.frontier.counts.queued, crawl.frontier.counts.failed) == (0, 13)
    assert [list(crawl.database.scan(family)) for family in ("queue", "requests")] == [[], []]


def test_a_dead_host_has_one_more_chance(bench):
    """Whoever wants to know is told what was given up, and may ask again."""
    crawl = bench(max_failures=2, max_first_failures=2)
    given_up = crawl.heard.given
    for name in "01":
        crawl.finish(crawl.take(name), UrlState.FAILED, failed=True)
    assert crawl.frontier.next() is None
    assert set(given_up) == {url(name).key for name in "23456789"}
    assert crawl.frontier.again(given_up[0])
    crawl.now += 100
    assert crawl.frontier.next().key == given_up[0]


def test_what_is_under_way_when_a_host_is_given_up(bench):
    """It fails like what waits, if the host has never answered, and does not wait for another chance."""
    crawl = bench(max_failures=2, max_first_failures=2, per_host=3)
    first, *others = [crawl.frontier.next() for _ in range(3)]
    for visit in (first, *others):
        crawl.frontier.downloaded(visit, 0.0, failed=True)
        crawl.frontier.retry(visit, priority=-1, request=None)
        assert visit is first or crawl.frontier.next() is None
    assert crawl.frontier.is_finished()
    assert (crawl.frontier.figures.waiting, crawl.frontier.counts.failed) == (0, 10)


def test_what_waits_for_a_host_that_has_answered_stays(bench):
    """The crawl ends without it, says so, and its next run asks again; who waits for a request is told at once."""
    crawl = bench(max_failures=2)
    crawl.ask("awaited", request=b"request", flags=Flag.AWAITED)
    crawl.finish(crawl.take("0"))
    for name in "12":
        visit = crawl.take(name)
        crawl.frontier.downloaded(visit, 0.0, failed=True)
        assert crawl.frontier.manners.is_out(visit) == (name == "2")
        crawl.frontier.retry(visit, priority=-1, request=None)
    visit = crawl.take("awaited")
    assert visit.dead
    crawl.frontier.done(visit, UrlState.FAILED)
    assert crawl.frontier.next() is None
    assert crawl.frontier.is_finished()
    assert crawl.frontier.figures.silent == crawl.frontier.figures.waiting == 9
    crawl.restart()
    assert sorted(crawl.drain()) == list("123456789")


def test_a_host_that_comes_back(bench):
    """While the crawl runs, a host that ceased to answer is asked again now and then, and all of it comes in."""
    crawl = bench(max_failures=2, revival=100.0)
    crawl.add("alive", host="b.example", depth=1)
    crawl.finish(crawl.take("0"))
    for name in "12":
        visit = crawl.take(name)
        crawl.frontier.downloaded(visit, 0.0, failed=True)
        crawl.frontier.retry(visit, priority=-1, request=None)
    busy = crawl.take("alive")
    assert crawl.frontier.next() is None
    for committed in (False, True):  # it still does not answer, and is asked once
        crawl.now += 99
        assert crawl.frontier.next() is None
        crawl.now += 1
        visit = crawl.frontier.next()
        assert visit is not None
        crawl.frontier.downloaded(visit, 0.0, failed=True)
        crawl.frontier.retry(visit, priority=-1, request=None)
        assert crawl.frontier.next() is None
        if committed:
            crawl.commit()
    crawl.now += 100
    names = []
    for _ in range(9):
        visit = crawl.frontier.next()
        assert visit is not None
        names.append(visit.url[-1])
        crawl.finish(visit)
    assert sorted(names) == list("123456789")
    crawl.finish(busy)
    assert crawl.frontier.is_finished()
    assert crawl.frontier.figures.waiting == 0


def test_a_dead_host_does_not_hold_up_the_others(bench):
    """A dead host's URLs fail in lots, so that the others wait for no more than one lot."""
    crawl = bench(max_failures=1)
    crawl.add(*(f"more{n}" for n in range(_GIVEN_UP_AT_ONCE)))
    crawl.add("alive", host="b.example", depth=1)
    crawl.finish(crawl.take("0"), UrlState.FAILED, failed=True)
    crawl.finish(crawl.take("alive"))
    assert crawl.frontier.figures.waiting == 9
    assert crawl.frontier.next_time() == pytest.approx(_GIVE_UP_PAUSE)
    assert crawl.drain() == []
    assert crawl.frontier.figures.waiting == 0


def test_next_time_is_that_of_the_first_host_with_work(bench):
    """Hosts that rest and have nothing left to do wake nobody."""
    crawl = bench(delay=8.0)
    crawl.add("only", host="b.example")
    crawl.finish(crawl.take("0"))
    crawl.now += 1
    crawl.finish(crawl.take("only"))
    assert crawl.frontier.next_time() == 7.0
    crawl.drain()
    assert crawl.frontier.next_time() is None
