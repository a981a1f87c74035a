"""Whether a host has dried up: a long row of its fetches brought hardly anything that nobody had.

It is asked once for each row. A row is a quarter of all its fetches, and at least `ROW`: a site that begins with a
thousand forms of one page has not dried up for that. What was counted is forgotten at a restart: then the next row
says so.
"""

from __future__ import annotations

from typing import Final

ROW: Final = 600
"""Fetches of a row, at least."""
PART: Final = 4
"""And at least one in so many of all fetches."""
FEW: Final = 0.01
"""The share of a row's fetches that brought something new, below which it is dry."""


class Drought:
    __slots__ = ("_fetches", "_new")

    def __init__(self) -> None:
        self._fetches = 0
        self._new = 0

    def ends_row(self, fetched: int, *, new: bool) -> bool | None:
        """A fetch has ended, of `fetched` in all. At the end of a row: whether it was dry; else None."""
        self._fetches += 1
        self._new += new
        if self._fetches < max(ROW, fetched / PART):
            return None
        is_dry = self._new < FEW * self._fetches
        self._fetches = self._new = 0
        return is_dry
