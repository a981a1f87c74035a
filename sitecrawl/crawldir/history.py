"""A crawl's figures over time, in bounded space.

Points are taken at a fixed interval; when there is no room, every second one is deleted and the interval doubles. So
a minute is known by seconds and a month by hours, in at most `capacity` points. Totals stay totals, so the difference
of two points gives the true mean speed between them.

On disk it is one value: a MessagePack map of `format`, `interval` (seconds), `columns` (their names) and `points`,
all of them as binary64 in big-endian, point by point, each led by its Unix time. The names are stored, so a later
version may know more columns: what a point lacks is NaN. A crash costs the points since the history was last stored.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgpack

from sitecrawl.base.errors import CorruptFile, FormatMismatch

_FORMAT: Final = 1
_CAPACITY: Final = 720
_SLACK: Final = 0.2
"""Seconds by which a point may be early, as timers are inexact."""
_PAUSE: Final = 3
"""Intervals without a point that make a pause."""


class History:
    """Points of `columns`, at most `capacity`, `interval` seconds apart at first."""

    def __init__(self, columns: Sequence[str], *, capacity: int = _CAPACITY, interval: float = 1.0) -> None:
        if capacity < 2:
            raise ValueError(f"A history of {capacity} points shows nothing: ask for 2 or more")
        self.columns = tuple(columns)
        self.interval = interval
        self._capacity = capacity
        self._points: list[tuple[float, ...]] = []
        self._latest: tuple[float, ...] | None = None
        """A point too soon after the last, shown until another follows."""

    def add(self, at: float, values: Mapping[str, float]) -> None:
        """Note the values at the Unix time `at`; ignored if the clock was set back."""
        point = (at, *(float(values.get(name, math.nan)) for name in self.columns))
        if self._points and at < self._points[-1][0] + self.interval - _SLACK:
            if at > self._points[-1][0]:
                self._latest = point
            return
        self._latest = None
        self._points.append(point)
        if len(self._points) > self._capacity:
            del self._points[1::2]
            self.interval *= 2

    def __len__(self) -> int:
        return len(self._points) + (self._latest is not None)

    def points(self) -> list[tuple[float, ...]]:
        """Unix time and values, the oldest first."""
        return self._points + ([self._latest] if self._latest is not None else [])

    def series(self, wanted: Collection[str] = ()) -> dict[str, list[float | None]]:
        """Values by column, and the times as `t`; only `wanted` ones if given. None for unknown values, and once in
        each pause, so that two runs do not look like one.
        """
        names = ("t", *self.columns)
        rows = [*self._with_pauses()]
        return {
            name: [None if math.isnan(row[n]) else row[n] for row in rows]
            for n, name in enumerate(names)
            if not wanted or name in wanted
        }

    def _with_pauses(self) -> Iterator[tuple[float, ...]]:
        """The points, with an empty one in each pause."""
        before = math.inf
        for row in self.points():
            if row[0] - before > _PAUSE * self.interval:
                yield ((before + row[0]) / 2, *(math.nan for _ in self.columns))
            yield row
            before = row[0]

    def last(self) -> dict[str, float]:
        """The latest known values; empty before any."""
        rows = self.points()
        return {} if not rows else {n: v for n, v in zip(self.columns, rows[-1][1:], strict=True) if v == v}  # noqa: PLR0124 - NaN

    def pack(self) -> bytes:
        rows = self.points()
        flat = [value for row in rows for value in row]
        packed: bytes = msgpack.packb(
            {
                "format": _FORMAT,
                "interval": self.interval,
                "columns": self.columns,
                "points": struct.pack(f">{len(flat)}d", *flat),
            }
        )
        return packed

    @classmethod
    def unpack(cls, data: bytes, columns: Sequence[str] | None = None, *, capacity: int = _CAPACITY) -> History:
        """The history in `data`, with the columns that are asked for, or those that it has.

        Raises `CorruptFile` for bytes that no `pack` wrote, `FormatMismatch` for those of another version.
        """
        interval, stored, points = _fields(data)
        history = cls(stored if columns is None else columns, capacity=capacity, interval=interval)
        for row in points:
            known = dict(zip(stored, row[1:], strict=True))
            history._points.append((row[0], *(known.get(name, math.nan) for name in history.columns)))
        while len(history._points) > capacity:
            del history._points[1::2]
            history.interval *= 2
        return history


def _fields(data: bytes) -> tuple[float, list[str], list[tuple[float, ...]]]:
    try:
        found = msgpack.unpackb(data)
        version = found["format"]
        if version != _FORMAT:
            raise FormatMismatch(
                f"The history has format {version}, and this version reads {_FORMAT}: use the version that wrote it"
            )
        interval, columns, points = (
            float(found["interval"]),
            [str(name) for name in found["columns"]],
            found["points"],
        )
        rows = list(struct.iter_unpack(f">{1 + len(columns)}d", points))
    except (ValueError, TypeError, KeyError, struct.error, msgpack.UnpackException) as error:
        raise CorruptFile(f"The history of {len(data)} bytes cannot be read: {error!r}") from error
    if not 0 < interval < math.inf:
        raise CorruptFile(f"The history of {len(data)} bytes has points {interval} seconds apart")
    return interval, columns, rows
