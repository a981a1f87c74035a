"""What is made of the times that a server notes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from latency import Timed
from timedweb import Answered

pytestmark = pytest.mark.deep


def answered(path: str, asked: float, at: float) -> Answered:
    return Answered("a", path, asked, at)


def test_what_a_crawl_took_beside_its_pauses_and_the_answers() -> None:
    """A pause begins when the answer is there; what comes after its end is late, and the latest is named."""
    answers = [answered("/robots.txt", 5.0, 5.25), answered("/", 6.25, 6.5), answered("/late", 8.0, 8.0)]
    timed = Timed("a", begun=3.0, ended=9.0, answers=answers, delay=1.0)
    assert (timed.pauses, timed.wall, timed.answering) == pytest.approx((2.0, 3.0, 0.5))
    assert timed.excess == pytest.approx(0.5)
    assert timed.late == [(0.5, "/late"), (0.0, "/")]
    assert timed.row() == "| a | 3 | 2.00 s | 3.00 s | 25.0% | 25.0% | 2.00 s | 1.00 s | 500 ms, /late |"
