"""Which pages go back when their host's robots.txt has come."""

from __future__ import annotations

import pytest

from middlewares import robots_rests
from middlewares.robots_rests import RobotsRests


def test_a_page_goes_back_once() -> None:
    """If the rules are forgotten before it comes again, it does not go back for ever; the host's next one may."""
    rests = RobotsRests()
    assert rests.begin("http://a")
    assert not rests.begin("http://a")
    assert rests.begin("http://b")
    rests.end("http://a")
    assert rests.begin("http://a")


def test_as_many_hosts_as_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more hosts, the pages wait in their seats until others are on their way."""
    monkeypatch.setattr(robots_rests, "MAX_RESTING", 1)
    rests = RobotsRests()
    assert rests.begin("http://a")
    assert not rests.begin("http://b")
    rests.end("http://a")
    assert rests.begin("http://b")
