"""Which host is asked next: ranks, rests, and IP addresses that many hosts share."""

from __future__ import annotations

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.frontier.workbench import _SMALL

IP = "10.0.0.1"


@pytest.fixture
def bench(tmp_path):
    made: list[Bench] = []

    def make(order="bfs", **politeness):
        options = {"delay_factor": 0.0, "failure_delay": 0.0, **politeness}
        made.append(Bench(tmp_path / "db", order, PolitenessOptions(**options)))
        return made[0]

    yield make
    put_away(made[0].database)


def learn_ip(crawl: Bench, hosts: list[str], ip: str = IP) -> None:
    """Fetch one URL of each host, which makes its address known."""
    for host in hosts:
        crawl.add("first", host=host)
        crawl.finish(crawl.take("first"), ip=ip)


def take_all(crawl: Bench) -> list[Visit]:
    visits = []
    while (visit := crawl.frontier.next()) is not None:
        visits.append(visit)
    return visits


def hosts_of(visits: list[Visit]) -> list[str]:
    return [visit.host.name for visit in visits if visit.host]


def test_the_best_url_of_all_ready_hosts(bench):
    """Hosts take turns by their best URLs, not one host after the other."""
    crawl = bench()
    for depth, host in ((1, "b.example"), (0, "c.example"), (2, "a.example")):
        crawl.add(f"{depth}", f"{depth}+", host=host, depth=depth)
    assert crawl.drain() == ["0", "0+", "1", "1+", "2", "2+"]


def test_one_by_one(tmp_path):
    """Nothing goes out while a URL is in flight, and no other host is asked while that of the first URL rests."""
    politeness = PolitenessOptions(delay=5.0, delay_factor=0.0, failure_delay=0.0)
    crawl = Bench(tmp_path / "db", "bfs", politeness, FrontierOptions(one_by_one=True))
    for name, host in (("1", "a.example"), ("2", "a.example"), ("3", "b.example")):
        crawl.add(name, host=host)
    visit = crawl.take("1")
    assert (crawl.frontier.next(), crawl.frontier.next_time()) == (None, None)
    crawl.finish(visit)
    assert (crawl.frontier.next(), crawl.frontier.next_time()) == (None, 5.0)
    crawl.now += 5.0
    crawl.finish(crawl.take("2"))
    crawl.finish(crawl.take("3"))
    put_away(crawl.database)


def test_an_address_that_many_hosts_share(bench):
    """At most `per_ip` hosts of one address are asked at once; the others come as seats are given back."""
    crawl = bench(per_ip=2)
    hosts = [f"h{n}.example" for n in range(5)]
    learn_ip(crawl, hosts)
    for host in hosts:
        crawl.add("a", "b", host=host)
    crawl.add("elsewhere", host="free.example", depth=1)
    served = []
    visits = take_all(crawl)
    assert hosts_of(visits) == ["h0.example", "h1.example", "free.example"]
    while visits:
        visit = visits.pop(0)
        served.append(visit.url)
        crawl.finish(visit, ip=visit.host.ip if visit.host else None)
        visits += take_all(crawl)
        assert sum(IP in v.rooms for v in visits) <= 2
    assert len(served) == len(set(served)) == 11


def test_the_best_host_of_an_address_comes_first(bench):
    """When a seat of an address is given back, it goes to the host with the best URL."""
    crawl = bench(per_ip=1)
    learn_ip(crawl, ["a.example", "b.example", "c.example"])
    crawl.add("x", host="c.example", depth=0)
    crawl.add("y", host="a.example", depth=2)
    crawl.add("z", host="b.example", depth=1)
    assert crawl.drain() == ["x", "z", "y"]


