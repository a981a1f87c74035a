"""The benchmark of the host splitter counts what it says."""

from __future__ import annotations

import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "splitter.py"
sys.path.insert(0, str(SCRIPT.parent))

from hostwebs import HostWeb, of_edges, of_urls  # noqa: E402
from partition_schemes import CENTRAL, INDEPENDENT, SCHEMES, rows  # noqa: E402
from splitter import Crossings, FreeLeasing, Homes, Walk, homes  # noqa: E402

from sitecrawl.frontier.urls.territory import Territory  # noqa: E402
from sitecrawl.urls.fingerprint import Fingerprinter  # noqa: E402
from sitecrawl.urls.url import site_of  # noqa: E402

HOSTS = 12
PAGES = 50


def ring() -> HostWeb:
    """Hosts in a ring, each a chain of pages: a page links to the next one, its front page, and the next host's."""
    web = HostWeb("ring", [f"www.site{host}.com" for host in range(HOSTS)])
    for host in range(HOSTS):
        for page in range(PAGES):
            own, following = host * PAGES, (host + 1) % HOSTS * PAGES
            web.links.append(array("l", [own + min(page + 1, PAGES - 1), own, following]))
            web.host_of.append(host)
    return web


@pytest.mark.parametrize("kind", [Homes, FreeLeasing])
def test_every_page_is_fetched_once(kind: type[Walk]) -> None:
    """However many workers share them."""
    count = kind(ring(), 4, 100, 5).run()
    assert count.pages.total() == HOSTS * PAGES
    assert count.links == count.hits + count.misses == 3 * HOSTS * PAGES


def test_a_host_with_a_home_is_met_once() -> None:
    """One worker resolves its name and keeps its connection; under free leasing every worker does."""
    home, free = Homes(ring(), 4, 100, 5).run(), FreeLeasing(ring(), 4, 100, 5).run()
    assert home.contacts == home.connections == HOSTS
    assert HOSTS < free.contacts <= 4 * HOSTS
    assert free.contacts <= free.connections <= HOSTS * PAGES


def test_what_leaves_its_worker() -> None:
    """As many links as lead to a host of another one."""
    web = ring()
    home = homes(web, site_of, 4)
    abroad = sum(home[host] != home[(host + 1) % HOSTS] for host in range(HOSTS)) * PAGES
    count = Homes(web, 4, 100, 5).run()
    assert count.links - count.stayed == abroad > 0


def test_homes_are_those_of_a_crawl() -> None:
    """A host's home is the partition of its keys."""
    web, key_of = ring(), Fingerprinter(bytes(16)).host
    assert homes(web, site_of, 7) == [Territory(7, {}).partition(key_of(host)) for host in web.hosts]


def test_which_links_cross() -> None:
    """A third of the ring's links lead to another site, and none to another top-level domain."""
    by_url, *cells = [row.strip("| ").split(" | ")[1:4] for row in Crossings(ring()).rows([4])]
    assert by_url[0] == "URL"
    assert 15 < float(by_url[2].partition("%")[0]) < 35
    assert [cell[:2] for cell in cells] == [["host", "33.3%"], ["site", "33.3%"], ["tld", "0.0%"]]
    assert cells[2][2] == "100.0%, 4.0"


def test_schemes_of_others() -> None:
    """What is known of each beforehand: what stays, what a firewall loses, and who moves when a worker leaves."""
    found = {scheme: cells for _, _, scheme, *cells in rows(ring(), 4)}
    assert found.keys() == {*SCHEMES, CENTRAL, INDEPENDENT}
    stay, largest, contacts, firewall, crossover, moved = zip(*found.values(), strict=True)
    names = list(found)
    archive, consistent = (next(n for n, name in enumerate(names) if word in name) for word in ("64 hosts", "UbiC"))
    assert (stay[archive], largest[archive], firewall[archive], moved[archive]) == (
        "100.0%",
        "4.0",
        "100.0%",
        "25.0%",
    )
    assert moved[consistent] == "25.0%"
    assert float(moved[0].strip("%")) > 60
    assert float(firewall[0].strip("%")) < 20
    assert float(contacts[0]) > 3 * float(contacts[1])
    assert float(crossover[names.index(INDEPENDENT)]) > 1


def test_graphs_are_read(tmp_path: Path) -> None:
    """With URLs, hosts are theirs; without, they are blocks of pages."""
    urls, edges = tmp_path / "urls.dat", tmp_path / "edges.tsv"
    urls.write_text("2 1 1\n1 http://a.org/ \n2 http://b.org/x \n1 2\n")
    edges.write_text("0\t3\n3\t1\n")
    named, plain = of_urls(urls), of_edges(edges, 2)
    assert (named.hosts, list(named.links[0]), list(named.host_of)) == (["a.org", "b.org"], [1], [0, 1])
    assert (len(plain.hosts), list(plain.host_of), plain.seeds()) == (2, [0, 0, 1, 1], [0, 3])


def test_it_runs(tmp_path: Path) -> None:
    """Two tables, with a row for each number of workers and way of leasing, and one for each scheme."""
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "hollins.dat").write_text("2 1 1\n1 http://a.org/ \n2 http://b.org/x \n1 2\n")
    words = [sys.executable, SCRIPT, "--data", tmp_path, "--only", "hollins", "--workers", "1,2"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.count("| hollins |") == 2 * 2 + 4
    words.append("--schemes")
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.count("| hollins |") == 2 * len({*SCHEMES, CENTRAL, INDEPENDENT})
