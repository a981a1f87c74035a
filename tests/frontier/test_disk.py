"""The frontier's contract: all that is added comes out, only that, each once, unless it is put back."""

from __future__ import annotations

import copy
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from unittest.mock import patch

import pytest
from database_files import put_away
from frontier_helpers import RUDE, Bench, all_credit, check_sections, url
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.order import ORDERS
from sitecrawl.frontier.urls.record import MAX_DEPTH, Flag, UrlState
from sitecrawl.frontier.urls.visit import Visit

HOSTS = ["a.example", "b.example", "c.example:81"]
NAMES = ["a", "b", "c", "d", "e", "s/f", "s/g", "s/h", "s/t/i", "s/t/j", "k?q=1", "k?q=2"]
"""Of four shapes."""
SCORES = {name: (7 * len(name) - n) % 5 - 2.0 for n, name in enumerate(NAMES)}
STRICT = TrapOptions(
    min_fetches=2,
    high=0.4,
    host_size=4,
    trusted_share=0.0,
    flow_period=1,
)
"""Holds back almost everything almost at once."""


@dataclass
class Known:
    """A URL as the model remembers it."""

    name: str
    host: str
    depth: int
    priority: int
    serial: int
    flags: int = Flag.NONE
    request: bytes | None = None
    state: UrlState = UrlState.QUEUED
    attempts: int = 0
    score: float = 0.0

    @property
    def is_volatile(self):
        return bool(self.flags & Flag.VOLATILE) and self.state == UrlState.QUEUED


@dataclass
class Model:
    """What a frontier should know, in a dictionary."""

    known: dict[bytes, Known] = field(default_factory=dict)
    ended: dict[UrlState, int] = field(default_factory=lambda: dict.fromkeys(UrlState, 0))

    def queued(self, host=None):
        return [u for u in self.known.values() if u.state == UrlState.QUEUED and host in (None, u.host)]

    def stored(self):
        """What a crash leaves after a commit of this state."""
        kept = {key: copy.copy(u) for key, u in self.known.items() if not u.is_volatile}
        return Model(kept, dict(self.ended))


