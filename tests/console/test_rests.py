"""Who asked for a long rest, in words."""

from __future__ import annotations

import time

from sitecrawl.console.progress import _long_rests, _rests_in_words, _time_of_day
from sitecrawl.frontier.urls.host import Host

NOON = time.mktime((2026, 11, 23, 12, 0, 0, 0, 0, -1))


def resting(name: str, until: float, *, queued: int = 1) -> Host:
    return Host(bytes(8), name, queued=queued, asked_until=until)


def test_only_long_rests_of_hosts_with_work() -> None:
    """Those that are over first come first."""
    hosts = [
        resting("late", 3100.0),
        resting("soon", 700.0),
        resting("short", 130.0),
        resting("done", 900.0, queued=0),
    ]
    assert _long_rests(hosts, 100.0) == [("soon", 600.0), ("late", 3000.0)]


def test_words() -> None:
    """The first, with the time of day, and how many more; a name is nothing that a terminal obeys."""
    assert _rests_in_words([], NOON) == ""
    assert _rests_in_words([("a\x1b", 600.0)], NOON) == r"a\x1b asked for no request before 12:10"
    assert _rests_in_words([("a", 600.0), ("b", 900.0)], NOON).endswith("12:10, and 1 more for longer")


def test_another_day() -> None:
    """What is not today has its date."""
    assert _time_of_day(NOON + 86_400, NOON) == "2026-11-24 12:00"
