"""Coordinates for the report's pictures; the template makes SVG of them, and so escapes what is text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

WIDTH: Final = 560
HEIGHT: Final = 190
LEFT: Final = 62
RIGHT: Final = 8
TOP: Final = 8
BOTTOM: Final = 24

Values = Sequence[float | None]
_STEPS: Final = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000)
"""Between two marks on the axis of time, in seconds."""
_MARKS: Final = 5


@dataclass(frozen=True, slots=True)
class Line:
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
    lines: list[Line]
    x_marks: list[tuple[float, str]]
    y_marks: list[tuple[float, str]]


def speeds(times: Values, totals: Values) -> list[float | None]:
    """Growth a second between a point and the one before it."""
    found: list[float | None] = [None]
    for n in range(1, len(times)):
        before, after, since, at = totals[n - 1], totals[n], times[n - 1], times[n]
        if before is None or after is None or since is None or at is None or at <= since:
            found.append(None)
        else:
            found.append(max(0.0, after - before) / (at - since))
    return found


def chart(
    title: str,
    times: Sequence[float],
    named: dict[str, Values],
    words: Callable[[float], str],
    *,
    marks: Callable[[float], str] | None = None,
    colours: Sequence[int] = (1, 2, 3, 4),
) -> Chart | None:
    """A chart of several values over time; None where there is too little to draw.

    `words` says a value, `marks` one of the axis, where that is said otherwise.
    """
    known = [value for values in named.values() for value in values if value is not None]
    if len(times) < 2 or len(known) < 2:
        return None
    step = nice(max(known) / 4)
    top = step * max(1, math.ceil(max(known) / step))
    span = times[-1] - times[0] or 1.0

    def x(at: float) -> float:
        return round(LEFT + (at - times[0]) / span * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM), 1)

    lines = []
    for (name, values), colour in zip(named.items(), colours, strict=False):
        last = next((value for value in reversed(values) if value is not None), None)
        lines.append(Line(name, _polylines(times, values, x, y), "" if last is None else words(last), colour))
    y_marks = [(y(step * n), (marks or words)(step * n)) for n in range(round(top / step) + 1)]
    return Chart(title, lines, [(x(at), text) for at, text in time_marks(times[0], times[-1])], y_marks)


def _polylines(
    times: Sequence[float], values: Values, x: Callable[[float], float], y: Callable[[float], float]
) -> list[str]:
    parts: list[list[str]] = [[]]
    for at, value in zip(times, values, strict=True):
        if value is None:
            parts.append([])
        else:
            parts[-1].append(f"{x(at)},{y(value)}")
    return [" ".join(part) for part in parts if len(part) > 1]


def nice(value: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50, ... (and 0.5, 0.2, 0.1, ...) that is not below `value`; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= value * (1 - 1e-9))


def time_marks(begin: float, end: float) -> list[tuple[float, str]]:
    """Moments between two, with their words (UTC)."""
    step = next(
        (step for step in _STEPS if (end - begin) / step <= _MARKS),
        _STEPS[-1] * math.ceil((end - begin) / _STEPS[-1] / _MARKS),
    )
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 43_200 else "%b %d"
    first = math.ceil(begin / step) * step
    return [
        (float(at), datetime.fromtimestamp(at, UTC).strftime(form)) for at in range(first, math.floor(end) + 1, step)
    ]
