"""Hosts that do not say what they allow."""

from __future__ import annotations

import pytest

from middlewares import robots_silences
from middlewares.robots_silences import FIRST, LONGEST, Silences


def test_each_silence_is_twice_as_long() -> None:
    """Up to the longest; what is heard while one lasts changes nothing, and an answer ends all."""
    now = [0.0]
    silences = Silences(lambda: now[0])
    lasted = []
    for _ in range(8):
        silences.met("http://a")
        silences.met("http://a")
        begun = now[0]
        while "http://a" in silences:
            now[0] += FIRST / 2
        lasted.append(now[0] - begun)
    assert lasted == [min(FIRST * 2**n, LONGEST) for n in range(8)]
    silences.ended("http://a")
    silences.met("http://a")
    now[0] += FIRST
    assert "http://a" not in silences


def test_as_many_hosts_as_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest silent is forgotten."""
    monkeypatch.setattr(robots_silences, "MAX_HOSTS", 2)
    silences = Silences(lambda: 0.0)
    for name in "abc":
        silences.met(name)
    assert [name in silences for name in "abc"] == [False, True, True]
