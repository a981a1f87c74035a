"""A host that travels decides as if it had stayed."""

from __future__ import annotations

from random import Random

import pytest
from frontier_helpers import digest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.credit.trust import HostGraph
from sitecrawl.frontier.host_state import pack_host, unpack_host
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.options import TrapOptions
from sitecrawl.frontier.order import Aopic, Facts
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_judge import TrapJudge
from sitecrawl.frontier.trap_state import TrapState
from sitecrawl.frontier.turns import HostTurns, next_section
from sitecrawl.frontier.visit import News

KEY = digest("a.example", 8)
SECTIONS = tuple(digest(name, 4) for name in "xyz")
TRAPS = TrapOptions(min_fetches=2, host_size=6, section_size=4, vouched_share=0, min_probes=2)
POLITE = PolitenessOptions(delay=0.5, delay_factor=2.0, max_failures=4)
ORDER = Aopic()


class Place:
    """A process that works on one host. Its clock begins when the process does."""

    def __init__(self, *, began: float, host: Host | None = None, judge: TrapJudge | None = None) -> None:
        self.began = began
        self.host = host or Host(KEY, "a.example")
        self.judge = TrapJudge(TRAPS, HostGraph(), Random(0))
        if judge is not None:  # what is not the host's, but the crawl's
            self.judge.fetches, self.judge.known = judge.fetches, judge.known
            self.judge.unpack(judge.pack())
        self.judge.remember(self.host)
        self.serial = 0

    def find(self, identity: bytes, credit: int, *, own: bool) -> None:
        """A URL comes up."""
        section = self.host.sections.get(identity)
        if section is None:
            section = Section(KEY + identity, f"/{identity.hex()}/*", DiskQueue(None, KEY, empty=True))  # type: ignore[arg-type]
            self.host.sections[identity] = section
        self.serial += 1
        section.queue.push(ORDER.rank(Facts(1, self.serial, credit=credit)) + digest(str(self.serial)))
        for unit in (self.host, section):
            unit.known += 1
            unit.queued += 1
        section.own += own
        self.judge.known += 1

    def fetch(self, now: float, seconds: float, news: tuple[int, int], *, good: bool) -> object:
        """Fetch the best URL, or one of what is held back. Returns what was decided."""
        free = self.host.waiting()
        waiting = [s for _, s in sorted(self.host.sections.items()) if s.queued]
        if not waiting:
            return None
        section = next_section(self.host, free)[1] if free else waiting[0]
        entry = section.queue.pop()
        if free and entry is not None:
            HostTurns(self.judge.graph, []).take(self.host, section, entry, hosts=1)
        self.host.start(now - self.began, POLITE)
        self.host.finish(now - self.began, seconds, POLITE)
        for unit in (self.host, section):
            unit.queued -= 1
        self.host.fetched += 1
        brought = News()
        brought.in_circle, brought.on_host = news
        changed = bool(self.judge.learn(self.host, section, good=good, missing=False, news=brought))
        free_at = round(max(self.host.free_at + self.began, now), 6)
        return section.key, entry, round(section.turn, 6), changed, self.demoted(), free_at, self.judge.cost

    def fail(self, now: float, url: bytes) -> object:
        self.host.fail(url, now - self.began, POLITE)
        free_at = round(max(self.host.free_at + self.began, now), 6)
        return self.host.failures, self.host.is_dead(POLITE), self.host.is_out, free_at

    def demoted(self) -> list[object]:
        return [
            (key, unit.trap.reason, unit.trap.since, unit.trap.limit)
            for key, unit in sorted((key, section or host) for key, (host, section) in self.judge.demoted.items())
        ]

    def travel(self, now: float) -> Place:
        """The host goes to another process; the URLs that wait are where they were."""
        queues = {section.key: section.queue for section in self.host.sections.values()}
        host = unpack_host(pack_host(self.host, now - self.began), queues.__getitem__, 1.0)
        place = Place(began=now - 1.0, host=host, judge=self.judge)
        place.serial = self.serial
        return place


FIND = st.tuples(st.just("find"), st.sampled_from(SECTIONS), st.integers(0, 2**50), st.booleans())
FETCH = st.tuples(st.just("fetch"), st.floats(0, 3), st.integers(0, 4), st.integers(0, 4), st.booleans())
FAIL = st.tuples(st.just("fail"), st.sampled_from([digest("one"), digest("two")]))
TRAVEL = st.just(("travel",))


