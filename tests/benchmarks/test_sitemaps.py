"""The benchmark of sitemaps runs, and shows that visits by yield find links sooner."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

PROJECT = Path(__file__).parents[2]
SCRIPT = PROJECT / "benchmarks" / "sitemaps.py"


def run(*words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=True, timeout=PATIENCE, env=env
    )
    return done.stdout


def test_visits(tmp_path: Path) -> None:
    """With half of the requests of a fixed interval, links wait no longer; the picture is well-formed."""
    picture = tmp_path / "visits.svg"
    rows = re.findall(r"^(.*?)  +(\d+) +\d+% +([\d.]+) ", run("visits", "--picture", str(picture)), re.MULTILINE)
    waits = {name: (int(requests), float(hours)) for name, requests, hours in rows}
    assert waits["by yield, 100 a day"][0] <= 100
    assert waits["by yield, 100 a day"][1] < waits["every 8 h"][1]
    assert waits["by yield, 250 a day"][1] < waits["every 4 h"][1]
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_speed() -> None:
    """Entries a second are printed for every reader that is installed."""
    assert len(re.findall(r"^  (?:ours|scrapy) +[\d,]{5,}$", run("speed", "--rounds", "1"), re.MULTILINE)) == 4


def test_memory() -> None:
    """A hundred sitemaps of an index are read and remembered."""
    assert "100 sitemaps, 0.01 GB, 57,000 entries" in run("memory", "--sitemaps", "100")
