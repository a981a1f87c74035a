"""The benchmark of revisits runs, and shows that they keep what matters fresher than a fixed interval does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from crawling import PROJECT
from waiting import PATIENCE

pytestmark = pytest.mark.deep


def test_quick() -> None:
    """With the same requests, and not beyond what is possible."""
    command = [sys.executable, str(PROJECT / "benchmarks" / "recrawl.py"), "--quick"]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE, env=env)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    rows = {name: cells for name, *cells in lines}
    fixed, ours = rows["fixed"], rows["credit and change rate"]
    best = float(rows["the optimum, all rates known"][3].split(", ")[1])
    assert float(ours[0]) <= 1.2 * float(fixed[0])
    assert float(fixed[2]) + 0.05 < float(ours[2]) < best + 0.02
