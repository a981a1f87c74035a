"""Hosts that have asked to be left alone for long: until when, in words."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from sitecrawl.base.display import printable
from sitecrawl.frontier.hosts.host import Host

_LONG: Final = 60.0
"""Seconds; a shorter rest needs no word."""


def long_rests(hosts: Iterable[Host], monotonic: float) -> list[tuple[str, float]]:
    """Of hosts with work those that rest for long because they have asked to (`Retry-After`), with the seconds that
    are left, the shortest first. `monotonic` is the frontier's clock.
    """
    found = [(host.name, host.asked_until - monotonic) for host in hosts if host.queued]
    return sorted((rest for rest in found if rest[1] > _LONG), key=lambda rest: rest[1])


def in_words(rests: list[tuple[str, float]], now: float) -> str:
    """When the first may be asked again, at the Unix time `now`; empty without any."""
    if not rests:
        return ""
    name, seconds = rests[0]
    more = f", and {len(rests) - 1:,} more for longer" if len(rests) > 1 else ""
    return f"{printable(name)} asked for no request before {time_of_day(now + seconds, now)}{more}"


def time_of_day(at: float, now: float) -> str:
    """The local time of `at`, with its date if that is not the one of `now`. Both are Unix times."""
    then, today = time.localtime(at), time.localtime(now)
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%Y-%m-%d %H:%M", then)
