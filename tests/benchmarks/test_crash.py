"""The benchmark of kills runs, and our crawl survives one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "crash.py"


def test_a_line_a_crawler() -> None:
    """It says what was lost and what is stored twice, and its exit code is 0 where that is nothing."""
    words = [sys.executable, str(SCRIPT), "--kills", "1", "--pages", "80"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("| sitecrawl | 80 | ")
