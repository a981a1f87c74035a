"""What a page's links do: credit for the targets, trust for their hosts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from compiled_core import both_ways
from database_files import put_away
from frontier_helpers import Bench, all_credit, digest, url
from hypothesis import given, settings
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.record import Flag

both = both_ways("sitecrawl.frontier.urls.link_credit.native")

A, B, C = "a.example", "b.example", "c.example"


@pytest.fixture(params=["hosts", "pages"])
def crawl(tmp_path, request):
    bench = Bench(tmp_path / "db", "aopic", options=FrontierOptions(lambda_policy=request.param))
    yield bench
    assert all_credit_is_there(bench)
    put_away(bench.database)


def all_credit_is_there(bench: Bench) -> bool:
    bench.commit()
    return all_credit(bench.frontier) == bench.frontier.link_credit.ledger.total


def read(crawl: Bench, *links, name: str = "seed", host: str = A) -> None:
    """A page is added, fetched, and links to `links`."""
    crawl.add(name, host=host)
    visit = crawl.frontier.next()
    while visit is not None and visit.url != url(name, host).url:
        crawl.finish(visit)
        visit = crawl.frontier.next()
    assert visit is not None
    crawl.link(visit, *links)
    crawl.finish(visit)
    crawl.commit()


def test_new_urls_get_their_share_at_once(crawl):
    """The targets share what the page had, less the tax, and a nofollow link counts a tenth."""
    crawl.add("seed")
    visit = crawl.take("seed")
    held = crawl.record("seed").credit
    crawl.link(visit, url("a"), url("b"), url("c", nofollow=True))
    shares = [crawl.record(name).credit for name in "abc"]
    assert shares[0] == shares[1] == 10 * shares[2]
    assert held * 9 // 10 - 21 < sum(shares) <= held * 9 // 10


def test_links_to_itself_and_copies(crawl):
    """A page gives nothing to itself, and nothing more for a link that it repeats."""
    crawl.add("seed")
    visit = crawl.take("seed")
    held = crawl.record("seed").credit
    assert crawl.link(visit, url("seed"), *[url("a")] * 1000, url("seed")) == 1
    assert crawl.record("a").credit == held // 10 * 9
    assert crawl.record("seed").credit == 0


def test_a_page_with_very_many_links(crawl):
    """A page may link to any number of others, and each gets its share."""
    crawl.add("seed")
    assert crawl.link(crawl.take("seed"), *(url(str(n)) for n in range(20_000))) == 20_000
    assert crawl.record("0").credit == crawl.record("19999").credit > 0


def test_links_in_slices(crawl):
    """Links that come one slice after the other share as they would together, also with checkpoints in between."""
    crawl.add("seed")
    visit = crawl.take("seed")
    held = crawl.record("seed").credit
    for first in range(0, 90, 30):
        crawl.link(visit, *(url(str(n)) for n in range(first, first + 30)), rest=60 - first)
        crawl.commit()
    shares = [crawl.record(str(n)).credit for n in range(90)]
    assert max(shares) - min(shares) <= held // 100_000
    assert sum(shares) == pytest.approx(held * 0.9)
    assert crawl.record("seed").credit == 0


def test_credit_for_what_waits(crawl):
    """Links to a known URL raise its credit, and so its place, with the next checkpoint."""
    crawl.add("seed", "other", "rich", "poor")
    before = crawl.record("rich")
    rank, credit = before.rank, before.credit
    for name in ("seed", "other"):
        crawl.link(crawl.take(name), url("rich"))
        crawl.finish(crawl.frontier.in_flight[url(name).key])
    crawl.commit()
    assert crawl.record("rich").credit > 2 * credit
    assert crawl.record("rich").rank < rank
    crawl.restart()
    crawl.take("rich")


def test_credit_for_what_is_in_flight(crawl):
    """A URL that is being fetched keeps what comes until it is done."""
    crawl.add("a")
    crawl.add("b", host=B)
    one, other = crawl.frontier.next(), crawl.frontier.next()
    assert one
    assert other
    crawl.link(one, url("b", B) if one.url.endswith("/a") else url("a"))
    crawl.commit()
    record = crawl.frontier.urls.get(other.key)
    assert record
    assert record.history > 0
    assert crawl.frontier.in_flight[other.key] is other


def test_credit_for_what_is_done(crawl):
    """It counts for the page's importance, and does not stay with it."""
    read(crawl, name="done")
    read(crawl, url("done"))
    record = crawl.record("done")
    assert record.history > 0
    assert record.credit == 0


