"""The benchmark of the focused spider runs, and the spider finds its topic sooner than breadth first."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from realweb import tool
from waiting import PATIENCE

pytestmark = pytest.mark.deep


def test_best_first_beats_breadth_first(tmp_path: Path) -> None:
    """On three of the real sites, after 50 pages."""
    tool()
    words = ("--cache", tmp_path, "--hosts", "crawler-commons.github.io,www.python-httpx.org,www.starlette.io")
    options = ("--topics", "sitemap", "--policies", "focused,bfs", "--budget", "60")
    done = subprocess.run(
        [sys.executable, str(PROJECT / "benchmarks" / "focused.py"), *map(str, words), *options],
        env=environment(PYTHONPATH=str(PROJECT)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rates = dict(re.findall(r"\| sitemap \| (\w+) \| ([\d.]+)", done.stdout))
    assert float(rates["focused"]) > 1.5 * float(rates["bfs"])
