"""Whether a host has dried up: a long row of its fetches brought hardly anything that it had not shown.

It is asked once for each row. A row is a quarter of all its fetches, and at least `FAIR_TRY`: a site that begins with
a thousand forms of one page has not dried up for that. A page brings something if nobody had its content, and at
least `NEWS` of its text is new to its host (`page.shown_text`): an empty day of a calendar, a list in another
order or a print view are no news. Of the texts one in a few is looked at, and stands for those of its section that
follow. What was counted and shown is forgotten at a restart: then the next row says so.

A drought is *long* when its rows are half of all fetches, and at least `LONG`: whatever waits then is not likely to
say anything, be it finite or not.
"""

from __future__ import annotations

from typing import Final

from sitecrawl.frontier.urls.options import FAIR_TRY
from sitecrawl.page.shown_text import ShownText

PART: Final = 4
"""A row is `FAIR_TRY` fetches, and at least one in so many of all. At the end as many are tests of a rule about URLs
that takes away few values.
"""
LONG: Final = 3000
"""Fetches of a long drought, at least; and as many as all fetches before it."""
FEW: Final = 0.01
"""The share of a row's fetches that brought something new, below which it is dry."""
NEWS: Final = 0.2
"""The share of a text that is new to its host, from which on the page says something new."""
WORDS: Final = 32
"""New words that are news: a date, a number or a name alone are none."""


class Drought:
    __slots__ = ("_dry", "_fetches", "_new", "_text")

    def __init__(self) -> None:
        self._text: ShownText | None = None
        self._dry = 0
        """Fetches of the rows that were dry, since one that was not."""
        self._fetches = 0
        self._new = 0

    def is_news(self, sample: bytes | None) -> bool | None:
        """Whether a page that nobody had says something new: by a sample of its text, empty where it has none, None
        where it was not taken. None where that cannot be said.
        """
        if not sample:
            return None if sample is None else True
        if self._text is None:
            self._text = ShownText()
        found = self._text.look(sample)
        return found.share >= NEWS and found.new >= WORDS

    def ends_row(self, fetched: int, *, new: bool) -> bool | None:
        """A fetch has ended, of `fetched` in all. At the end of a row: whether it was dry; else None."""
        self._fetches += 1
        self._new += new
        if self._fetches < max(FAIR_TRY, fetched / PART):
            return None
        is_dry = self._new < FEW * self._fetches
        self._dry = self._dry + self._fetches if is_dry else 0
        self._fetches = self._new = 0
        return is_dry

    def is_long(self, fetched: int) -> bool:
        """Whether the drought up to the last row was long, after so many fetches in all."""
        return self._dry >= max(LONG, fetched - self._dry)