class FrontierMachine(RuleBasedStateMachine):
    """Anything may happen in any order, a crash included; at the end all that is left comes out."""

    @initialize(
        order=st.sampled_from(["aopic", *ORDERS]),
        lambda_policy=st.sampled_from(["hosts", "pages"]),
        traps=st.sampled_from([TrapOptions(), STRICT]),
        head=st.integers(1, 3),
        max_pages=st.sampled_from([0, 0, 6]),
        max_depth=st.sampled_from([0, 2]),
        per_host=st.integers(1, 2),
        per_ip=st.integers(0, 2),
        delay=st.sampled_from([0.0, 1.0]),
    )
    def open(self, *, order, lambda_policy, traps, head, max_pages, max_depth, per_host, per_ip, delay):
        self.patch = patch("sitecrawl.frontier.urls.tables.DiskQueue", partial(DiskQueue, head=head))
        self.patch.start()
        self.path = Path(tempfile.mkdtemp())
        politeness = PolitenessOptions(
            delay=delay, delay_factor=0, per_host=per_host, per_ip=per_ip, failure_delay=0.5, max_failures=0
        )
        options = FrontierOptions(max_depth, max_pages, lambda_policy=lambda_policy, traps=traps)
        self.bench = Bench(self.path / "db", order, politeness, options)
        self.model = Model()
        self.committed = Model()
        self.visits: dict[bytes, Visit] = {}
        self.free_at: dict[str, float] = {}
        self.serial = 0
        self.unfiltered = 0

    @property
    def frontier(self):
        return self.bench.frontier

    @property
    def by_level(self):
        takes_none = self.bench.order in {"dfs", "aopic-published"}
        return self.bench.order == "bfs" or (not takes_none and self.bench.options.max_depth > 0)

    @property
    def keeps_levels(self):
        return self.by_level and self.bench.options.max_depth > 0

    @property
    def holds_back(self):
        """Probes go before what waits, and what is held back may be left at the end."""
        return self.bench.order == "aopic" and not self.keeps_levels and self.bench.options.traps is STRICT

    def next_serial(self):
        self.serial += 1
        return self.serial

    # What may happen

    @rule(
        host=st.sampled_from(HOSTS),
        names=st.lists(st.sampled_from(NAMES), max_size=5),
        depth=st.integers(0, 3),
    )
    def add(self, host, names, depth):
        found = [url(name, host, score=SCORES[name]) for name in names]
        new = self.unseen(found, depth)
        assert self.frontier.add(found, depth=depth) == len(new)
        self.know(new, depth)

    @precondition(lambda self: self.visits)
    @rule(
        data=st.data(),
        links=st.lists(
            st.tuples(st.sampled_from(NAMES), st.sampled_from(HOSTS), st.booleans(), st.integers(-1, 1)), max_size=6
        ),
    )
    def expand(self, data, links):
        """A page may link to itself, twice to another, to what is done and to what is in flight."""
        visit = self.a_visit(data)
        found = [
            replace(url(name, host, nofollow=nofollow, score=SCORES[name]), priority=priority)
            for name, host, nofollow, priority in links
        ]
        first = {f.key: f for f in reversed(found)}
        found = [replace(f, priority=first[f.key].priority) for f in found]
        new = self.unseen(found, visit.depth + 1)
        assert self.frontier.expand(visit, found) == len(new)
        if not 0 < self.bench.options.max_depth < visit.depth + 1:
            self.want(first, but=visit.key)
        self.know(new, visit.depth + 1)

    def want(self, links, but):
        """A known URL that waits has the greatest priority of all links to it."""
        for key, link in links.items():
            u = self.model.known.get(key)
            if u is None or u.state != UrlState.QUEUED or key in self.visits or u.is_volatile:
                continue
            if key != but and link.priority:
                u.priority = max(u.priority, link.priority)

    def unseen(self, found, depth):
        too_deep = 0 < self.bench.options.max_depth < depth
        return {} if too_deep else {f.key: f for f in found if f.key not in self.model.known}

    def know(self, new, depth):
        for key, f in new.items():
            self.model.known[key] = Known(f.url, f.host, depth, f.priority, self.next_serial(), score=f.score)

    @rule(
        host=st.sampled_from(HOSTS),
        name=st.sampled_from(NAMES),
        depth=st.integers(0, 2),
        priority=st.integers(-1, 1),
        unfiltered=st.booleans(),
        kind=st.sampled_from(["plain", "plain", "stored", "volatile"]),
    )
    def add_request(self, *, host, name, depth, priority, unfiltered, kind):
        flags = Flag.UNFILTERED if unfiltered else Flag.NONE
        if unfiltered:
            self.unfiltered += 1
            name = f"{name}#{self.unfiltered}"
        request = b"request %d" % self.serial if kind == "stored" else None
        flags |= Flag.VOLATILE if kind == "volatile" else Flag.NONE
        found = replace(url(name, host), priority=priority)
        is_new = found.key not in self.model.known
        added = self.frontier.add([found], depth=depth, asked=Asked(flags, request))
        assert added == is_new
        if is_new:
            serial = self.next_serial()
            self.model.known[found.key] = Known(found.url, host, depth, priority, serial, flags, request)

    def rank(self, u):
        """What decides between the URLs of one host, but for credit and what a section is worth."""
        level = u.depth if self.by_level else 0
        place = {"bfs": u.serial, "dfs": -u.serial, "best": -u.score}.get(self.bench.order, 0)
        return -u.priority, level, place

    @rule()
    def next(self):
        visit = self.frontier.next()
        if visit is not None:
            self.check(visit)

    def check(self, visit):
        u = self.model.known[visit.key]
        assert visit.key not in self.visits
        assert (u.state, u.name, u.request, u.attempts) == (UrlState.QUEUED, visit.url, visit.request, visit.attempts)
        assert visit.volatile == u.is_volatile
        waiting = [w for key, w in self.model.known.items() if w.state == UrlState.QUEUED and key not in self.visits]
        if not self.holds_back:
            assert self.rank(u) == min(self.rank(w) for w in waiting if w.host == u.host)
        if self.keeps_levels and u.priority <= 0:
            assert all(w.depth >= u.depth for w in self.model.queued() if w.priority >= 0)
        self.visits[visit.key] = visit
        self.check_politeness(visit, u.host)

    def check_politeness(self, visit, host):
        politeness, limit = self.bench.politeness, self.bench.options.max_pages
        loading = [v for v in self.visits.values() if v.host is not None]
        assert sum(v.host is not None and v.host.name == host for v in loading) <= politeness.per_host
        if visit.host.ip is not None and politeness.per_ip:
            assert sum(visit.host.ip in v.rooms for v in loading) <= politeness.per_ip
        assert self.bench.now >= self.free_at.get(host, 0.0)
        assert not limit or self.model.ended[UrlState.FETCHED] + len(self.visits) <= limit
        self.free_at[host] = self.bench.now + politeness.delay

    def a_visit(self, data):
        return self.visits[data.draw(st.sampled_from(sorted(self.visits)))]

    @precondition(lambda self: self.visits)
    @rule(data=st.data(), failed=st.booleans(), ip=st.sampled_from([None, "10.0.0.1", "10.0.0.2"]))
    def downloaded(self, data, failed, ip):
        visit = self.a_visit(data)
        if visit.host is not None:
            self.free_at[visit.host.name] = self.bench.now + self.bench.politeness.delay
        self.frontier.downloaded(visit, 0.25, ip=ip, failed=failed)

    @precondition(lambda self: self.visits)
    @rule(
        data=st.data(),
        state=st.sampled_from([UrlState.FETCHED, UrlState.FETCHED, UrlState.FAILED, UrlState.EXCLUDED]),
    )
    def done(self, data, state):
        self.end(self.a_visit(data), state)

    def end(self, visit, state):
        self.frontier.done(visit, state, status=200)
        del self.visits[visit.key]
        u = self.model.known[visit.key]
        u.state = state
        self.model.ended[state] += 1
        if u.flags & Flag.UNFILTERED:
            del self.model.known[visit.key]

    @precondition(lambda self: self.visits)
    @rule(data=st.data(), priority=st.integers(-1, 1), kind=st.sampled_from(["plain", "stored", "volatile"]))
    def retry(self, data, priority, kind):
        visit = self.a_visit(data)
        request = b"again %d" % self.serial if kind == "stored" else None
        self.frontier.retry(visit, priority=priority, request=request, volatile=kind == "volatile")
        del self.visits[visit.key]
        u = self.model.known[visit.key]
        u.attempts += 1
        u.request = request
        u.priority = max(priority, 0) if self.keeps_levels and u.priority >= 0 else priority
        u.serial = self.next_serial()
        u.flags = u.flags & ~Flag.VOLATILE | (Flag.VOLATILE if kind == "volatile" else Flag.NONE)

    @precondition(lambda self: self.model.known)
    @rule(data=st.data(), priority=st.integers(-1, 1), request=st.sampled_from([None, b"once more"]))
    def again(self, data, priority, request):
        """Whatever has come to its end may be asked for again; what waits is not queued twice."""
        key = data.draw(st.sampled_from(sorted(self.model.known)))
        u = self.model.known[key]
        assert self.frontier.again(key, priority=priority, request=request) == (u.state != UrlState.QUEUED)
        if u.state != UrlState.QUEUED:
            self.model.ended[u.state] -= 1
            u.state, u.attempts, u.serial = UrlState.QUEUED, 0, self.next_serial()
            u.priority, u.request, u.flags = priority, request, u.flags & ~Flag.VOLATILE

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0]))
    def wait(self, seconds):
        self.bench.now += seconds

    @rule()
    def commit(self):
        self.bench.commit()
        self.committed = self.model.stored()
        busy = {u.host for u in self.model.queued()}
        resting = {host.name for host in self.frontier.hosts.live() if host.free_at > self.bench.now}
        assert {host.name for host in self.frontier.hosts.live()} <= busy | resting
        self.check_what_is_stored()

    def check_what_is_stored(self):
        """Credit is conserved, to the last unit, and sections count what the records say."""
        assert all_credit(self.frontier) == self.frontier.link_credit.ledger.total
        check_sections(self.frontier)

    @rule()
    def crash(self):
        self.bench.crash()
        self.model = self.committed.stored()
        self.visits.clear()
        self.free_at.clear()
        self.check_what_is_stored()

    @rule()
    def restart(self):
        self.commit()
        self.crash()

    # What always holds

    @invariant()
    def counts_are_the_models(self):
        if not hasattr(self, "model"):
            return
        counts, queued = self.frontier.counts, self.model.queued()
        assert counts.queued == len(queued)
        assert counts.volatile == sum(u.is_volatile for u in queued)
        assert self.frontier.figures.waiting == len(queued) - len(self.visits)
        ended = [counts.fetched, counts.failed, counts.excluded]
        assert ended == [self.model.ended[s] for s in (UrlState.FETCHED, UrlState.FAILED, UrlState.EXCLUDED)]
        levels = [u.depth if self.by_level else 0 for u in queued if u.priority >= 0]
        assert {level: n for level, n in counts.levels.items() if n} == {n: levels.count(n) for n in levels}

    @invariant()
    def hosts_are_the_models(self):
        if not hasattr(self, "model"):
            return
        for name in HOSTS:
            queued = self.model.queued(name)
            host = next((host for host in self.frontier.hosts.live() if host.name == name), None)
            assert (host.queued if host else 0) == len(queued)
            assert (host.volatile if host else 0) == sum(u.is_volatile for u in queued)

    def teardown(self):
        if not hasattr(self, "bench"):
            return
        try:
            self.drain()
        finally:
            put_away(self.bench.database)
            self.patch.stop()
            shutil.rmtree(self.path)

    def drain(self):
        while not self.frontier.is_finished():
            visit = self.frontier.next()
            if visit is not None:
                self.check(visit)
            elif self.visits:
                visit = next(iter(self.visits.values()))
                if visit.host is not None:
                    self.free_at[visit.host.name] = self.bench.now + self.bench.politeness.delay
                self.end(visit, UrlState.FETCHED)
            else:
                rest = self.frontier.next_time()
                assert rest is not None, "stuck: URLs wait and no host rests"
                self.bench.now += rest
        if self.holds_back:
            assert self.bench.options.max_pages or self.frontier.figures.waiting <= self.frontier.judge.held()
        elif not self.bench.options.max_pages:
            assert len(self.model.queued()) == len(self.visits)


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=35)