def test_credit_for_what_is_forgotten(crawl):
    """A link to a request that left no record costs no credit and no error."""
    crawl.ask("gone", flags=Flag.UNFILTERED)
    visit = crawl.take("gone")
    crawl.add("seed")
    crawl.frontier.seen.add_many([url("gone").key])
    crawl.finish(visit)
    assert crawl.frontier.urls.get(url("gone").key) is None
    seed = crawl.take("seed")
    crawl.link(seed, url("gone"), url("a"))
    crawl.commit()
    assert crawl.frontier.link_credit.ledger.pending == 0


def test_the_graph_of_hosts(crawl):
    """It counts pages, a nofollow link a tenth, and those that link at all for their own host."""
    read(crawl, url("x", B), url("y", B), url("z", C, nofollow=True))
    crawl.restart()
    edges = crawl.frontier.link_credit.graph._edges
    a, b, c = (digest(host, 8) for host in (A, B, C))
    assert edges == {a: {a: 1.0, b: 1.0, c: 0.1}}
    assert crawl.frontier.link_credit.graph.seeds == {a: 1.0}


FAMILY = [A, f"www.{A}", B, C]
LINK = st.builds(url, st.sampled_from(["0", "s/0", "s/1", "t/0", "new", "s/new", "v/new"]), st.sampled_from(FAMILY))
LINKS = st.lists(st.builds(lambda link, no: replace(link, nofollow=no), LINK, st.booleans()), max_size=8)


@given(st.lists(st.one_of(LINKS, st.sampled_from(["commit", "restart"])), max_size=20))
@settings(max_examples=settings().max_examples // 5)
def test_any_links(steps):
    """Edges count as if each link were looked up alone, and credit is conserved, wherever checkpoints fall."""
    with TemporaryDirectory() as folder:
        crawl = Bench(Path(folder) / "db", "aopic")
        for host in FAMILY:
            crawl.add(*(f"{shape}{number}" for number in range(20) for shape in ("", "s/", "t/")), host=host)
        edges = defaultdict[bytes, dict[bytes, float]](lambda: defaultdict(float))
        for step in steps:
            if step == "commit":
                crawl.commit()
            elif step == "restart":
                crawl.restart()
            else:
                count(crawl, step, edges)
        assert all_credit_is_there(crawl)
        graph = crawl.frontier.link_credit.graph._edges
        assert dict(flat(graph)) == pytest.approx(dict(flat(edges)))
        put_away(crawl.database)


def flat(edges):
    return [((source, target), pages) for source, targets in edges.items() for target, pages in targets.items()]


def count(crawl: Bench, links, edges: dict) -> None:
    """The next page links to `links`; the reference of what that counts, link by link."""
    visit = crawl.frontier.next()
    assert visit is not None
    crawl.link(visit, *links)
    crawl.finish(visit)
    source = crawl.frontier.hosts.key_of(visit.url.split("/")[2])
    weights = defaultdict[bytes, float](float)
    for link in {link.key: link for link in reversed(links) if link.key != visit.key}.values():
        target = crawl.host_key(link.host)
        weights[target] = max(weights[target], 0.1 if link.nofollow else 1.0)
    if weights:
        weights[source] = 1.0
    for target, weight in weights.items():
        edges[source][target] += weight


def test_a_torn_graph(crawl):
    """An edge that cannot be read is a corrupt file."""
    read(crawl, url("x", B))
    batch = crawl.database.batch()
    batch.put("edges", bytes(8), b"torn")
    crawl.database.write(batch)
    with pytest.raises(CorruptFile, match="graph of hosts"):
        crawl.crash()
    batch = crawl.database.batch()
    batch.delete("edges", bytes(8))
    crawl.database.write(batch)
    crawl.crash()
