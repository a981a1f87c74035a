"""Many frontiers share a crawl: every URL has one of them, nothing is lost on the way, and partitions may move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
from frontier_helpers import all_credit, check_sections, stored_records
from hypothesis import given
from hypothesis import strategies as st
from neighbours import Neighbourhood, neighbourhood

from sitecrawl.base.errors import CorruptFile
from sitecrawl.cluster.entries import Bundle
from sitecrawl.frontier.by_hand import BLOCK, RELEASE, Act
from sitecrawl.frontier.credit.ledger import TOTAL
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.link_credit import SEEDS as SEEDS_KEY
from sitecrawl.frontier.urls.link_credit import read_edges
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.territory import Message, Territory
from sitecrawl.page.items import Link
from tests.frontier.test_recrawl_rank import pagerank, spearman

PAGES = 240
HOSTS = 24
SEEDS = 4


def url_of(page: int) -> str:
    return f"http://h{page % HOSTS}.example/t{page % 3}/p{page}"


def targets_of(page: int) -> list[int]:
    random = Random(page)
    return [(page + 1) % PAGES, *(random.randrange(PAGES) for _ in range(6))]


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Neighbourhood]:
    options = FrontierOptions(traps=TrapOptions(min_fetches=5, flow_period=10))
    territories = [[0, 1, 2], [3, 4], [5, 6, 7]]
    with neighbourhood(tmp_path, order_named("aopic"), options, territories) as found:
        found.neighbours[1].frontier.add([found.link(url_of(page)) for page in range(SEEDS)], depth=0)
        yield found


def fetch_all(crowd: Neighbourhood, random: Random, *, moves: bool) -> Counter[str]:
    """Whoever has something fetches it; now and then all tell what they know, and a partition may move."""

    def targets(url: str) -> list[Link]:
        return [crowd.link(url_of(page)) for page in targets_of(int(url.rpartition("p")[2]))]

    fetched: Counter[str] = Counter()
    idle = 0
    while idle < 2:
        found = [crowd.fetch(random.choice(crowd.neighbours), targets) for _ in range(random.randrange(1, 20))]
        fetched.update(filter(None, found))
        idle = (
            idle + 1
            if crowd.exchange() == 0 and not any(one.frontier.figures.waiting for one in crowd.neighbours)
            else 0
        )
        if moves and random.random() < 0.5:
            crowd.hand_over(random.randrange(8), random.choice(crowd.neighbours))
        agrees(crowd)
    return fetched


def agrees(crowd: Neighbourhood) -> None:
    """Each frontier's books agree with its records; together they have what the seeds brought."""
    for one in crowd.neighbours:
        frontier = one.frontier
        check_sections(frontier)
        assert all_credit(frontier) == frontier.link_credit.ledger.total
        states = Counter(record.state for _, record in stored_records(frontier))
        counts = frontier.counts
        assert (counts.queued, counts.fetched) == (states[UrlState.QUEUED], states[UrlState.FETCHED])
        assert all(one.territory.has(key) for key, _ in stored_records(frontier))
    assert sum(one.frontier.link_credit.ledger.total for one in crowd.neighbours) == SEEDS * (TOTAL // 100)


def test_every_page_comes_once(crowd: Neighbourhood) -> None:
    assert fetch_all(crowd, Random(1), moves=False) == Counter(map(url_of, range(PAGES)))


@pytest.mark.parametrize("seed", range(3))
def test_partitions_move(crowd: Neighbourhood, seed: int) -> None:
    """Whatever has been fetched is not fetched again, and what waits goes along."""
    assert fetch_all(crowd, Random(seed), moves=True) == Counter(map(url_of, range(PAGES)))


def test_importance_is_that_of_one_crawl(crowd: Neighbourhood) -> None:
    """Where pages are fetched again, one figure compares with another's, whoever has the page, and had it before."""
    random = Random(1)
    for one in crowd.neighbours:
        one.frontier.link_credit.ledger.comes_back = True
    fetch_all(crowd, random, moves=False)
    for _ in range(6):
        for one in crowd.neighbours:
            for key, _ in list(stored_records(one.frontier)):
                one.frontier.again(key)
        fetch_all(crowd, random, moves=True)
    pages = [url_of(page) for page in range(PAGES)]
    found = {r.url: r.history for one in crowd.neighbours for _, r in stored_records(one.frontier)}
    rank = pagerank(
        {url_of(page): [*{url_of(to) for to in targets_of(page)} - {url_of(page)}] for page in range(PAGES)}
    )
    assert all(one.frontier.link_credit.ledger.comes_back for one in crowd.neighbours)
    assert spearman([found[page] for page in pages], [rank[page] for page in pages]) >= 0.95


def test_trust_is_that_of_one_graph(crowd: Neighbourhood) -> None:
    """Rounds of all frontiers come to the same as rounds of one that has all hosts."""
    fetch_all(crowd, Random(1), moves=False)
    graphs = [one.frontier.link_credit.graph for one in crowd.neighbours]
    edges: list[tuple[bytes, bytes, float]] = []
    seeds: list[tuple[bytes, float]] = []
    for one in crowd.neighbours:
        rows = list(read_edges(one.database))
        edges += [edge for edge in rows if edge[0] != SEEDS_KEY]
        seeds += [(host, number) for source, host, number in rows if source == SEEDS_KEY]
    whole = HostGraph(edges, seeds)
    for _ in range(60):
        whole.flow(lambda _: False)
        for graph in graphs:
            graph.flow(lambda _: False)
        crowd.exchange()
    hosts = {host for host, _, _ in edges}
    assert len(hosts) == HOSTS
    for host in hosts:
        own = next(graph for one, graph in zip(crowd.neighbours, graphs, strict=True) if one.territory.has(host))
        assert own.trust(host) == pytest.approx(whole.trust(host), rel=1e-3)


def test_a_trap_alone_is_judged_beside_the_pages_of_others(tmp_path: Path) -> None:
    """A frontier whose only host mints URLs holds it back, and ends, as it would beside the good host of another."""
    with neighbourhood(tmp_path, order_named("aopic"), FrontierOptions(), [[0], [1]]) as crowd:
        good, trap = (_host_in(crowd, partition) for partition in (0, 1))
        minted = count()

        def targets(url: str) -> list[Link]:
            if trap in url:
                return [crowd.link(f"http://{trap}/p{next(minted)}") for _ in range(5)]
            near = int(url.rpartition("p")[2])
            return [crowd.link(f"http://{good}/p{(near + n) % PAGES}") for n in range(3)] + [
                crowd.link(f"http://{trap}/p")
            ]

        crowd.neighbours[0].frontier.add([crowd.link(f"http://{good}/p0")], depth=0)
        fetched = 0
        while fetched < 10 * PAGES:
            found = sum(crowd.fetch(one, targets) is not None for one in crowd.neighbours for _ in range(10))
            if not crowd.exchange() and not found:
                break
            fetched += found
        keeper = crowd.neighbours[1].frontier
        assert PAGES < fetched < 3 * PAGES
        assert [host.name for host, _ in keeper.judge.demoted.values()] == [trap]
        assert keeper.judge.elsewhere == PAGES


def _host_in(crowd: Neighbourhood, partition: int) -> str:
    territory = crowd.neighbours[0].territory
    names = (f"h{number}.example" for number in count())
    return next(name for name in names if territory.partition(crowd.fingerprints.host(name)) == partition)


@given(st.integers(1, 300), st.binary(min_size=2, max_size=2))
def test_every_key_has_one_partition(partitions: int, region: bytes) -> None:
    """And the regions of partitions are all that there are, each once."""
    territory = Territory(partitions, {0: PartCounts()})
    partition = territory.partition(region)
    assert int.from_bytes(region, "big") in territory.regions(partition)
    assert sum(len(territory.regions(one)) for one in range(partitions)) == 1 << 16


def test_a_message_is_what_it_was() -> None:
    link = Link("http://a.example/b", "a.example", nofollow=True, priority=3, score=0.5, key=bytes(16))
    messages = [Message(link, 2, b"r" * 16, 7), Message(link, 0, credit=5, flags=1, request=b"post")]
    acts = [Act(BLOCK, "a.example", "/b/*"), Act(RELEASE, "b.example")]
    assert Bundle.unpack(Bundle(messages, 1, 2, acts).pack()) == (messages, 1, 2, acts)
    assert [message.amount for message in messages] == [7, 0]


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91\x01", b"\x91\x90"])
def test_a_damaged_message_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="A bundle of"):
        Bundle.unpack(data)