@pytest.fixture
def bench(tmp_path):
    """Makes frontiers; each is on the same database as the one before."""
    benches: list[Bench] = []

    def make(*args, **kwargs):
        if benches:
            benches.pop().database.close()
        benches.append(Bench(tmp_path / "db", *args, **kwargs))
        return benches[-1]

    yield make
    put_away(benches.pop().database)


def test_a_url_that_a_page_links_to_twice(bench):
    """It counts where it stands first: what stands between is newer."""
    crawl = bench("bfs")
    crawl.add("home")
    home = crawl.take("home")
    crawl.link(home, url("b"), url("a"), url("b"))
    crawl.finish(home)
    assert crawl.drain() == ["b", "a"]


LEVELS = FrontierOptions(max_depth=5)


def test_a_retry_does_not_block_the_levels_that_wait_for_it(bench):
    """A seed that is put back with a lower priority is fetched before the next level, and blocks nothing."""
    crawl = bench(options=LEVELS)
    crawl.add("seed", "other")
    visit = crawl.take("seed")
    crawl.frontier.retry(visit, priority=-1, request=None)
    crawl.add("below", depth=1)
    assert crawl.drain() == ["other", "seed", "below"]


def test_a_priority_goes_before_its_level(bench):
    """A request that a spider wants first does not wait for the levels above it, and blocks none of them."""
    crawl = bench(options=LEVELS)
    crawl.add("seed", "other")
    crawl.ask("urgent", depth=3, priority=1)
    crawl.ask("late", depth=1, priority=-1)
    crawl.add("below", depth=2)
    assert crawl.drain() == ["urgent", "seed", "other", "below", "late"]


