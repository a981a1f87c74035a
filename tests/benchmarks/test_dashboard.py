"""The benchmark of the dashboard runs, with pages that are open and read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dashboard.py"


def test_the_quick_form_measures_every_line() -> None:
    """A crawl of 150 sections without the extension, with it, with one and with ten readers."""
    words = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert "50 hosts, 150 sections" in done.stdout
    lines = ("without the extension", "with it, nobody looks", "1 page is open", "10 pages are open")
    for line in lines:
        assert re.search(rf"^\| {line} \| \d+\.\d\d% \|$", done.stdout, re.MULTILINE), line
