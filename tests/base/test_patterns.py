"""Users' regular expressions have an end."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sitecrawl.base.patterns import BadPattern, MatchTime, compiled

SLOW = compiled("(?:a|aa)+$")
EVIL = "a" * 100 + "!"


def test_a_match_is_found_or_not() -> None:
    """Anywhere in a text."""
    assert MatchTime().search(compiled("b+"), "abc") is True
    assert MatchTime().search(compiled("x"), "abc") is False
    assert MatchTime().search(compiled("x*"), "abc") is True


def test_a_match_that_backtracks_is_stopped() -> None:
    """Nobody knows what would have come of it, and it is counted."""
    time = MatchTime(0.02)
    assert time.search(SLOW, EVIL) is None
    assert time.stopped == 1
    assert time.left <= 0


def test_when_the_time_is_up_no_other_is_begun() -> None:
    """They are counted, too."""
    time = MatchTime(0.02)
    assert [time.search(SLOW, EVIL), time.search(compiled("a"), "a")] == [None, None]
    assert time.stopped == 2


def test_half_of_the_time_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than there was."""
    now = 100.0
    monkeypatch.setattr("sitecrawl.base.patterns.time", SimpleNamespace(monotonic=lambda: now))
    time = MatchTime(2.0, recovers=True)
    time.left = -1.0
    assert time.search(compiled("a"), "a") is True  # since the beginning of all time
    time.left = -1.0
    now = 101.0
    assert time.search(compiled("a"), "a") is None
    now = 102.5
    assert time.search(compiled("a"), "a") is True
    assert time.left == pytest.approx(0.25)
    now = 200.0
    time.search(compiled("a"), "a")
    assert time.left == 2.0


@pytest.mark.parametrize("text", ["(", "a{99999999999999999999}", "(" * 5000])
def test_no_pattern(text: str) -> None:
    """A text that is none is an error of ours, whatever the library makes of it."""
    with pytest.raises(BadPattern, match="is no regular expression"):
        compiled(text)