@given(st.lists(st.one_of(FIND, FIND, FETCH, FETCH, FETCH, FAIL, TRAVEL), max_size=60))
def test_a_host_that_travelled_decides_as_one_that_stayed(steps):
    """Whatever happens, wherever it is sent on: the same URLs, the same demotions, the same pauses."""
    now = 100.0
    stays, travels = Place(began=0.0), Place(began=50.0)
    for kind, *how in steps:
        now += 1.0
        for place in (stays, travels):
            if kind == "find":
                place.find(how[0], how[1], own=how[2])
        if kind == "fetch":
            seconds, here, elsewhere, good = how
            news = (here, here + elsewhere)
            assert stays.fetch(now, seconds, news, good=good) == travels.fetch(now, seconds, news, good=good)
        elif kind == "fail":
            assert stays.fail(now, how[0]) == travels.fail(now, how[0])
        elif kind == "travel":
            travels = travels.travel(now)
            before, after = stays.host, travels.host
            assert (after.name, after.ip, after.crawl_delay) == (before.name, before.ip, before.crawl_delay)
            assert max(after.free_at + travels.began, now) == pytest.approx(max(before.free_at, now))


def full() -> Host:
    """A host of which nothing is as it was made."""
    host = Host(KEY, "a.example")
    host.failures, host.failing, host.free_at, host.ip = 3, (digest("one"), digest("two")), 17.5, "2001:db8::1"
    host.known = host.queued = host.payees = 5
    host.fetched, host.good, host.crawl_delay = 3, 2, 2.5
    host.dividend, host.mark, host.rest = 7, 8, 9
    host.turn, host.clock = 2.25, 3.25
    for number, identity in enumerate(SECTIONS):
        section = Section(KEY + identity, f"/{number}", DiskQueue(None, KEY, empty=True))  # type: ignore[arg-type]
        section.known, section.own, section.fetched, section.good, section.trap_like = 9, 8, 7, 6, 5
        section.queued, section.trials, section.successes, section.leads = number, 30.0, 20.0, 0.25
        section.turn, section.hope, section.worth, section.brought = 7.5, 0.75, 0.5, {bytes(4): 3}
        section.circle = SECTIONS[0]
        section.trap.demoted, section.trap.reason, section.trap.limit, section.trap.novelty = True, 1, 1.5, 2.5
        section.trap.since, section.trap.tried, section.trap.cost = 4, 3, 0.1
        host.sections[identity] = section
    return host


def test_all_of_a_host_travels():
    """Every attribute comes back, but for what is of the process: tickets and requests under way."""
    host = full()
    back = unpack_host(pack_host(host, 10.0), lambda key: host.sections[key[8:]].queue, 1000.0)
    for name in set(Host.__slots__) - {"sections", "trap", "ticket", "active", "volatile", "free_at", "_kin"}:
        assert getattr(back, name) == getattr(host, name), name
    assert back.free_at == 1007.5
    assert list(back.sections) == list(host.sections)
    for identity, section in host.sections.items():
        for name in set(Section.__slots__) - {"trap"}:
            assert getattr(back.sections[identity], name) == getattr(section, name), name
        for name in TrapState.__slots__:
            assert getattr(back.sections[identity].trap, name) == getattr(section.trap, name), name


def queue_of(key: bytes) -> DiskQueue:
    return DiskQueue(None, key, empty=True)  # type: ignore[arg-type]


@given(st.data())
def test_any_other_bytes(data):
    """What is cut, longer, changed or of another version is a corrupt file or a host, and no other error."""
    packed = bytearray(pack_host(full(), 0.0))
    for cut in (0, 1, 50, len(packed) - 1):
        with pytest.raises(CorruptFile):
            unpack_host(bytes(packed[:cut]), queue_of, 0.0)
    with pytest.raises(CorruptFile, match="too many"):
        unpack_host(bytes(packed) + b"x", queue_of, 0.0)
    packed[data.draw(st.integers(1, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        unpack_host(bytes(packed), queue_of, 0.0)
    except CorruptFile:
        return
    packed[0] = 2
    with pytest.raises(CorruptFile, match="version 2"):
        unpack_host(bytes(packed), queue_of, 0.0)


@given(st.binary(max_size=300))
def test_torn(data):
    """Any bytes are a host or a corrupt file."""
    try:
        unpack_host(data, queue_of, 0.0)
    except CorruptFile:
        return