@pytest.fixture
def behind(bench):
    """Of three hosts of one address with one seat, one is asked and two wait; a fourth is elsewhere, and worse."""
    crawl = bench(per_ip=1, max_failures=1)
    hosts = ["a.example", "b.example", "c.example"]
    learn_ip(crawl, hosts)
    for depth, host in enumerate(hosts):
        crawl.add(host, host=host, depth=depth)
    visit = crawl.take("a.example")
    assert crawl.frontier.next() is None
    crawl.add("elsewhere", host="free.example", depth=9)
    return crawl, visit


def test_a_called_host_that_dies(behind):
    """A host that is called for a seat and turns out to be dead passes the seat on at once."""
    crawl, visit = behind
    crawl.frontier.hosts.named("b.example").failures = 1
    crawl.finish(visit, ip=IP)
    assert crawl.drain() == ["c.example", "elsewhere"]


def test_a_called_host_that_leaves_memory(behind):
    """A host that is called for a seat and never takes it does not leave the others waiting for ever."""
    crawl, visit = behind
    crawl.finish(visit, ip=IP)
    crawl.frontier.hosts.named("b.example").ticket = 0
    crawl.take("elsewhere")
    crawl.take("c.example")


def test_a_host_that_moves(bench):
    """A seat is given back to the address that it was taken on, also when the host's address changes meanwhile."""
    crawl = bench(per_ip=1)
    learn_ip(crawl, ["a.example", "b.example"])
    crawl.add("1", "2", "3", host="a.example")
    crawl.add("x", host="b.example", depth=1)
    crawl.finish(crawl.take("1"), ip="10.0.0.2")
    for name, ip in (("2", "10.0.0.2"), ("x", IP)):
        assert ip in crawl.take(name).rooms
    busy = crawl.frontier.dispatcher.workbench._busy
    assert (busy["10.0.0.2"], busy[IP]) == (1, 1)


