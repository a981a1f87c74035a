"""The order and the trap judge are written twice, in Python and in Lua: both make of one web the same crawl.

The disk frontier and a shard on a real Redis crawl a made web in step, one URL at a time. Before every step the shard
must prefer what the disk frontier takes, and after it both must know the same. What differs by design:

- *Ties.* Of equals the workbench takes the host that was placed first and Redis the one with the greatest name.
- *Probes* are picked at random. The shard makes none here, and lends what the disk frontier probes.
- *When a host is ranked anew.* The shard does so after every step. The workbench does when the host's queue or its
  politeness changes, and learns of credit or worth that came since when it next does: the test calls it every time.
- *Stale entries.* A URL that rises leaves its old entry in the disk queue's memory, and while that is the first its
  section ranks by it. A shard has no such entries; the test takes them out.
- *When a URL leaves the ledger.* On a shard when it is lent, on disk when it is done: what does not divide by those
  that wait goes to the lambda page at another time, a few units of 10^12.
- *Histories* of what is done have single precision on a shard.
- *Trust* is reckoned by the leader and no shard; here the shard is told the disk frontier's. A demoted host that has
  come to be trusted is set free there when it is fetched next, and on disk after `TrapOptions.second_look` fetches.
- *By hand* nothing is blocked or set free on a cluster, and `MAX_KEY_SETS` is not kept there.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from cluster_helpers import KEY, WRAP, Steps, audit, link, outcome, seed
from frontier_helpers import Bench
from redis_servers import Server, server

from sitecrawl.cluster.lua_constants import lua_constants
from sitecrawl.cluster.shards import script, unpack
from sitecrawl.credit import ledger as ledgers
from sitecrawl.frontier import sections
from sitecrawl.frontier.disk import FrontierOptions, Visit
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_judge import Reason, TrapOptions
from sitecrawl.page.items import Link

TRAPS = TrapOptions(min_fetches=12, host_size=300, section_size=400, vouched_share=4, first_probes=30, min_probes=5)
"""Small sizes, that each rule applies many times within a few thousand steps."""
STEPS = 2500
SEEDS = ("http://a.example/", "http://b.example/docs/0", "http://c.example/wiki/0")
UNITS = 1e-7
"""How far amounts may be apart, as a share: 10^12 units are a seed's, and every payment may round down."""
FIRST = 1e300
"""A score above all others."""


