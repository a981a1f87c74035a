"""Trust flows from the seeds' hosts, is conserved, and cannot be made by those who want it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.credit.trust import DAMPING, HostGraph

SEED, A, B, C, D = (bytes([n]) * 8 for n in range(1, 6))
HOSTS = [SEED, A, B, C, D]


ALL = [(SEED, A, 1.0), (A, B, 1.0), (B, C, 1.0), (SEED, D, 1.0), (D, SEED, 1.0)]


def never(_: bytes) -> bool:
    return False


def graph_of(*edges: tuple[bytes, bytes], seeds: tuple[bytes, ...] = (SEED,)) -> HostGraph:
    graph = HostGraph(((source, target, 1.0) for source, target in edges), ((host, 1.0) for host in seeds))
    graph.recompute(never)
    return graph


@given(
    edges=st.lists(st.tuples(st.sampled_from(HOSTS), st.sampled_from(HOSTS), st.floats(0.1, 1e6)), max_size=20),
    seeds=st.lists(st.tuples(st.sampled_from(HOSTS), st.integers(1, 9)), min_size=1),
    demoted=st.sets(st.sampled_from(HOSTS)),
)
def test_trust_is_conserved(edges, seeds, demoted):
    """Whatever the graph, the trust of all hosts is one, and nobody's is negative."""
    graph = HostGraph((), [(host, float(count)) for host, count in seeds])
    for source, target, weight in edges:
        graph.link(source, {target: weight})
    graph.recompute(demoted.__contains__)
    shares = [graph.trust(host) for host in HOSTS]
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0


def test_without_links_the_seeds_keep_it():
    """As long as nobody links anywhere, the seeds' hosts share all trust, by their seeds."""
    graph = HostGraph()
    for host in (SEED, SEED, SEED, A):
        graph.seed(host)
    graph.recompute(never)
    assert graph.trust(SEED) == pytest.approx(0.75)
    assert graph.trust(A) == pytest.approx(0.25)


def test_a_seed_is_trusted_at_once():
    """A seed's host does not wait for trust to flow anew."""
    graph = graph_of((SEED, A))
    assert graph.trust(B) == 0
    graph.seed(B)
    assert graph.trust(B) == 0.5


def test_the_rest_goes_back_to_the_seeds():
    """A host that links nowhere gives back what it gets, so a chain ends with less than it began."""
    graph = graph_of((SEED, A), (A, B))
    assert graph.trust(SEED) > graph.trust(A) > graph.trust(B) > 0
    assert graph.trust(A) == pytest.approx(DAMPING * graph.trust(SEED))


def test_a_farm_makes_no_trust():
    """Hosts that nobody trusted links to have none, however they link to one another and to the seeds."""
    graph = graph_of((SEED, A), (B, C), (C, B), (B, SEED), (C, D), (D, A))
    assert [graph.trust(host) for host in (B, C, D)] == [0, 0, 0]


def test_more_farm_does_not_mean_more_trust():
    """What enters a farm is shared by its hosts: ten times as many have no more of it together."""
    few, many = (
        graph_of((SEED, A), (SEED, farm(0)), *((farm(n), farm((n + 1) % size)) for n in range(size)))
        for size in (10, 100)
    )
    assert sum(many.trust(farm(n)) for n in range(100)) == pytest.approx(
        sum(few.trust(farm(n)) for n in range(10)), rel=0.05
    )


def farm(number: int) -> bytes:
    return b"farm" + number.to_bytes(4, "big")


def test_a_demoted_host_passes_nothing_on():
    """Links of a host that is held back give no trust to others."""
    graph = graph_of((SEED, A), (A, B))
    assert graph.trust(B) > 0
    graph.recompute({A}.__contains__)
    assert graph.trust(B) == 0
    assert graph.trust(A) > 0


def test_what_only_a_demoted_host_leads_to():
    """Whatever is behind a host that is held back is not reached, unless somebody else leads there."""
    c = bytes(8)
    graph = graph_of((SEED, A), (A, B), (B, c))
    assert graph.reached(never) == {SEED, A, B, c}
    assert graph.reached({A}.__contains__) == {SEED, A}
    graph.link(SEED, {c: 1.0})
    assert graph.reached({A}.__contains__) == {SEED, A, c}


def test_more_pages_that_link_pass_on_more():
    """A host's trust is split by how many of its pages link where."""
    graph = HostGraph((), [(SEED, 1.0)])
    for target, pages in ((A, 3), (B, 1)):
        for _ in range(pages):
            graph.link(SEED, {target: 1.0})
    graph.recompute(never)
    assert graph.trust(A) == pytest.approx(3 * graph.trust(B))


def test_trust_that_flows_on_gets_to_the_same():
    """Rounds from any older state lead to what rounds from the seeds lead to: the past is forgotten."""
    grown = graph_of((SEED, A), (A, B), (B, C))
    grown.link(SEED, {D: 1.0})
    grown.link(D, {SEED: 1.0})
    for _ in range(100):
        grown.flow(never)
    fresh = HostGraph(ALL, [(SEED, 1.0)])
    for _ in range(100):
        fresh.flow(never)
    assert [grown.trust(host) for host in HOSTS] == pytest.approx([fresh.trust(host) for host in HOSTS])


def test_no_seed_no_trust():
    """Without seeds nobody is trusted, and nothing goes wrong."""
    graph = graph_of((A, B), seeds=())
    assert graph.trust(A) == graph.trust(B) == 0


def test_the_graph_is_bounded(monkeypatch):
    """Beyond so many pairs of hosts new ones are dropped and counted, and known ones still grow."""
    monkeypatch.setattr("sitecrawl.frontier.credit.trust.MAX_EDGES", 100)
    graph = HostGraph()
    for number in range(150):
        graph.link(SEED, {farm(number): 1.0})
    graph.link(SEED, {farm(0): 1.0})
    graph.link(farm(999), {SEED: 1.0})  # a host all of whose links are dropped passes nothing on
    assert graph.dropped == 51
    changes = next(edges for host, edges, _ in graph.changes() if host == SEED)
    assert len(changes) == 100
    assert changes[farm(0)] == 2.0
    graph.seed(SEED)
    graph.seed(farm(999))
    graph.recompute(never)
    assert graph.trust(farm(999)) > 0


def test_what_changed_is_told_once():
    """A host's edges and seeds are written down with their whole weight, and no more until one changes again."""
    graph = HostGraph([(A, B, 5.0)], [(SEED, 2.0)])
    graph.link(A, {B: 1.0})
    assert list(graph.changes()) == [(A, {B: 6.0}, 0.0)]
    graph.seed(A)
    graph.seed(SEED)
    assert sorted(graph.changes()) == sorted([(A, {B: 6.0}, 1.0), (SEED, {}, 3.0)])
    graph.saved()
    assert not list(graph.changes())
