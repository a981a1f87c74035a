"""The comparison with other crawlers runs, and every crawler does the same work."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peers.py"


@pytest.mark.parametrize("crawler", ["ours", "scrapy", "scrapy, JOBDIR", "scrapy-redis"])
def test_a_crawler_gets_all_pages(crawler: str, unused_port: int) -> None:
    """Each page is asked for, and the table says so."""
    words = [sys.executable, str(SCRIPT), "--pages", "120", "--hosts", "10", "--rounds", "1", "--only", crawler]
    done = subprocess.run(
        [*words, "--port", str(unused_port)], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    row = done.stdout.splitlines()[-1].split(" | ")
    assert row[0] == f"| {crawler}"
    assert row[4] == "120"


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
