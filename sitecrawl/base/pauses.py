"""Pauses that grow: whoever still fails when one is over gets one that is twice as long."""

from __future__ import annotations

from typing import NamedTuple


class Pause(NamedTuple):
    """Times are seconds of whatever clock is used."""

    seconds: float
    """How long it lasts."""
    until: float

    @classmethod
    def after(cls, before: Pause | None, now: float, *, first: float, longest: float) -> Pause:
        """What begins now; `before` is the last one, if any."""
        seconds = first if before is None else min(2 * before.seconds, longest)
        return cls(seconds, now + seconds)
