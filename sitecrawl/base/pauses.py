"""Pauses that double with each failure."""

from __future__ import annotations

from typing import NamedTuple


class DoublingPause(NamedTuple):
    """Times are seconds of whatever clock is used."""

    seconds: float
    """How long it lasts."""
    until: float

    @classmethod
    def after(cls, before: DoublingPause | None, now: float, *, first: float, longest: float) -> DoublingPause:
        """The pause that begins `now`; `before` is the previous one, if any."""
        seconds = first if before is None else min(2 * before.seconds, longest)
        return cls(seconds, now + seconds)