def test_a_level_waits_for_what_is_in_flight(bench):
    """With a depth limit no URL is handed out while one of a level above is in flight, on whatever host."""
    crawl = bench(options=LEVELS)
    crawl.add("seed")
    crawl.add("below", host="b.example", depth=1)
    seed = crawl.take("seed")
    crawl.frontier.downloaded(seed, 0.0)
    assert crawl.frontier.next() is None
    crawl.frontier.done(seed, UrlState.FETCHED)
    crawl.take("below")


def test_a_level_that_is_in_flight_tells_by_itself(bench):
    """The end of a host's rest is no reason to ask for a URL that waits for a level; that of the level is."""
    crawl = bench(politeness=PolitenessOptions(delay=1.0, delay_factor=0.0), options=LEVELS)
    hosts = [f"h{n}.example" for n in range(20)]
    for host in hosts:
        crawl.add("first", host=host)
        crawl.add("below", host=host, depth=1)
    visits = [crawl.take("first") for _ in hosts]
    for visit in visits[1:]:
        crawl.now += 0.01
        crawl.finish(visit)
    asked, end = 0, crawl.now + 60
    while crawl.now < end:
        assert crawl.frontier.next() is None
        asked, rest = asked + 1, crawl.frontier.next_time()
        crawl.now += 60 if rest is None else rest
    assert asked == 1
    crawl.finish(visits[0])
    assert crawl.drain() == ["below"] * len(hosts)


