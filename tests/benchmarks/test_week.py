"""The benchmark of a week runs, and shows that a round finds what has changed, with fewer bytes than a new crawl."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from crawling import PROJECT
from waiting import PATIENCE

pytestmark = pytest.mark.deep


def test_quick() -> None:
    """Nothing is missed, nothing is false, and most answers are 304 where the server knows these."""
    command = [sys.executable, str(PROJECT / "benchmarks" / "week.py"), "--quick"]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE, env=env)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()[2:]]
    ours, anew = ({"way": name, "cells": cells} for name, *cells in lines[:2])
    happened, in_time, late, missed, false = map(int, ours["cells"][:5])
    assert happened == in_time > 0
    assert (late, missed, false) == (0, 0, 0)
    assert int(ours["cells"][7]) > int(ours["cells"][5]) / 2
    assert float(ours["cells"][8]) < float(anew["cells"][8]) / 2
