"""Which pages go back when their host's robots.txt has come."""

from __future__ import annotations

import pytest

from middlewares import robots_rests
from middlewares.robots_rests import RobotsRests


def test_a_page_goes_back_once() -> None:
    """If the rules are forgotten before it comes again, it does not go back for ever; the next one may."""
    rests = RobotsRests()
    assert rests.begin(b"a")
    assert not rests.begin(b"a")
    assert rests.begin(b"b")
    rests.end(b"a")
    assert rests.begin(b"a")


def test_as_many_pages_as_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more pages, the one of the longest ago is forgotten."""
    monkeypatch.setattr(robots_rests, "MAX_RESTING", 2)
    rests = RobotsRests()
    assert [rests.begin(page) for page in (b"a", b"b", b"c")] == [True] * 3
    assert not rests.begin(b"b")
    assert rests.begin(b"a")