def test_a_level_on_a_host_that_rests(bench):
    """It is waited for, however many hosts with the next one have rested before."""
    crawl = bench(politeness=PolitenessOptions(delay=1.0, delay_factor=0.0), options=LEVELS)
    for name, depth in (("a", 1), ("b", 1), ("slow", 0)):
        crawl.add(name, host=f"{name}.example", depth=depth)
        crawl.frontier.manners.slow_down(f"{name}.example", 1.0 if depth else 5.0)
    crawl.add("first", host="slow.example", depth=0)
    crawl.finish(crawl.take("slow"))
    assert crawl.frontier.next() is None
    assert crawl.frontier.next_time() == 5.0
    crawl.now += 5.0
    crawl.finish(crawl.take("first"))
    assert sorted(crawl.drain()) == ["a", "b"]


@pytest.mark.parametrize("orders", list(permutations(ORDERS, 2)))
def test_another_order_on_the_same_directory(bench, orders):
    """A crawl that is resumed in another order loses nothing and does not get stuck."""
    crawl = bench(orders[0], options=LEVELS)
    crawl.add("a", "b", depth=0)
    crawl.add("c", "d", depth=2)
    crawl.commit()
    crawl = bench(orders[1], options=LEVELS)
    crawl.add("e", "f", depth=1)
    assert sorted(crawl.drain()) == ["a", "b", "c", "d", "e", "f"]


def test_max_pages_counts_pages_and_not_failures(bench):
    """A fetch that fails or is forbidden makes room for another one."""
    crawl = bench(options=FrontierOptions(max_pages=2))
    crawl.add("a", "b", "c", "d", "e")
    crawl.finish(crawl.take("a"), UrlState.FAILED)
    crawl.finish(crawl.take("b"), UrlState.EXCLUDED)
    crawl.finish(crawl.take("c"))
    last = crawl.take("d")
    assert crawl.frontier.next() is None
    assert not crawl.frontier.is_finished()
    crawl.finish(last)
    assert crawl.frontier.is_finished()
    crawl.restart()
    assert crawl.frontier.is_finished()


def test_a_shorter_way_still_counts(bench):
    """A URL that is first found beyond the depth limit is queued when it is found within it."""
    crawl = bench(options=FrontierOptions(max_depth=1))
    assert crawl.add("deep", depth=2) == 0
    assert crawl.add("deep", depth=1) == 1


def test_numbers_that_no_field_can_hold(bench):
    """A hostile status or an absurd depth does not keep a checkpoint from being written."""
    crawl = bench()
    crawl.add("deep", depth=10**9)
    crawl.ask("shallow", depth=-1)
    for name, status in (("shallow", 10**9), ("deep", -1)):
        visit = crawl.take(name)
        crawl.frontier.done(visit, UrlState.FETCHED, status=status)
    crawl.restart()
    deep, shallow = (crawl.frontier.urls.get(url(name).key) for name in ("deep", "shallow"))
    assert (deep.depth, deep.status) == (MAX_DEPTH, 0)
    assert (shallow.depth, shallow.status) == (0, 0xFFFF)


def test_done_twice(bench):
    """What is done is done: saying so once more changes nothing."""
    crawl = bench()
    crawl.add("a")
    visit = crawl.take("a")
    crawl.finish(visit)
    crawl.finish(visit)
    assert (crawl.frontier.counts.fetched, crawl.frontier.counts.queued) == (1, 0)


def test_a_failed_checkpoint_loses_nothing(bench):
    """Changes whose batch was never written go down with the next one."""
    crawl = bench()
    crawl.add("a", "b")
    crawl.frontier.prepare(crawl.database.batch())  # and the disk is full
    crawl.finish(crawl.take("a"))
    crawl.restart()
    assert crawl.drain() == ["b"]


