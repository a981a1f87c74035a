"""The benchmark of generated sites runs, and its crawls lose no good page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sites.py"
UNKNOWN_SESSIONS = {"session ids, query", "session ids, path"}
"""Every link is new there, under a name that is no known session's: nothing says which of them is worth a fetch."""


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """What the quick form says of each site."""
    words = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert not done.stderr
    return dict(re.findall(r"^(\S.*?) +good .*\)  (.+)$", done.stdout, re.MULTILINE))


def test_all_good_pages_come_in(verdicts: dict[str, str]) -> None:
    """Of every site at least 99 in a hundred, in no more fetches than are called for, and the crawl ends."""
    assert len(verdicts) > len(UNKNOWN_SESSIONS) + 10
    assert {site: said for site, said in verdicts.items() if site not in UNKNOWN_SESSIONS and said != "ok"} == {}


def test_unknown_session_ids_end(verdicts: dict[str, str]) -> None:
    """Some good pages are missed there, but the crawl does not go on for ever."""
    assert all("NOT ENDED" not in verdicts[site] for site in UNKNOWN_SESSIONS)
