"""Hosts that cease to answer, and answer again: whatever happens in between, each of their URLs comes out once."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from unittest.mock import patch

from frontier_helpers import Bench, all_credit, check_sections
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sitecrawl.frontier.hosts import PolitenessOptions
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.visit import Visit

HOSTS = ["a.example", "b.example"]
NAMES = [f"{section}/{n}" for section in ("one", "two") for n in range(6)]


class SilenceMachine(RuleBasedStateMachine):
    """Downloads succeed or fail in any order; failed ones are put back, as for hosts that are down."""

    @initialize(order=st.sampled_from(["aopic", "bfs", "dfs", "best"]), head=st.integers(1, 3))
    def open(self, order, head):
        self.patch = patch("sitecrawl.frontier.tables.DiskQueue", partial(DiskQueue, head=head))
        self.patch.start()
        self.path = Path(tempfile.mkdtemp())
        politeness = PolitenessOptions(
            delay_factor=0, per_host=2, failure_delay=0.5, max_failures=2, max_first_failures=99, revival=3.0
        )
        self.bench = Bench(self.path, order, politeness)
        self.known: set[str] = set()
        self.done: set[str] = set()
        self.visits: list[Visit] = []
        for host in HOSTS:
            self.add(host, ["home"])
        for _ in HOSTS:
            self.next()
        while self.visits:
            self.succeed(0)
        self.commit()

    @rule(host=st.sampled_from(HOSTS), names=st.lists(st.sampled_from(NAMES), max_size=8))
    def add(self, host, names):
        self.bench.add(*names, host=host, depth=1)
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
            assert frontier.silent <= frontier.counts.queued

    def teardown(self):
        if not hasattr(self, "bench"):
            return
        try:
            self.fetch_all()
        finally:
            self.bench.database.close()
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
                assert rest is not None, "stuck: URLs wait and no host rests"
                self.bench.now += rest
        assert frontier.waiting == frontier.silent == len(self.known - self.done)
        self.bench.restart()
        self.bench.drain()
        records = [self.bench.frontier.urls.get(key) for key in self.keys()]
        assert {
            record.url for record in records if record is not None and record.state == UrlState.FETCHED
        } == self.known

    def keys(self):
        return [key for key, _ in self.bench.database.scan("urls")]


TestSilenceMachine = SilenceMachine.TestCase
TestSilenceMachine.settings = settings(max_examples=15, stateful_step_count=40)