def test_volatile_requests_never_reach_the_disk(bench):
    """A request that cannot be stored leaves no trace on disk, and a restart forgets it and its count."""
    crawl = bench()
    crawl.ask("v", flags=Flag.VOLATILE)
    crawl.ask("w", flags=Flag.VOLATILE | Flag.UNFILTERED)
    crawl.commit()
    assert [list(crawl.database.scan(family)) for family in ("urls", "queue", "requests")] == [[], [], []]
    assert crawl.frontier.figures.waiting == 2
    crawl.crash()
    assert (crawl.frontier.figures.waiting, crawl.frontier.next()) == (0, None)
    assert crawl.ask("v")


def test_what_is_in_memory_only_holds_no_credit(bench):
    """A request that cannot be stored is paid nothing and passes on what it is given, so no credit dies with it."""
    crawl = bench("aopic")
    ledger = crawl.frontier.link_credit.ledger
    crawl.ask("v", flags=Flag.VOLATILE)
    crawl.add("a", "b")
    while (visit := crawl.frontier.next()) is not None:
        crawl.link(visit, url("v"), url("a"))
        ledger.pay()
        crawl.frontier.downloaded(visit, 0.0)
    crawl.commit()
    assert all_credit(crawl.frontier) == ledger.total
    crawl.crash()
    assert all_credit(crawl.frontier) == ledger.total


def test_a_stored_request_that_turns_volatile(bench):
    """A URL whose retry cannot be stored can be found anew after a crash: it is not seen for ever."""
    crawl = bench()
    crawl.ask("a", request=b"stored")
    crawl.commit()
    crawl.frontier.retry(crawl.take("a"), priority=0, request=None, volatile=True)
    crawl.commit()
    assert not crawl.ask("a")
    crawl.crash()
    assert crawl.frontier.is_finished()
    assert crawl.ask("a")


def test_a_retry_keeps_the_score_of_the_spider(bench):
    """Under `best`, what the spider scored high stays ahead of what it scored low when it is put back."""
    crawl = bench("best")
    crawl.frontier.add([url("low", score=1.0), url("high", score=2.5), url("lowest", score=-3.0)], depth=0)
    crawl.frontier.retry(crawl.take("high"), priority=0, request=None)
    assert crawl.drain() == ["high", "low", "lowest"]


def test_a_retry_takes_its_new_place(bench, monkeypatch):
    """A URL that is put back comes after those that wait, also where its old entry is read from disk again."""
    monkeypatch.setattr("sitecrawl.frontier.urls.tables.DiskQueue", partial(DiskQueue, head=1))
    crawl = bench()
    crawl.add("a", "b", "c")
    visit = crawl.take("a")
    for n in range(3):
        crawl.ask(f"first{n}", priority=1)
    crawl.commit()
    crawl.frontier.retry(visit, priority=0, request=None)
    assert crawl.drain() == ["first0", "first1", "first2", "b", "c", "a"]


def test_what_is_in_flight_is_not_handed_out_again(bench, monkeypatch):
    """A URL in flight, whose entry is on disk until it is done, is not fetched twice when that is read again."""
    monkeypatch.setattr("sitecrawl.frontier.urls.tables.DiskQueue", partial(DiskQueue, head=1))
    crawl = bench(politeness=replace(RUDE, per_host=2))
    crawl.add("a", "b", "c")
    visit = crawl.take("a")
    for n in range(3):
        crawl.ask(f"first{n}", priority=1)
    crawl.commit()
    for name in ("first0", "first1", "first2", "b", "c"):
        crawl.finish(crawl.take(name))
    assert crawl.frontier.next() is None
    assert list(crawl.frontier.in_flight) == [visit.key]


def test_a_request_that_is_missing(bench):
    """A record that says it has a request, and has none on disk, is a corrupt file."""
    crawl = bench()
    crawl.ask("a", request=b"stored")
    crawl.commit()
    batch: Batch = crawl.database.batch()
    batch.delete("requests", url("a").key)
    crawl.database.write(batch)
    crawl.crash()
    with pytest.raises(CorruptFile, match="missing"):
        crawl.frontier.next()


