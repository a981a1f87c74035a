"""In which line of a TOML file each key and item stands, which Python's `tomllib` does not tell.

It reads texts that `tomllib` has taken, and so need not find mistakes. It goes over each character once.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Final

from sitecrawl.base.schemas import Place

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\])*"' r"|'[^']*'", re.DOTALL
)
_PLAIN: Final = re.compile(r"[^,\]}#\r\n]*")
"""Numbers, dates, true and false."""


def lines_of(text: str) -> dict[Place, int]:
    """The line of each place; of a table that stands in several pieces, the first."""
    return _Walk(text).lines


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._lengths: dict[Place, int] = {}
        """Of arrays of tables."""
        self.lines: dict[Place, int] = {}
        table: Place = ()
        while self._skip(_BLANK) < len(text):
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return self._at

    def _note(self, place: Place, at: int) -> None:
        self.lines.setdefault(place, bisect_right(self._starts, at))

    def _header(self) -> Place:
        start = self._at
        brackets = 2 if self._text.startswith("[[", start) else 1
        self._at += brackets
        place: Place = ()
        keys = self._keys()
        for number, key in enumerate(keys, 1):
            place = (*place, key)
            self._note(place, start)
            if number == len(keys) and brackets == 2:
                self._lengths[place] = self._lengths.get(place, 0) + 1
            if place in self._lengths:
                place = (*place, self._lengths[place] - 1)
                self._note(place, start)
        self._at += brackets
        return place

    def _pair(self, table: Place) -> None:
        start, place = self._at, table
        for key in self._keys():
            place = (*place, key)
            self._note(place, start)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(place)

    def _keys(self) -> list[str]:
        """Of a dotted key, up to what follows it."""
        keys = []
        while True:
            self._skip(_SPACE)
            start = self._at
            self._skip(_QUOTED if self._next() in {'"', "'"} else _BARE)
            keys.append(next(iter(tomllib.loads(f"{self._text[start : self._at]} = 0"))))
            self._skip(_SPACE)
            if self._next() != ".":
                return keys
            self._at += 1

    def _value(self, place: Place) -> None:
        match self._next():
            case "[":
                self._array(place)
            case "{":
                self._inline_table(place)
            case '"' | "'":
                self._skip(_QUOTED)
            case _:
                self._skip(_PLAIN)

    def _array(self, place: Place) -> None:
        self._at += 1
        number = 0
        while self._skip(_BLANK) < len(self._text) and self._next() != "]":
            self._note((*place, number), self._at)
            self._value((*place, number))
            self._skip(_BLANK)
            if self._next() == ",":
                self._at += 1
                number += 1
        self._at += 1

    def _inline_table(self, place: Place) -> None:
        self._at += 1
        while self._skip(_BLANK) < len(self._text) and self._next() != "}":
            self._pair(place)
            self._skip(_BLANK)
            if self._next() == ",":
                self._at += 1
        self._at += 1
