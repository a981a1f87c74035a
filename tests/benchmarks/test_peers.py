"""The comparison with other crawlers runs, and every crawler does the same work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ports import held_port
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peers.py"


@pytest.mark.parametrize("crawler", ["ours", "scrapy", "scrapy, JOBDIR", "scrapy-redis"])
def test_a_crawler_gets_all_pages(crawler: str) -> None:
    """Each page is asked for, and the table says so."""
    words = [sys.executable, str(SCRIPT), "--pages", "120", "--hosts", "10", "--rounds", "1", "--only", crawler]
    with held_port() as port:
        done = subprocess.run(
            [*words, "--port", str(port)], capture_output=True, text=True, check=True, timeout=PATIENCE
        )
    row = done.stdout.splitlines()[-1].split(" | ")
    assert row[0] == f"| {crawler}"
    assert row[4] == "120"
