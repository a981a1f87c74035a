"""Hosts that cease to answer, and answer again: whatever happens in between, each of their URLs comes out once."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import patch

from database_files import put_away
from frontier_helpers import Bench, all_credit, check_sections, digest, url
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link

HOSTS = ["a.example", "b.example"]
NAMES = [f"{section}/{n}" for section in ("one", "two") for n in range(6)]


class SilenceMachine(RuleBasedStateMachine):
    """Downloads succeed or fail in any order; failed ones are put back, as for hosts that are down."""

    @initialize(
        order=st.sampled_from(["aopic", "bfs", "dfs", "best"]),
        head=st.integers(1, 3),
        max_depth=st.sampled_from([0, 3]),
    )
    def open(self, order, head, max_depth):
        self.patch = patch("sitecrawl.frontier.urls.tables.DiskQueue", partial(DiskQueue, head=head))
        self.patch.start()
        self.path = Path(tempfile.mkdtemp())
        politeness = PolitenessOptions(
            delay_factor=0, per_host=2, failure_delay=0.5, max_failures=2, max_first_failures=99, revival=3.0
        )
        self.bench = Bench(self.path / "db", order, politeness, FrontierOptions(max_depth=max_depth))
        self.known: set[str] = set()
        self.done: set[str] = set()
        self.visits: list[Visit] = []
        for host in HOSTS:
            self.add(host, ["home"], 1)
        for _ in HOSTS:
            self.next()
        while self.visits:
            self.succeed(0)
        self.commit()

    @rule(host=st.sampled_from(HOSTS), names=st.lists(st.sampled_from(NAMES), max_size=8), depth=st.integers(1, 3))
    def add(self, host, names, depth):
        self.bench.add(*names, host=host, depth=depth)
        self.known |= {f"http://{host}/{name}" for name in names}

    @rule()
    def next(self):
        visit = self.bench.frontier.next()
        if visit is not None:
            assert visit.url in self.known - self.done
            assert visit.url not in {other.url for other in self.visits}
            assert not visit.dead
            self.visits.append(visit)

    @precondition(lambda self: self.visits)
    @rule(number=st.integers(0, 3))
    def succeed(self, number):
        visit = self.visits.pop(number % len(self.visits))
        self.bench.finish(visit)
        self.done.add(visit.url)

    @precondition(lambda self: self.visits)
    @rule(number=st.integers(0, 3))
    def fail(self, number):
        visit = self.visits.pop(number % len(self.visits))
        self.bench.frontier.downloaded(visit, 0.1, failed=True)
        self.bench.frontier.retry(visit, priority=-1, request=None)

    @rule(seconds=st.sampled_from([0.5, 3.0]))
    def wait(self, seconds):
        self.bench.now += seconds

    @rule()
    def commit(self):
        self.bench.commit()
        self.kept = set(self.known), set(self.done)
        assert all_credit(self.bench.frontier) == self.bench.frontier.link_credit.ledger.total
        check_sections(self.bench.frontier)

    @rule()
    def crash(self):
        self.bench.crash()
        self.known, self.done = (set(urls) for urls in self.kept)
        self.visits.clear()

    @invariant()
    def counts_are_right(self):
        if hasattr(self, "kept"):
            frontier = self.bench.frontier
            assert frontier.counts.queued == len(self.known - self.done)
            assert frontier.counts.failed == 0
            assert frontier.figures.silent <= frontier.counts.queued

    @invariant()
    def no_level_waits_for_the_silent(self):
        frontier = self.bench.frontier if hasattr(self, "bench") else None
        if frontier is not None and frontier.keeps_levels:
            silent = [host for host in frontier.hosts.live() if host.key in frontier.dispatcher.silent_hosts]
            put_off = [host.put_off for host in frontier.hosts.live() if host.put_off is not None]
            assert [levels.total() for levels in put_off] == [host.queued for host in silent]
            assert +frontier.counts._put_off == +sum(put_off, Counter())

    def teardown(self):
        if not hasattr(self, "bench"):
            return
        try:
            self.fetch_all()
        finally:
            put_away(self.bench.database)
            self.patch.stop()
            shutil.rmtree(self.path)

    def fetch_all(self):
        """All hosts answer now: this run ends, and with the next one nothing is left."""
        frontier = self.bench.frontier
        while self.visits or not frontier.is_finished():
            before = len(self.visits)
            self.next()
            if len(self.visits) > before:
                continue
            if self.visits:
                self.succeed(0)
            else:
                rest = frontier.next_time()
                assert rest is not None or frontier.is_finished(), "stuck: URLs wait and no host rests"
                self.bench.now += rest or 0.0
        assert frontier.figures.waiting == frontier.figures.silent == len(self.known - self.done)
        self.bench.restart()
        self.bench.drain()
        records = [self.bench.frontier.urls.get(key) for key in self.keys()]
        assert {
            record.url for record in records if record is not None and record.state == UrlState.FETCHED
        } == self.known

    def keys(self):
        return [key for key, _ in self.bench.database.scan("urls")]


TestSilenceMachine = SilenceMachine.TestCase
TestSilenceMachine.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=40)


def fail(bench: Bench) -> None:
    """The next URL is one of the host that is down, and while it is tried, all deeper ones wait."""
    visit = bench.frontier.next()
    assert visit is not None
    assert visit.url.startswith("http://down.example/")
    assert bench.frontier.next() is None
    bench.frontier.downloaded(visit, 0.1, failed=True)
    bench.frontier.retry(visit, priority=-1, request=None)


def test_a_level_waits_for_no_silent_host(tmp_path):
    """With a depth limit, the others go on when a host dies; when it is asked again, they wait for what it has."""
    politeness = PolitenessOptions(delay_factor=0, failure_delay=0, per_ip=0, max_failures=2, revival=100.0)
    bench = Bench(tmp_path / "db", "aopic", politeness, FrontierOptions(max_depth=3))
    bench.add("home", host="down.example")
    bench.add("home", host="up.example")
    for _ in HOSTS:
        bench.finish(bench.frontier.next())
    bench.add("1", "2", host="down.example", depth=1)
    bench.add("deep", "deeper", host="up.example", depth=2)
    for _ in range(politeness.max_failures):
        fail(bench)
    bench.finish(bench.take("deep"))
    bench.add("3", host="down.example", depth=1)
    bench.finish(bench.take("deeper"))
    assert bench.frontier.is_finished()
    assert bench.frontier.figures.silent == 3
    bench.add("deepest", host="up.example", depth=3)
    bench.now += politeness.revival
    fail(bench)
    bench.finish(bench.take("deepest"))
    put_away(bench.database)


def test_whoever_waited_for_a_host_that_falls_silent_goes_at_once(tmp_path):
    """With a depth limit, the very call of `next` that finds the host dead gives what waited for its level."""
    politeness = PolitenessOptions(delay_factor=0, failure_delay=0, per_ip=0, max_failures=1, revival=100.0)
    bench = Bench(tmp_path / "db", "aopic", politeness, FrontierOptions(max_depth=3))
    bench.add("home", host="down.example")
    bench.add("home", host="up.example")
    for rest in (0.0, 1.0):
        bench.finish(bench.frontier.next(), failed=False, retry_after=rest)
    bench.add("1", host="down.example", depth=1)
    bench.add("deep", host="up.example", depth=2)
    visit = bench.take("1")
    assert bench.frontier.next_time() is None  # the other one rests, and then it would wait for this level
    bench.now += 1.0
    bench.frontier.downloaded(visit, 0.1, failed=True)
    bench.frontier.retry(visit, priority=-1, request=None)
    bench.finish(bench.take("deep"))
    put_away(bench.database)


def test_a_scheme_by_which_a_host_never_answers(tmp_path):
    """Where nothing answers by https, links to it are given up after three failures, and all of http comes in."""
    politeness = PolitenessOptions(delay_factor=0, failure_delay=0, per_ip=0, max_failures=5)
    bench = Bench(tmp_path / "db", "bfs", politeness)
    bench.add("home")
    visit = bench.take("home")
    safe = [Link(f"https://a.example/{n}", "a.example", key=digest(f"safe{n}")) for n in range(20)]
    bench.link(visit, *safe, *(url(str(n)) for n in range(20)))
    bench.finish(visit, failed=False)
    asked, came = 0, 0
    while (visit := bench.frontier.next()) is not None:
        fails = visit.url.startswith("https:")
        asked += fails and not visit.dead
        came += not fails
        bench.frontier.downloaded(visit, 0.1, failed=None if visit.dead else fails)
        bench.frontier.done(visit, UrlState.FAILED if fails else UrlState.FETCHED, status=0, good=not fails)
    assert (asked, came) == (politeness.max_first_failures, 20)
    assert bench.frontier.is_finished()
    put_away(bench.database)