def test_memory_is_that_of_the_hosts_at_work(bench):
    """After a checkpoint neither done URLs nor hosts without work stay in memory; nor does a long queue."""
    crawl = bench(politeness=PolitenessOptions(delay=10.0, delay_factor=0.0))
    for n in range(50):
        crawl.add(f"page{n}", host=f"h{n}.example")
    crawl.add(*(f"page{n}" for n in range(500)), host="long.example")
    for _ in range(51):
        crawl.finish(crawl.frontier.next())
    crawl.commit()
    assert len(list(crawl.frontier.hosts.live())) == 51  # all rest: a host that rests is not forgotten
    crawl.now += 10
    crawl.commit()
    (host,) = crawl.frontier.hosts.live()
    assert host.name == "long.example"
    (section,) = host.sections.values()
    assert len(section.queue._heap) < 100
    assert not crawl.frontier.urls._changed
    assert not crawl.frontier.in_flight


def test_again(bench):
    """A URL that was fetched can be asked for again: it comes out once more, knows that, and no unknown one does."""
    crawl = bench()
    crawl.frontier.add([url("a")], depth=0)
    first = crawl.frontier.next()
    assert not first.again
    assert not crawl.frontier.again(first.key)
    crawl.frontier.done(first, UrlState.FETCHED, status=200)
    assert crawl.frontier.again(first.key, request=b"conditional")
    assert not crawl.frontier.again(first.key)
    assert not crawl.frontier.again(url("b").key)
    crawl.commit()
    crawl.crash()
    second = crawl.frontier.next()
    assert (second.key, second.again, second.request) == (first.key, True, b"conditional")
    crawl.frontier.done(second, UrlState.FETCHED, status=304)
    assert crawl.frontier.is_finished()


def test_credit_of_what_is_asked_for_again(bench):
    """A request may bring credit as a seed does, and the lambda page pays what is fetched again, for its links."""
    crawl = bench("aopic")
    crawl.frontier.add([url("s")], depth=1, asked=Asked(brings_credit=True))
    for name in ("a", "b"):
        visit = crawl.frontier.next()
        assert visit.key == url("s").key
        crawl.frontier.expand(visit, [url(name)])
        assert crawl.frontier.urls.get(url(name).key).credit > 0
        crawl.frontier.done(visit, UrlState.FETCHED, status=200)
        crawl.frontier.again(visit.key, priority=1)
    crawl.commit()
    assert all_credit(crawl.frontier) == crawl.frontier.link_credit.ledger.total


def test_what_a_redirect_leads_to_is_news_of_it(bench):
    """A request that comes of a visit counts as a link does: a trap of redirects is told from a site by it."""
    crawl = bench("bfs")
    crawl.add("a")
    visit = crawl.take("a")
    for name, host in (("b", "a.example"), ("c/d", "a.example"), ("e", "b.example")):
        crawl.frontier.add([url(name, host)], depth=1, referrer=visit.key, asked=Asked())
    assert (visit.news.in_circle, visit.news.on_host) == (1, 2.0)


def test_a_redirect_is_worth_what_it_leads_to(bench):
    """Links that lead to a login alone, at a new address each, are worth nothing; pages and doors to pages are."""
    crawl = bench("aopic")
    crawl.add(*(f"{kind}/{n}" for kind in ("page", "edit", "door") for n in range(20)))
    behind = {"edit": "login/{}", "door": "text/{}"}
    while (visit := crawl.frontier.next()) is not None:
        kind, number = visit.url.split("/")[-2:]
        if to := behind.get(kind):
            crawl.frontier.add([url(to.format(number))], depth=1, referrer=visit.key, asked=Asked())
        crawl.frontier.downloaded(visit, 0.0)
        crawl.frontier.done(visit, UrlState.FETCHED, status=302 if to else 200, good=kind != "login")
    worth = {kind: crawl.section_of(f"{kind}/0").worth for kind in ("page", "edit", "door")}
    assert worth["edit"] < min(worth["page"], worth["door"]) / 100


def test_a_page_that_has_not_changed_is_no_redirect(bench):
    """What comes again is worth as much as before: its answer has a 3xx status, too."""
    crawl = bench("aopic")
    crawl.add(*(f"page/{n}" for n in range(20)))
    for status in (200, 304):
        while (visit := crawl.frontier.next()) is not None:
            crawl.frontier.downloaded(visit, 0.0)
            crawl.frontier.done(visit, UrlState.FETCHED, status=status)
        for n in range(20):
            crawl.frontier.again(url(f"page/{n}").key)
    section = crawl.section_of("page/0")
    assert (section.fetched, section.hope) == (40, 1.0)
