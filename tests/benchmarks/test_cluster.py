"""The benchmarks of the cluster run, and the work that they measure is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from redis_servers import free_port

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))


def run(script: str, *words: str) -> list[str]:
    command = [sys.executable, str(BENCHMARKS / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_all_pages_by_one_worker() -> None:
    """Its row says that each page was fetched."""
    given = ("--pages", "60", "--hosts", "6", "--workers", "1", "--port", str(free_port()), "--only", "sitecrawl")
    assert run("cluster.py", *given)[-1].startswith("| sitecrawl | 60 | ")


def test_every_url_is_fetched() -> None:
    """What waits and what is done are all URLs, in the end all done."""
    lines = run("cluster_memory.py", "--urls", "600", "--hosts", "20")
    assert any(line.startswith("all 600 are done") for line in lines)


def test_order_on_a_cluster(tmp_path: Path) -> None:
    """Workers fetch all good pages of a small graph, and end."""
    graph = tmp_path / "edges.tsv"
    graph.write_text("".join(f"{n}\t{m}\n" for n in range(200) for m in (2 * n + 1, 2 * n + 2, n // 3) if m < 200))
    given = ("--edges", str(graph), "--host-size", "50", "--seeds", "@0", "--policies", "cluster-3")
    lines = run("order.py", *given)
    assert "good 200/200" in lines[0]
    assert "ended" in lines[0]
