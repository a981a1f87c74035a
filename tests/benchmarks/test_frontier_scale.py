"""The benchmark of the frontier's size runs, and loses neither URLs nor credit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "frontier_scale.py"


def test_the_quick_form_loses_nothing() -> None:
    """Of twenty thousand URLs that were queued before a restart, all come out after it, and no credit is lost."""
    words = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    before, after = re.findall(r"^([\d,]+) records, and all ([\d,]+) units of credit$", done.stdout, re.MULTILINE)
    assert before == after
    assert int(before[0].replace(",", "")) >= 20_000
    assert f"{before[0]} fetched, 0 left" in done.stdout