def links_of(url: str) -> list[tuple[str, bool]]:
    """What a page links to, and whether the link is nofollow: three real sites and a host that mints."""
    host, _, path = url.removeprefix("http://").partition("/")
    kind, _, name = path.partition("/")
    number = int(re.sub(r"\D", "", name) or 0)
    found = [f"http://{host}/"]
    if host == "trap.example":
        found += [f"http://trap.example/{crc32(f'{url}{n}'.encode())}" for n in range(3)]
    elif kind == "calendar":
        found += [f"http://{host}/calendar/{3 * number + n}" for n in (1, 2, 3)]
    elif kind in ("docs", "wiki") and number < 500:
        found += [
            f"http://{host}/{kind}/{n}" for n in (2 * number + 1, 2 * number + 2, number // 2, number * 7 % 500)
        ]
        found += [f"http://{host}/tag/{number}", f"http://{'abc'[number % 3]}.example/docs/{number * 5 % 400}"]
        found += [f"http://{host}/archive/2999/01/{number}"] * (number % 5 == 0)
        found += [f"http://{host}/find?q={number}&page=1"] * (number % 7 == 0)
    elif not kind:
        found += [f"http://{host}/docs/1", "http://a.example/calendar/1", "http://trap.example/1"]
    return [(target, crc32((url + target).encode()) % 4 == 0) for target in dict.fromkeys(found) if target != url]


def fate_of(url: str) -> tuple[UrlState, bool]:
    """What becomes of a page, and whether it is worth having. Tags are worthless, but for the last of them."""
    number = crc32(url.encode())
    if number % 19 == 0:
        return UrlState.FAILED, False
    if number % 29 == 0:
        return UrlState.EXCLUDED, False
    name = url.rpartition("/")[2]
    return UrlState.FETCHED, "/tag/" not in url or int(name) > 250


def known(url: str, *, nofollow: bool = False) -> Link:
    return Link(url, url.split("/")[2], nofollow=nofollow, key=KEY.url(url))


def _weighed_credit(preference: bytes) -> float:
    """The number in a preference of `aopic`, the greatest first; before it stand only priority and level."""
    bits = (1 << 64) - 1 - int.from_bytes(preference[6:], "big")
    weighed: float = struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return weighed


class Twins:
    """One crawl twice."""

    def __init__(self, path: Path, client: Any) -> None:
        self.disk = Bench(path, "aopic", options=FrontierOptions(traps=TRAPS))
        self.shard = Steps(client, shards=1)
        self.shard.traps = replace(TRAPS, probes=0.0)
        self.base = self.shard.keys.base(0)
        self.client = client
        self.retried: set[str] = set()
        self.probes = 0
        self.reasons: set[Reason] = set()
        self.set_free: set[bytes] = set()
        self.disk.frontier.add([known(url) for url in SEEDS], depth=0)
        self.shard.add(*map(seed, SEEDS))

    def hosts(self) -> Iterator[Host]:
        return self.disk.frontier.hosts.live()

    def step(self) -> bool:
        """Fetch one URL on both sides; False if nothing is left."""
        frontier, preferences = self.disk.frontier, {}
        for host in self.hosts():
            for section in host.sections.values():
                while (entry := section.queue.peek()) is not None and frontier.url_states.waiting(entry) is None:
                    section.queue.pop()
            frontier.workbench.place(host, self.disk.now)
            if (best := host.best(frontier._order)) is not None:
                preferences[host.name] = _weighed_credit(best[0])
        self.client.hset(self.base + "trust", mapping={host.name: repr(self.trust(host)) for host in self.hosts()})
        ready = dict(self.client.zrange(self.base + "ready", 0, -1, withscores=True))
        assert {name.decode(): score for name, score in ready.items()} == pytest.approx(preferences, rel=1e-12)
        visit = frontier.next()
        if visit is None:
            return False
        assert visit.host is not None
        section = self.section_of(visit)
        lease = self.lend(visit, visit.host, section, preferences)
        before = {self.name_of(*unit) for unit in frontier.judge.demoted.values()}
        self.fetch(visit, lease)
        after = {self.name_of(*unit): (unit[1] or unit[0]).trap for unit in frontier.judge.demoted.values()}
        self.reasons |= {Reason(after[name].reason) for name in after.keys() - before}
        self.set_free |= before - after.keys()
        assert self.client.smembers(self.base + "demoted") == after.keys()
        return True

    def trust(self, host: Host) -> float:
        return self.disk.frontier.link_credit.graph.trust(host.key)

    def section_of(self, visit: Visit) -> Section:
        assert visit.host is not None
        record = self.disk.frontier.urls.get(visit.key)
        assert record is not None
        return visit.host.sections[record.section]

    @staticmethod
    def name_of(host: Host, section: Section | None) -> bytes:
        return host.name.encode() + (b"\0" + section.key[8:] if section is not None else b"")

    def lend(self, visit: Visit, host: Host, section: Section, preferences: dict[str, float]) -> list[Any]:
        """The shard lends the URL of `visit`: its own choice, or an equal one, unless it is a probe."""
        best, identity = f"{self.base}best:{host.name}", section.key[8:]
        if host.trap.demoted or section.trap.demoted:
            self.probes += 1
            self.client.zadd(self.base.encode() + b"q:" + self.name_of(host, section), {visit.key: 2**47})
        else:
            assert preferences[host.name] == pytest.approx(max(preferences.values()), rel=1e-12)
            scores = dict(self.client.zrange(best, 0, -1, withscores=True))
            assert scores[identity] == pytest.approx(max(scores.values()), rel=1e-12)
        self.client.zadd(best, {identity: FIRST})
        self.client.zadd(self.base + "ready", {host.name: FIRST})
        (lease,) = self.shard.lease(0, want=1)
        assert lease[1].decode() == host.name
        assert [fields[0] for fields in lease[6]] == [visit.key]
        return lease

    def fetch(self, visit: Visit, lease: list[Any]) -> None:
        """The page comes in on both sides, or is put back once."""
        (state, good), links = fate_of(visit.url), links_of(visit.url)
        if crc32(visit.url.encode()) % 13 == 0 and visit.url not in self.retried:
            self.retried.add(visit.url)
            self.disk.frontier.retry(visit, priority=0, request=None)
            page = outcome(lease, lease[6][0], state=UrlState.QUEUED, good=False)
        else:
            if state == UrlState.FETCHED:
                self.disk.link(visit, *(known(url, nofollow=nofollow) for url, nofollow in links))
            else:
                links = []
            self.disk.finish(visit, state, good=good)
            found = [link(url, depth=visit.depth + 1, weight=1 if nofollow else 10) for url, nofollow in links]
            page = outcome(lease, lease[6][0], *found, state=state, good=good)
        self.disk.commit()
        assert self.shard.send(self.shard.parcel(0, [page])) == 1
        self.shard.release(0, lease)

    # What both know

    def compare(self) -> None:
        frontier, state = self.disk.frontier, self.shard.state(0)
        judge, ledger, counts = frontier.judge, frontier.link_credit.ledger, frontier.counts
        assert (judge.fetches, judge.good) == (state["fetches"], state["good"])
        assert judge.cost == pytest.approx(state.get("cost", 0))
        assert ledger.total == state["total"]
        assert ledger.policy.payees == state.get("payees", 0)
        assert ledger.reserve == pytest.approx(state.get("reserve", 0), rel=UNITS, abs=UNITS * ledger.seed_share)
        for name in ("known", "fetched", "failed", "excluded"):
            assert getattr(counts, name) == state.get(name, 0), name
        audit(self.shard)
        hosts = {host.name: host for name in self.client.hkeys(self.base + "hosts") if (host := self.found(name))}
        self.compare_units(hosts)
        self.compare_urls(hosts)

    def found(self, name: bytes) -> Host:
        host = self.disk.frontier.hosts.find(name.decode())
        assert host is not None
        return host

    def compare_units(self, hosts: dict[str, Host]) -> None:
        stored = {key: unpack(value) for key, value in self.client.hgetall(self.base + "sections").items()}
        ours = {self.name_of(host, s): s for host in hosts.values() for s in host.sections.values()}
        assert stored.keys() == ours.keys()
        for key, section in ours.items():
            numbers = [section.known, section.own, section.fetched, section.good, section.queued, section.trap_like]
            assert stored[key][:6] == numbers, key
            assert stored[key][6:8] == pytest.approx([section.recent, section.worth], rel=1e-12), key
            self.compare_trap(section, stored[key][8])
        for name, host in hosts.items():
            values = unpack(self.client.hget(self.base + "hosts", name))
            assert values[:5] == [host.known, host.queued, host.fetched, host.good, len(host.sections)], name
            self.compare_trap(host, values[15])

    @staticmethod
    def compare_trap(unit: Host | Section, stored: list[Any]) -> None:
        trap = unit.trap
        numbers = [trap.novelty, int(trap.demoted), trap.since, trap.reason, trap.tried, trap.cost, trap.limit]
        assert stored == pytest.approx(numbers, rel=1e-12), unit.key

    def compare_urls(self, hosts: dict[str, Host]) -> None:
        """Credit and history of every URL."""
        frontier, dividend = self.disk.frontier, int(self.shard.state(0).get("dividend", 0))
        urls = {key: unpack(value) for key, value in self.client.hgetall(self.base + "urls").items()}
        paid = {}
        for name in hosts:
            _, _, _, _, _, payees, own, mark, rest, *_ = unpack(self.client.hget(self.base + "hosts", name))
            paid[name] = own + ((dividend - mark) % WRAP + rest) // payees if payees else own
        for key, url in urls.items():
            record = frontier.urls.get(key)
            assert record is not None
            assert record.state == UrlState.QUEUED
            host = url[0].decode().split("/")[2]
            balance = frontier.link_credit.ledger.balance(record, hosts[host])
            assert url[4] + (paid[host] - url[5]) % WRAP == pytest.approx(balance, rel=UNITS, abs=100), url[0]
            assert url[6] == pytest.approx(record.history, rel=UNITS, abs=100)
        done = 0
        for bucket in self.client.scan_iter("sitecrawl:*:done:*", count=10_000):
            for key, packed in self.client.hgetall(bucket).items():
                state, _, history = struct.unpack(">BHf", packed)
                record = frontier.urls.get(key)
                assert record is not None
                assert record.state == state
                assert history == pytest.approx(record.history, rel=1e-6, abs=100)
                done += 1
        assert done + len(urls) == frontier.counts.known


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    with server() as started:
        yield started


def test_one_web_two_copies(tmp_path: Path, redis_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credit, worth, novelty, every demotion and the order of all that is taken are alike, step for step."""
    with redis_server.client() as client:
        client.flushall()
        monkeypatch.setattr(ledgers, "TOTAL", 100 * Steps(client, crawl="any", shards=1).options.seed_share)
        client.flushall()
        twins = Twins(tmp_path / "db", client)
        done = 0
        while done < STEPS and twins.step():
            done += 1
            if done % 100 == 0:
                twins.compare()
        twins.compare()
        assert done == STEPS
        assert twins.probes > 100
        assert len(twins.retried) > 100
        assert twins.reasons == {Reason.GROWS, Reason.WORTHLESS}
        assert len(twins.set_free) == 3  # the tags of each site
        assert client.sismember(twins.base + "demoted", "trap.example")
        twins.disk.database.close()


def test_no_constant_is_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that Python changes is another in Lua: judge.lua has none of its own but 0, 1 and an index."""
    text = (files("sitecrawl.cluster") / "lua" / "judge.lua").read_text()
    code = re.sub(r"--.*", "", text)
    assert set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", code)) <= {"0", "1", "2", "15"}
    before = lua_constants(TrapOptions())
    for name, value in (("WINDOW", 51), ("EXPLORATION", 0.3), ("YIELD_POWER", 3.0)):
        monkeypatch.setattr(sections, name, value)
        assert lua_constants(TrapOptions()) != before
        assert f"{name} = {value}" in lua_constants(TrapOptions())
    assert "min_fetches = 7" in script("lease", TrapOptions(min_fetches=7))[0]


def test_all_options_of_the_judge_reach_lua(redis_server: Server) -> None:
    """The table is one that Lua reads, with every option under its name."""
    with redis_server.client() as client:
        text = lua_constants(TrapOptions(worthless=1e-7)) + "return cmsgpack.pack(C)"
        constants = unpack(client.eval(text, 0))
        assert {name.decode() for name in constants[b"traps"]} == set(TrapOptions.__slots__)
        assert constants[b"traps"][b"worthless"] == 1e-7
        assert constants[b"traps"][b"hold"] is True
