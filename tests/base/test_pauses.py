"""Pauses double, from the first up to the longest."""

from __future__ import annotations

from sitecrawl.base.pauses import DoublingPause


def test_each_is_twice_the_last() -> None:
    """Each begins when it is asked for, and none is longer than the longest."""
    found, now = [], 100.0
    pause = None
    for _ in range(4):
        pause = DoublingPause.after(pause, now, first=1.0, longest=3.0)
        found.append(pause)
        now = pause.until
    assert found == [(1.0, 101.0), (2.0, 103.0), (3.0, 106.0), (3.0, 109.0)]