@pytest.mark.parametrize("order", ["bfs", "dfs"])
def test_links_to_a_host_that_is_never_best(bench, order):
    """A ready host that is linked to again and again takes no more memory in the heaps than before."""
    crawl = bench(order)
    for n in range(10):
        crawl.add("first", host=f"h{n}.example", depth=1)
    for n in range(3 * _SMALL // 10):
        for host in range(10):
            crawl.add(f"{n}", host=f"h{host}.example", depth=2)
    assert len(crawl.frontier.dispatcher.workbench._ready) <= _SMALL
    assert len(crawl.drain()) == 10 + 10 * (3 * _SMALL // 10)


def test_many_hosts_of_one_address_cost_no_more_than_few(bench):
    """A seat that is given back wakes one host, not all that wait for the address."""
    crawl = bench(per_ip=1)
    hosts = [f"h{n}.example" for n in range(200)]
    learn_ip(crawl, hosts)
    for host in hosts:
        crawl.add("a", host=host)
    visit = crawl.frontier.next()
    assert crawl.frontier.next() is None
    tickets = crawl.frontier.dispatcher.workbench._tickets
    crawl.finish(visit, ip=IP)
    assert crawl.frontier.next() is not None
    assert crawl.frontier.dispatcher.workbench._tickets <= tickets + 4


def test_a_host_that_stands_where_it_belongs(bench):
    """A ready host that gets more of what is no better keeps its entry; what is better has one of its own."""
    crawl = bench()
    workbench = crawl.frontier.dispatcher.workbench
    crawl.add("1", depth=1)
    crawl.add("2", "3", depth=1)
    assert len(workbench._ready) == 1
    crawl.add("0", depth=0)
    crawl.add("between", host="b.example", depth=0)
    assert crawl.drain() == ["0", "between", "1", "2", "3"]


def test_a_host_that_rests(bench, monkeypatch):
    """What more waits for a host that rests is not looked at before it wakes, and then the best of it is."""
    crawl = bench(delay=10.0)
    workbench = crawl.frontier.dispatcher.workbench
    crawl.add("first", depth=1)
    visit = crawl.take("first")
    crawl.link(visit, url("1"), url("2"))
    crawl.finish(visit)
    looks = []
    preference = workbench._preference

    def noted(host):
        looks.append(host)
        return preference(host)

    monkeypatch.setattr(workbench, "_preference", noted)
    crawl.add("3", depth=1)
    crawl.add("best", depth=0)
    assert looks == []
    assert (crawl.frontier.next(), crawl.frontier.next_time()) == (None, 10.0)
    crawl.now += 10.0
    crawl.take("best")


def test_records_of_hosts_that_come_next(bench, monkeypatch):
    """Records that are on disk only are read for many hosts at once, and each of them once."""
    crawl = bench()
    names = [f"h{n}.example" for n in range(100)]
    for name in names:
        crawl.add("1", "2", host=name)
    crawl.restart()
    asked: list[list[bytes]] = []
    get, get_many = Database.get, Database.get_many

    def noted(database, family, key):
        asked.extend([[key]] if family == "urls" else [])
        return get(database, family, key)

    def noted_many(database, family, keys):
        asked.extend([list(keys)] if family == "urls" else [])
        return get_many(database, family, keys)

    monkeypatch.setattr(Database, "get", noted)
    monkeypatch.setattr(Database, "get_many", noted_many)
    assert len(take_all(crawl)) == 100
    keys = [key for some in asked for key in some]
    assert sorted(keys) == sorted(url("1", name).key for name in names)
    assert len(asked) <= 10


@pytest.mark.parametrize("ips", [("10.0.0.2", "10.0.0.3"), (IP, IP)], ids=["two addresses", "one address"])
def test_a_host_that_stood_for_a_url_that_has_gone(tmp_path, ips):
    """Where levels are kept, a host that is the first no more makes way for the next, also to their one address."""
    politeness = PolitenessOptions(delay_factor=0.0, failure_delay=0.0, per_ip=1)
    crawl = Bench(tmp_path / "db", "bfs", politeness, FrontierOptions(max_depth=3))
    for host, ip in (("a.example", ips[0]), ("b.example", ips[1]), ("c.example", IP)):
        learn_ip(crawl, [host], ip)
    crawl.add("busy", host="c.example", depth=1)
    visit = crawl.take("busy")
    crawl.add("a1", depth=1)
    crawl.add("a2", depth=2)
    crawl.add("b1", host="b.example", depth=1)
    if ips[0] == IP:
        assert crawl.frontier.next() is None, "both wait for the address"
    crawl.finish(visit, ip=IP)
    record = crawl.record("a1")
    assert crawl.section_of("a1").queue.pop() == record.rank + url("a1").key
    crawl.take("b1")
    put_away(crawl.database)


class TestStrangers:
    """Hosts that have never answered may hang: they never have all seats, where somebody else needs some."""

    @pytest.fixture
    def crawl(self, bench) -> Bench:
        """Eight seats in all, and twenty strangers with two URLs each."""
        crawl = bench(in_all=8, per_host=1)
        for n in range(20):
            crawl.add("a", "b", host=f"s{n}.example", depth=1)
        return crawl

    @pytest.mark.parametrize(("known", "seats"), [(0, 8), (1, 7), (5, 3), (6, 2), (30, 2)])
    def test_their_part(self, crawl, known, seats):
        """They have the seats that hosts that have answered do not need, and at least a quarter."""
        hosts = [f"k{n}.example" for n in range(known)]
        for host in hosts:
            crawl.add("first", host=host)
        for host in hosts:
            crawl.finish(crawl.take("first"))
            crawl.add("next", host=host, depth=9)
        asked = hosts_of(take_all(crawl))
        assert sum(host.startswith("s") for host in asked) == seats
        assert sum(host.startswith("k") for host in asked) == known

    def test_each_has_its_turn(self, crawl):
        """Each seat that is given back goes to the next; who has answered is no stranger any more."""
        crawl.add("first", host="k.example")
        crawl.finish(crawl.take("first"))
        crawl.add("next", host="k.example", depth=9)
        visits, served = take_all(crawl), 0
        while visits:
            visit = visits.pop(0)
            crawl.finish(visit)
            served += 1
            visits += take_all(crawl)
        assert served == 41
        assert not crawl.frontier.dispatcher.workbench._busy

    def test_who_rests_for_long_keeps_no_seat(self, crawl):
        crawl.add("first", host="k.example")
        visit = crawl.take("first")
        crawl.frontier.downloaded(visit, 0.0, retry_after=600.0)
        crawl.finish(visit)
        crawl.add("next", host="k.example", depth=9)
        assert len(take_all(crawl)) == 8


class TestSites:
    """A site has one half of all seats, where somebody else needs some."""

    @pytest.fixture
    def crawl(self, bench) -> Bench:
        """Eight seats in all; twenty hosts of one site that have answered wait with two URLs each."""
        crawl = bench(in_all=8)
        self.begin(crawl, [f"h{n}.large.com" for n in range(20)], depth=1)
        return crawl

    @staticmethod
    def begin(crawl: Bench, hosts: list[str], depth: int) -> None:
        """Each has answered, and has two URLs more, of a rank as good as their depth is small."""
        learn_ip(crawl, hosts, ip="")
        for host in hosts:
            crawl.add("a", "b", host=host, depth=depth)

    @staticmethod
    def seats(visits: list[Visit]) -> tuple[int, int]:
        """Those of the large site, and those of all others."""
        large = sum(host.endswith("large.com") for host in hosts_of(visits))
        return large, len(visits) - large

    def take(self, crawl: Bench, seats: int) -> list[Visit]:
        return [visit for _ in range(seats) if (visit := crawl.frontier.next()) is not None]

    @pytest.mark.parametrize(("others", "seats"), [(0, (8, 0)), (1, (7, 1)), (3, (5, 3)), (4, (4, 4)), (9, (4, 4))])
    def test_its_part(self, crawl, others, seats):
        """It has the seats that no other site needs, and never less than half, however late the others' URLs are."""
        self.begin(crawl, [f"k{n}.com" for n in range(others)], depth=9)
        assert self.seats(self.take(crawl, 8)) == seats

    def test_others_come_later(self, crawl):
        """Seats that it has already are given back one by one; what comes first has them until it has half."""
        visits = self.take(crawl, 8)
        self.begin(crawl, [f"k{n}.com" for n in range(9)], depth=9)
        for _ in range(8):
            crawl.finish(visits.pop(0))
            visits += self.take(crawl, 1)
        assert self.seats(visits) == (4, 4)

    def test_everything_comes(self, crawl):
        """In the order of the URLs where only its hosts are left, with no seat empty, and none is kept in the end."""
        self.begin(crawl, [f"k{n}.com" for n in range(3)], depth=9)
        visits, served = self.take(crawl, 8), []
        while visits:
            idle = [host for host in crawl.frontier.hosts.live() if host.waiting() and not host.active]
            assert len(visits) == 8 or not idle
            visit = visits.pop(0)
            assert visit.host is not None
            served.append((visit.url, visit.host.name))
            crawl.finish(visit)
            visits += self.take(crawl, 1)
        assert len(set(served)) == len(served) == 46
        assert not crawl.frontier.dispatcher.workbench._busy

    def test_an_address_is_never_over_full(self, bench):
        """Whoever waits for more seats of a site has no more than its address has."""
        crawl = bench(in_all=8, per_ip=5)
        hosts = [f"h{n}.large.com" for n in range(20)]
        learn_ip(crawl, hosts)
        for host in hosts:
            crawl.add("a", host=host)
        visits = take_all(crawl)
        assert len(visits) == 5
        while visits:
            crawl.finish(visits.pop(0), ip=IP)
            visits += take_all(crawl)
            assert len(visits) == min(5, len(visits) + crawl.frontier.figures.waiting)
