"""The benchmark of the seen set runs, and finds no difference to a Python set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "seen.py"


def test_the_quick_form_finds_no_difference() -> None:
    """Twenty thousand random adds and look-ups through a filter that grows, and a line for every contender."""
    words = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "20,000 adds and 20,000 look-ups, no difference to a Python set" in done.stdout
    assert done.stdout.count("\n| ") == 8
