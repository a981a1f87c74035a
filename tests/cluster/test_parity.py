"""The ledger and the counts are kept twice, in Python and in Lua: both make of one web the same books.

The disk frontier and a shard on a real Redis crawl a made web in step, one URL at a time: the shard lends what the
disk frontier takes, and now and then both must know the same of every URL, section and host. Which section is next,
what it is worth and what is held back is not compared: a shard takes by credit and worth, the disk frontier by
turns, until both share the code. Nothing is held back here. What else differs by design:

- *Stale entries.* A URL that rises leaves its old entry in the disk queue's memory, and while that is the first its
  section ranks by it. A shard has no such entries; the test takes them out.
- *When a URL leaves the ledger.* On a shard when it is lent, on disk when it is done: what does not divide by those
  that wait goes to the lambda page at another time, a few units of 10^12.
- *Histories* of what is done have single precision on a shard.
- `MAX_KEY_SETS` is not kept on a cluster.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from cluster_helpers import KEY, Steps, audit, link, outcome, seed
from frontier_helpers import Bench
from redis_servers import Server

from sitecrawl.cluster import lua_constants as lua
from sitecrawl.cluster.lua_constants import lua_constants
from sitecrawl.cluster.options import WRAP
from sitecrawl.cluster.shards import script, unpack
from sitecrawl.credit import ledger as ledgers
from sitecrawl.frontier import trap_state
from sitecrawl.frontier.disk import Visit
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.sections import Section
from sitecrawl.page.items import Link

TRAPS = TrapOptions(hold=False)
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


class Twins:
    """One crawl twice."""

    def __init__(self, path: Path, client: Any) -> None:
        self.disk = Bench(path, "aopic", options=FrontierOptions(traps=TRAPS))
        self.shard = Steps(client, shards=1)
        self.shard.traps = TRAPS
        self.base = self.shard.keys.base(0)
        self.client = client
        self.retried: set[str] = set()
        self.disk.frontier.add([known(url) for url in SEEDS], depth=0)
        self.shard.add(*map(seed, SEEDS))
        client.hset(self.base + "crawl", "hold", "0")

    def hosts(self) -> Iterator[Host]:
        return self.disk.frontier.hosts.live()

    def step(self) -> bool:
        """Fetch one URL on both sides; False if nothing is left."""
        frontier = self.disk.frontier
        for host in self.hosts():
            for section in host.sections.values():
                while (entry := section.queue.peek()) is not None and frontier.url_states.waiting(entry) is None:
                    section.queue.pop()
            frontier.dispatcher.workbench.place(host, self.disk.now)
        visit = frontier.next()
        if visit is None:
            return False
        assert visit.host is not None
        self.fetch(visit, self.lend(visit, visit.host, self.section_of(visit)))
        return True

    def section_of(self, visit: Visit) -> Section:
        assert visit.host is not None
        record = self.disk.frontier.urls.get(visit.key)
        assert record is not None
        return visit.host.sections[record.section]

    @staticmethod
    def name_of(host: Host, section: Section | None) -> bytes:
        return host.name.encode() + (b"\0" + section.key[8:] if section is not None else b"")

    def lend(self, visit: Visit, host: Host, section: Section) -> list[Any]:
        """The shard lends the URL of `visit`: in that section it is its own first choice."""
        best, identity = f"{self.base}best:{host.name}", section.key[8:]
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
            known, _, *rest = stored[key][:6]
            numbers = [section.known, section.fetched, section.good, section.queued, section.trap_like]
            assert [known, *rest] == numbers, key
        for name, host in hosts.items():
            values = unpack(self.client.hget(self.base + "hosts", name))
            assert values[:5] == [host.known, host.queued, host.fetched, host.good, len(host.sections)], name

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


def test_one_web_two_copies(tmp_path: Path, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credit, histories and counts are alike, step for step, and inside a section what is taken first."""
    with redis.client() as client:
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
        assert len(twins.retried) > 100
        twins.disk.database.close()


def test_no_constant_is_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that Python changes is another in Lua: judge.lua has none of its own but 0, 1 and an index."""
    text = (files("sitecrawl.cluster") / "lua" / "judge.lua").read_text()
    code = re.sub(r"--.*", "", text)
    assert set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", code)) <= {"0", "1", "2", "15"}
    before = lua_constants(TrapOptions())
    for module, name, value in ((trap_state, "WINDOW", 51), (lua, "EXPLORATION", 0.3), (lua, "YIELD_POWER", 3.0)):
        monkeypatch.setattr(module, name, value)
        assert lua_constants(TrapOptions()) != before
        assert f"{name} = {value}" in lua_constants(TrapOptions())
    assert "min_fetches = 7" in script("lease", TrapOptions(min_fetches=7))[0]


def test_all_options_of_the_judge_reach_lua(redis: Server) -> None:
    """The table is one that Lua reads, with every option under its name."""
    with redis.client() as client:
        text = lua_constants(TrapOptions(worthless=1e-7)) + "return cmsgpack.pack(C)"
        constants = unpack(client.eval(text, 0))
        assert {name.decode() for name in constants[b"traps"]} == set(TrapOptions.__slots__)
        assert constants[b"traps"][b"worthless"] == 1e-7
        assert constants[b"traps"][b"hold"] is True
