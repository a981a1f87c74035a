"""The benchmarks of the cluster run, and the work that they measure is done."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from ports import held_port
from waiting import PATIENCE

pytestmark = pytest.mark.deep

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))


def run(script: str, *words: str) -> list[str]:
    command = [sys.executable, str(BENCHMARKS / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_pages_by_one_worker() -> None:
    """Its row says that each page was fetched."""
    given = ("--pages", "60", "--hosts", "6", "--workers", "1", "--only", "sitecrawl")
    with held_port() as port:
        assert run("cluster.py", *given, "--port", str(port))[-1].startswith("| sitecrawl | 60 | ")


def test_steps_of_many_workers() -> None:
    """Redis takes all of them, and each number of workers has a row."""
    rows = run("workers.py", "--steps", "1,3", "--seconds", "2")[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["1", "3"]


def recorded_site(folder: Path) -> None:
    """Of 40 pages, each with links to the next five."""
    urls = ["http://a.example/", *(f"http://a.example/item/{page}.html" for page in range(39))]
    lines = [
        f"{url}\t200\tcontent\t-\tbody{page}\ttext{page}\t{' '.join(urls[page + 1 : page + 6])}"
        for page, url in enumerate(urls)
    ]
    with gzip.open(folder / "site.tsv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")


def test_every_url_is_in_a_snapshot(tmp_path: Path) -> None:
    """Of two copies of a small site and of further ones: what waits and what is done are all URLs that are known."""
    recorded_site(tmp_path)
    given = ("--urls", "250", "--grown", "50", "--copies", "2", "--partitions", "2")
    found = run("partition_memory.py", str(tmp_path), *given)
    known = int(next(line for line in found if "of which" in line).split()[0])
    rows = [int(line.split("|")[2]) for line in found if line.startswith("| URLs that ")]
    assert 250 <= known <= 290
    assert sum(rows) == known


def test_a_partition_is_taken_over(tmp_path: Path) -> None:
    """A worker has all URLs of the partition then."""
    recorded_site(tmp_path)
    found = run("takeover.py", str(tmp_path), "--urls", "30", "100", "--grown", "30", "--copies", "2")
    taken = [int(line.split("|")[1]) for line in found if line[:3].strip("| ").isdigit()]
    assert [urls >= wanted for urls, wanted in zip(taken, (30, 100), strict=True)] == [True, True]


def test_order_on_a_cluster(tmp_path: Path) -> None:
    """Workers fetch all good pages of a small graph, and end."""
    graph = tmp_path / "edges.tsv"
    graph.write_text("".join(f"{n}\t{m}\n" for n in range(200) for m in (2 * n + 1, 2 * n + 2, n // 3) if m < 200))
    given = ("--edges", str(graph), "--host-size", "50", "--seeds", "@0", "--policies", "cluster-3")
    lines = run("order.py", *given)
    assert "good 200/200" in lines[0]
    assert "ended" in lines[0]
