"""Coordinates for the report's pictures; the template makes SVG of them, and so escapes what is text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

WIDTH: Final = 560
HEIGHT: Final = 190
LEFT: Final = 62
RIGHT: Final = 8
_TOP: Final = 8
BOTTOM: Final = 24
_HALF_A_MARK: Final = 44
"""A mark of the axis of time is as wide, to either side."""

_Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    points: list[str]
    """Polylines: a value that is not known parts them."""
    last: str
    """The last value, in words."""
    colour: int
    """Its number in the style sheet."""


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    lines: list[_Line]
    x_marks: list[tuple[float, str]]
    y_marks: list[tuple[float, str]]


def speeds(times: _Values, totals: _Values) -> list[float | None]:
    """Growth a second between a point and the one before it, or the one before that where it comes at once: the last
    point of a run does, and a few pages in no time would be a spike.
    """
    found: list[float | None] = [None]
    for n in range(1, len(times)):
        speed = _speed(times, totals, n - 1, n)
        if speed is not None and n > 1 and _comes_at_once(times[n - 2 : n + 1]):
            longer = _speed(times, totals, n - 2, n)
            speed = speed if longer is None else longer
        found.append(speed)
    return found


def _speed(times: _Values, totals: _Values, one: int, other: int) -> float | None:
    before, after, since, at = totals[one], totals[other], times[one], times[other]
    if before is None or after is None or since is None or at is None or at <= since:
        return None
    return max(0.0, after - before) / (at - since)


def _comes_at_once(times: _Values) -> bool:
    """Whether the last of three times follows within half the time between the others."""
    first, second, third = times
    return first is not None and second is not None and third is not None and third - second < (second - first) / 2


def chart(
    title: str,
    times: Sequence[float],
    named: dict[str, _Values],
    words: Callable[[float], str],
    *,
    colours: Sequence[int] = (1, 2, 3, 4),
) -> Chart | None:
    """A chart of several values over time, with its begin, its end and the greatest value marked; None where there is
    too little to draw. `words` says a value.
    """
    known = [value for values in named.values() for value in values if value is not None]
    if len(times) < 2 or len(known) < 2:
        return None
    top = max(known) or 1.0
    span = times[-1] - times[0] or 1.0

    def x(at: float) -> float:
        return round(LEFT + (at - times[0]) / span * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / top * (HEIGHT - _TOP - BOTTOM), 1)

    lines = []
    for (name, values), colour in zip(named.items(), colours, strict=False):
        last = next((value for value in reversed(values) if value is not None), None)
        lines.append(_Line(name, _polylines(times, values, x, y), "" if last is None else words(last), colour))
    begin, end = (f"{datetime.fromtimestamp(at, UTC):%b %d %H:%M}" for at in (times[0], times[-1]))
    x_marks = [(float(LEFT + _HALF_A_MARK), begin), (float(WIDTH - RIGHT - _HALF_A_MARK), end)]
    return Chart(title, lines, x_marks, [(y(value), words(value)) for value in (0.0, top)])


def _polylines(
    times: Sequence[float], values: _Values, x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    parts: list[list[str]] = [[]]
    for at, value in zip(times, values, strict=True):
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{x(at)},{y(value)}")
    return [" ".join(part) for part in parts if len(part) > 1]
