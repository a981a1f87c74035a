"""A domain's names are URLs of it until they have earned a record: wildcard DNS costs no more than another maze."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest
from database_files import put_away
from frontier_helpers import RUDE, Bench, all_credit, check_sections, digest, url
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sitecrawl.frontier.urls.host import POOL_PATIENCE, Host, PolitenessOptions
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.sites import PROOF, UNPROVEN, is_pool, pool_of
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.frontier.urls.visit import Visit

POOL = "*.b.com"


@pytest.fixture
def few(monkeypatch):
    """Two unproven hosts a site, of which three good pages are proof."""
    monkeypatch.setattr("sitecrawl.frontier.urls.sites.UNPROVEN", 2)
    monkeypatch.setattr("sitecrawl.frontier.urls.tables.PROOF", 3)


@pytest.fixture
def crawl(tmp_path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "db", "aopic")
    yield bench
    put_away(bench.database)


def home(crawl: Bench, name: str, host: str) -> str:
    """The name of the host whose record counts a URL."""
    found = crawl.frontier.hosts.get(crawl.record(name, host).host)
    assert found is not None
    return found.name


def unproven(crawl: Bench) -> int:
    return len(crawl.database.get("sites", digest(POOL, 8)) or b"") // 8


def named(crawl: Bench, name: str) -> Host:
    found = crawl.frontier.hosts.find(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("host", "pool"),
    [
        ("x.example.com", "*.example.com"),
        ("y.x.example.com:8080", "*.example.com"),
        ("example.com:8080", "*.example.com"),
        ("x.example.com.", "*.example.com"),
        ("*.example.com", "*.example.com"),
        ("x.user.github.io", "*.user.github.io"),
        ("example.com", None),
        ("user.github.io", None),
        ("co.uk", None),
        ("localhost", None),
        ("localhost:8080", None),
        ("192.0.2.1:8080", None),
        ("[2001:db8::1]", None),
        ("", None),
    ],
)
def test_the_pool_of_a_name(host, pool):
    """It is that of the registrable domain, which itself is in none, as are an address, a label and a suffix."""
    assert pool_of(host) == pool
    assert is_pool(host) == (host == pool)


def test_a_wildcard_domain(crawl):
    """It ends as any maze does, all good pages come in, and memory and rows are those of one more host."""
    minted = iter(range(1_000_000))

    def links_of(address: str) -> list:
        if ".b.com/" in address:
            return [url("home", f"h{next(minted)}.b.com") for _ in range(10)]
        good = [url(f"art/{n}") for n in range(150)] if address.endswith("/home") else [url("home")]
        return [*good, url("home", f"h{next(minted)}.b.com")]

    crawl.add("home")
    fetched = crawl.surf(links_of, budget=3_000)
    assert crawl.frontier.is_finished()
    assert sum(address.startswith("http://a.example/") for address in fetched) == 151
    assert len(fetched) < 500
    rows = [Host.unpack(key, data) for key, data in crawl.database.scan("hosts")]
    assert sum(host.name.endswith(".b.com") for host in rows) == UNPROVEN + 1
    assert len(list(crawl.database.scan("edges"))) <= UNPROVEN + 3
    assert named(crawl, POOL).trap.reason == Reason.GROWS
    check_sections(crawl.frontier)


def test_a_university(crawl):
    """A site of many real hosts that a page lists comes in whole, and each of them gets its record."""
    hosts, pages = 2 * UNPROVEN, PROOF + 2
    names = [f"h{n}.b.com" for n in range(hosts)]

    def links_of(address: str) -> list:
        host, _, name = address.removeprefix("http://").partition("/")
        if host == "b.com":
            return [url("home", name) for name in names]
        return [url(f"p/{n}", host) for n in range(pages)] if name == "home" else [url("home", host)]

    crawl.add("home", host="b.com")
    fetched = crawl.surf(links_of)
    assert len(set(fetched)) == len(fetched) == 1 + hosts * (1 + pages)
    assert crawl.frontier.is_finished()
    rows = [Host.unpack(key, data) for key, data in crawl.database.scan("hosts")]
    assert {host.name for host in rows} == {"b.com", POOL, *names}
    assert unproven(crawl) < UNPROVEN


@pytest.mark.usefixtures("few")
class TestPlaces:
    def test_a_site_has_few(self, crawl):
        """Further names share one host, and another site's names do not."""
        for name in ("x", "y", "z", "w"):
            crawl.add("1", "2", host=f"{name}.b.com", depth=1)
        crawl.add("1", host="x.c.com", depth=1)
        crawl.add("1", host="b.com", depth=1)
        assert [home(crawl, "2", f"{name}.b.com") for name in "xyzw"] == ["x.b.com", "y.b.com", POOL, POOL]
        assert home(crawl, "1", "x.c.com") == "x.c.com"
        assert home(crawl, "1", "b.com") == "b.com"
        assert named(crawl, POOL).known == 4

    def test_they_are_part_of_the_checkpoint(self, crawl):
        """After a restart as many are taken as before; after a crash those that the hosts on disk have."""
        crawl.add("1", host="x.b.com", depth=1)
        crawl.restart()
        crawl.add("1", host="y.b.com", depth=1)
        crawl.crash()
        assert unproven(crawl) == 1
        for name in ("z", "w"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        crawl.restart()
        assert [home(crawl, "1", f"{name}.b.com") for name in "zw"] == ["z.b.com", POOL]

    def test_a_proven_host_makes_room(self, crawl):
        """After enough good pages, and not before, another name has its record; what waits in the pool follows."""
        for name in ("x", "y", "z"):
            crawl.add("1", "2", "3", host=f"{name}.b.com", depth=1)
        crawl.commit()
        credit = all_credit(crawl.frontier)
        visits = {visit.url[7:14]: visit for visit in iter(crawl.frontier.next, None)}
        for left in (2, 2, 1):
            crawl.finish(visits.pop("x.b.com"))
            crawl.commit()
            assert unproven(crawl) == left
            visits |= {visit.url[7:14]: visit for visit in iter(crawl.frontier.next, None)}
        for visit in visits.values():
            crawl.finish(visit, good=False)
        while (visit := crawl.frontier.next()) is not None:
            crawl.finish(visit, good=False)
        crawl.commit()
        counts = {name: (named(crawl, name).known, named(crawl, name).fetched) for name in ("z.b.com", POOL)}
        assert counts == {"z.b.com": (2, 2), POOL: (1, 1)}
        assert unproven(crawl) == 2
        assert all_credit(crawl.frontier) == credit
        check_sections(crawl.frontier)

    def test_what_is_asked_for_moves_along(self, crawl):
        """A form that waits in a pool is the same form in its own host."""
        for name in ("x", "y"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        crawl.ask("form", host="z.b.com", depth=1, request=b"POST")
        assert home(crawl, "form", "z.b.com") == POOL
        crawl.add("seed", host="z.b.com")
        crawl.commit()
        visits = [crawl.frontier.next() for _ in range(3)]
        visits += [crawl.frontier.next()]
        (seed,) = [visit for visit in visits if visit is not None and visit.url.endswith("seed")]
        crawl.finish(seed)
        form = crawl.frontier.next()
        assert form is not None
        assert (form.url, form.request) == ("http://z.b.com/form", b"POST")
        assert home(crawl, "form", "z.b.com") == "z.b.com"
        crawl.commit()
        check_sections(crawl.frontier)

    def test_a_seed_needs_none(self, crawl):
        """A person has named its host, before or after a link did."""
        for name in ("x", "y"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        crawl.add("1", host="z.b.com")
        assert home(crawl, "1", "z.b.com") == "z.b.com"
        crawl.commit()
        assert unproven(crawl) == 2
        crawl.add("2", host="x.b.com")
        crawl.commit()
        assert unproven(crawl) == 1

    def test_links_trust_the_pool(self, crawl):
        """The graph of hosts has no edge for a name without a record; links of one name to another stay within."""
        crawl.add("home")
        visit = crawl.take("home")
        crawl.link(visit, *(url("1", f"{name}.b.com") for name in "xyzw"))
        crawl.finish(visit)
        pooled = next(v for v in iter(crawl.frontier.next, None) if home(crawl, "1", v.url[7:14]) == POOL)
        crawl.link(pooled, url("2", "z.b.com"), url("1", "v.b.com"), url("2", "x.b.com"))
        assert pooled.news.on_host == 2
        crawl.finish(pooled)
        crawl.commit()
        graph = crawl.frontier.link_credit.graph
        keys = {name: digest(name, 8) for name in ("a.example", "x.b.com", "y.b.com", POOL)}
        assert dict(graph._edges[keys["a.example"]]) == dict.fromkeys(keys.values(), 1.0)
        assert graph._edges[keys[POOL]].keys() == {keys[POOL], keys["x.b.com"]}

    def test_a_pool_learns_no_rules(self, crawl):
        """Pages of different servers may well be alike: nothing follows from that."""
        for name in ("x", "y"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        crawl.add(*(f"p?sid={n}" for n in range(60)), host="z.b.com", depth=1)
        while (visit := crawl.frontier.next()) is not None:
            crawl.frontier.contents.judge(visit, bytes(20), title="", text_hash=None)
            crawl.finish(visit, good=False)
        crawl.commit()
        assert named(crawl, POOL).fetched == 60
        assert crawl.database.get("rules", digest(POOL, 8)) is None

    def test_a_name_leads_to_its_pool(self, crawl):
        """Whoever looks for a name without a record finds the pool; a name of another site finds nothing."""
        for name in ("x", "y", "z"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        crawl.restart()
        assert [named(crawl, f"{name}.b.com").name for name in "xyz"] == ["x.b.com", "y.b.com", POOL]
        assert named(crawl, POOL).name == POOL
        assert crawl.frontier.hosts.find("z.c.com") is None

    def test_the_greatest_delay_counts(self, crawl):
        """A pool rests as long as the slowest of its names asks for, and so does a name that leaves it."""
        for name in ("x", "y", "z"):
            crawl.add("1", host=f"{name}.b.com", depth=1)
        for name, delay in (("z", 5.0), ("w", 2.0), ("x", 1.0)):
            crawl.frontier.manners.slow_down(f"{name}.b.com", delay)
        assert named(crawl, POOL).crawl_delay == 5.0
        assert named(crawl, "x.b.com").crawl_delay == 1.0
        crawl.add("seed", host="z.b.com")
        assert named(crawl, "z.b.com").crawl_delay == 5.0


@pytest.mark.usefixtures("few")
class TestFailures:
    @pytest.fixture
    def crawl(self, tmp_path) -> Iterator[Bench]:
        """Without pauses after answers, and patient as by default."""
        bench = Bench(tmp_path / "db", "aopic", PolitenessOptions(delay_factor=0.0))
        for name in ("x", "y"):
            bench.add("1", host=f"{name}.b.com", depth=1)
        while (visit := bench.frontier.next()) is not None:
            bench.finish(visit, good=False)
        yield bench
        put_away(bench.database)

    def run(self, crawl: Bench, is_up) -> list[str]:
        """Fetch all that is left; what fails is put back. Returns the URLs, as often as they were asked for."""
        asked = []
        while not crawl.frontier.is_finished():
            visit = crawl.frontier.next()
            if visit is None:
                crawl.now += crawl.frontier.next_time() or 0.0
            elif visit.dead:
                crawl.frontier.done(visit, UrlState.FAILED)
            elif is_up(visit.url):
                asked.append(visit.url)
                crawl.finish(visit)
            else:
                asked.append(visit.url)
                crawl.frontier.downloaded(visit, 0.0, failed=True)
                assert not crawl.frontier.manners.is_out(visit)
                crawl.frontier.retry(visit, priority=0, request=None)
        return asked

    def test_names_that_fail(self, crawl):
        """Each is given up by itself, and what waits for all others is fetched, without long pauses."""
        for n in range(60):
            crawl.add("1", "2", host=f"h{n}.b.com", depth=1)
        began = crawl.now
        asked = self.run(crawl, is_up=lambda address: int(address[8:].partition(".")[0]) % 2)
        up = [address for address in asked if int(address[8:].partition(".")[0]) % 2]
        assert len(up) == len(set(up)) == 60
        patience = crawl.politeness.max_first_failures
        assert len(asked) - len(up) <= 30 * (patience + 1)
        assert len(crawl.heard.given) + crawl.frontier.counts.failed >= 60
        assert crawl.frontier.counts.queued == 0
        assert crawl.now - began <= len(asked) * crawl.politeness.failure_delay

    def test_none_answers(self, crawl):
        """Where name after name fails, the pool is dead, as any host."""
        for n in range(500):
            crawl.add("1", host=f"h{n}.b.com", depth=1)
        asked = self.run(crawl, is_up=lambda _: False)
        assert len(asked) == POOL_PATIENCE * crawl.politeness.max_first_failures
        assert crawl.frontier.counts.queued == 0

    def test_someone_wants_to_be_told(self, crawl):
        """A request with an errback fails at once when its name is silent."""
        crawl.ask("1", host="z.b.com", depth=1, flags=Flag.AWAITED)
        dead = []
        for _ in range(20):
            visit = crawl.frontier.next()
            if visit is None:
                crawl.now += 1.0
            elif visit.dead:
                dead.append(visit.url)
                crawl.frontier.done(visit, UrlState.FAILED)
            else:
                crawl.frontier.downloaded(visit, 0.0, failed=True)
                crawl.frontier.retry(visit, priority=0, request=None)
        assert dead == ["http://z.b.com/1"]


HOSTS = [f"{name}.b.com" for name in "xyzw"]


class SiteMachine(RuleBasedStateMachine):
    """Names of one site are found, fetched, put back and proven in any order, through crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        self.patches.enter_context(patch("sitecrawl.frontier.urls.sites.UNPROVEN", 1))
        self.patches.enter_context(patch("sitecrawl.frontier.urls.tables.PROOF", 2))
        self.path = Path(tempfile.mkdtemp())
        self.bench = Bench(self.path / "db", "aopic", RUDE)
        self.known: set[str] = set()
        self.done: set[str] = set()
        self.visits: list[Visit] = []
        self.stored: tuple[set[str], set[str]] = set(), set()

    @rule(host=st.sampled_from(HOSTS), names=st.lists(st.sampled_from("abcdef"), max_size=4), depth=st.integers(0, 1))
    def add(self, host, names, depth):
        self.bench.add(*names, host=host, depth=depth)
        self.known |= {f"http://{host}/{name}" for name in names}

    @rule()
    def next(self):
        if (visit := self.bench.frontier.next()) is not None:
            assert visit.url in self.known - self.done
            assert visit.url not in {other.url for other in self.visits}
            self.visits.append(visit)

    @precondition(lambda self: self.visits)
    @rule(
        found=st.lists(st.tuples(st.sampled_from(HOSTS), st.sampled_from("ghi")), max_size=4, unique=True),
        good=st.booleans(),
    )
    def finish(self, found, good):
        visit = self.visits.pop()
        self.bench.link(visit, *(url(name, host) for host, name in found))
        self.bench.finish(visit, good=good)
        self.done.add(visit.url)
        self.known |= {f"http://{host}/{name}" for host, name in found}

    @precondition(lambda self: self.visits)
    @rule(request=st.sampled_from([None, b"POST"]), volatile=st.booleans())
    def retry(self, request, volatile):
        visit = self.visits.pop()
        self.bench.frontier.downloaded(visit, 0.0)
        self.bench.frontier.retry(visit, priority=0, request=request, volatile=volatile and request is not None)

    @rule()
    def commit(self):
        self.bench.commit()
        self.stored = set(self.known), set(self.done)
        assert all_credit(self.bench.frontier) == self.bench.frontier.link_credit.ledger.total
        check_sections(self.bench.frontier)

    @rule()
    def crash(self):
        self.bench.crash()
        self.visits.clear()
        self.known, self.done = set(self.stored[0]), set(self.stored[1])

    @invariant()
    def places(self):
        table = self.bench.frontier.hosts
        assert sum(host.is_pool for host in table.live()) <= 1

    def teardown(self):
        self.visits.clear()
        put_away(self.bench.database)
        self.patches.close()
        shutil.rmtree(self.path)


SiteMachine.TestCase.settings = settings(max_examples=8, stateful_step_count=40)
TestSiteMachine = SiteMachine.TestCase
