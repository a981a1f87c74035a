"""The benchmark of a crawl that grows runs, and tells what it has measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ports import held_port
from waiting import PATIENCE

pytestmark = pytest.mark.deep

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_it_crawls_and_opens_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample for every step with figures that make sense, and how long the second start took."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import flat

    samples = tmp_path / "flat.json"
    with held_port() as port:
        words = ["--pages", "200", "--step", "50", "--port", str(port), "--samples", str(samples)]
        subprocess.run([sys.executable, str(BENCHMARKS / "flat.py"), *words], check=True, timeout=PATIENCE)
    run = flat.Run.load(samples)
    assert run.samples[-1].pages >= 200
    assert run.samples[-1].cpu > 0
    assert run.samples[-1].anonymous > 1e7
    assert run.samples[-1].disk["warc"] > 0
    assert run.samples[-1].yardstick > 0
    assert run.opened["wall"] > 0


def test_costs_are_those_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start is in none of them, and a machine that is half as quick makes no page dearer."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import flat

    def sample(number: int, cpu: float, yardstick: float) -> flat.Sample:
        return flat.Sample(10_000 * number, 20.0 * number, cpu, 200_000_000, 40_000_000, {"db": 1}, yardstick)

    start = [sample(1, 100.0, 0.001)]
    quick = [sample(2 + n, 110.0 + 10 * n, 0.001) for n in range(flat.WINDOW)]
    slow = [sample(7 + n, 170.0 + 20 * n, 0.002) for n in range(flat.WINDOW)]
    found = flat.costs([*start, *quick, *slow])
    assert [cost.pages for cost in found] == [60_000, 110_000]
    assert [round(cost.cpu, 6) for cost in found] == [1.0, 2.0]
    assert [round(cost.even, 6) for cost in found] == [1.0, 1.0]


def test_a_picture_has_a_panel_for_each_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time, memory and disk."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import flat

    samples = [
        flat.Sample(100 * n, n, n, 10**8, 10**7, {"db": 100 * n, "warc": 200 * n}, 0.001) for n in range(1, 12)
    ]
    drawn = flat.picture(flat.Run(3000, samples))
    assert drawn.count("<polyline") == 2 + 2 + 3
    assert "CPU, ms a page" in drawn
