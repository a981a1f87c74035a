"""The benchmark of size runs, and its checks can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.deep

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_it_grows_and_draws(tmp_path: Path) -> None:
    """A line for every mark, each with figures that make sense, and a picture of them."""
    words = [sys.executable, str(BENCHMARKS / "scale.py"), "--quick", "--frontier", "0"]
    picture = tmp_path / "scale.svg"
    done = subprocess.run(
        [*words, "--picture", str(picture)], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| 2")]
    assert [row[0] for row in rows] == ["2,000", "20,000"]
    assert 16 <= float(rows[-1][3]) < 60  # a fingerprint has 16 bytes, and no key is stored twice
    assert picture.read_text().count("<circle") == 2 * 5


def test_a_wrong_answer_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is taken for seen, or one that is not found."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import scale

    seen = scale.SeenSet(tmp_path / "seen", 1000)
    seen.grow(2000)
    with pytest.raises(SystemExit, match="1 of 1 answers are wrong"):
        seen.ask([5000], known=True)
    seen.size = 0
    with pytest.raises(SystemExit, match="1000 of 1000 new keys are taken for seen"):
        seen.grow(1000)
    seen.close()
