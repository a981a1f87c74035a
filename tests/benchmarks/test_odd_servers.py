"""The comparison on odd servers runs, and judges by what a case wants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shareddata import shared
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "odd_servers.py"


def test_two_readers(tmp_path: Path) -> None:
    """Ours gets what the cases want; Scrapy reads no feeds; both are in the table, case by case."""
    shared("cases")
    words = [
        sys.executable,
        str(SCRIPT),
        "--only",
        "ours;Scrapy",
        "--cases",
        "7",
        "10",
        "20",
        "--keep",
        str(tmp_path / "kept"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    cells = {row[0]: row[2:] for row in rows}
    assert cells["case"] == ["ours", "Scrapy"]
    assert cells["7"] == ["1 of 1", "1 of 1"]
    assert cells["10"][0] == "23 of 23"
    assert cells["20"][0] == "7 of 7"
    assert cells["20"][1].startswith("0 of 7: not `/r1?x=1&y=2`")
