"""Finding a keyword in a page as a reader would: by what the letters say, not by their bytes.

Two texts are alike if they are after Unicode's normalisation form NFKC and its case folding, without the characters
that nobody sees (soft hyphens, zero-width spaces and joiners, direction marks), and with every run of white space one
space. So `straße` finds `STRASSE`, `file` the ligature `ﬁle`, `e` + accent finds `é`; `cafe` does not find `café`. A
keyword is found wherever its letters stand, also within a word, but on one line: see `sitecrawl.page.text_lines`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final
from unicodedata import combining, normalize

from sitecrawl.base.errors import OptionError
from sitecrawl.page import media_type as media
from sitecrawl.page.items import PageItem
from sitecrawl.page.text_lines import Line, html_lines, plain_lines
from sitecrawl.page.xhtml import as_html

_MAX_LENGTH: Final = 100
"""Of a keyword, in characters."""
_SHOWN: Final = 200
"""Characters of a line that are reported, the keyword in their midst."""

# Unicode's property Default_Ignorable_Code_Point, as far as it occurs in texts.
_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")

_MOST_MARKS: Final = 30
"""Combining marks in a row: UAX #15, section 13, has no text with more."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a keyword stands."""

    url: str
    line: int
    """Of the page's source, from 1 on, where the keyword begins."""
    text: str
    """The line as a reader sees it; of a long one, what is around the keyword."""
    depth: int
    """The start has depth 1."""
    keyword: str


class Keyword:
    """A text to look for, of 1 to 100 characters. Raises `OptionError` for any other."""

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_LENGTH:
            raise OptionError(f"The keyword has {len(text)} characters, and {_MAX_LENGTH} is the limit")
        self.text = text
        self._folded = _folded(text)
        if not self._folded:
            raise OptionError("The keyword is empty: say what to look for")

    def find(self, page: PageItem, text: str) -> Found | None:
        """The first place in `page`, of which `text` is read, if it is text at all."""
        if page.charset is None:
            return None
        lines = html_lines if page.content_type in media.HTML else plain_lines
        for line in lines(as_html(text, page.content_type)):
            if self._folded in _folded(line.text):
                return self._found(page, line)
        return None

    def _found(self, page: PageItem, line: Line) -> Found:
        text = line.text
        end = _least(len(text), lambda end: self._folded in _folded(text[:end]))
        start = end - _least(end, lambda length: self._folded in _folded(text[end - length : end]))
        return Found(page.url, line.number_at(start), _around(text, start, end), page.depth + 1, self.text)


@cache
def _too_many_marks() -> re.Pattern[str]:
    """Pattern of more combining marks in a row than any text has. Built on first use: it takes 30 ms."""
    marks = "".join(char for char in map(chr, range(0x300, 0x1F000)) if combining(normalize("NFKD", char)[0]))
    return re.compile(f"[{marks}]{{{_MOST_MARKS + 1},}}")


def _few_marks(text: str) -> str:
    """Cut long runs of combining marks: normalizing n of them takes Python n * n steps."""
    return _too_many_marks().sub(lambda marks: marks[0][:_MOST_MARKS], text)


def _folded(text: str) -> str:
    """A form that is equal for texts that look the same to a reader."""
    if text.isascii():
        return " ".join(text.lower().split())
    seen = normalize("NFKC", _few_marks(_UNSEEN.sub("", text))).casefold()
    return " ".join(normalize("NFKC", seen).split())


def _seen(text: str) -> str:
    return " ".join(_UNSEEN.sub("", text).split())


def _least(greatest: int, holds: Callable[[int], bool]) -> int:
    """The least number for which something holds that holds for `greatest`, not for 0, and grows."""
    return bisect_left(range(greatest), 1, lo=1, key=holds)


def _around(text: str, start: int, end: int) -> str:
    """The part from `start` to `end` with what is near it, white space collapsed."""
    before, found, after = (_seen(part) for part in (text[:start], text[start:end], text[end:]))
    left = " " if before and text[start - 1 : start].isspace() else ""
    right = " " if after and text[end : end + 1].isspace() else ""
    found = found[:_SHOWN]
    room = max(0, _SHOWN - len(found))
    tail = min(len(after), max(room // 2, room - len(before)))
    head = min(len(before), room - tail)
    cut_before = "…" if head < len(before) else ""
    cut_after = "…" if tail < len(after) else ""
    return f"{cut_before}{before[len(before) - head :]}{left}{found}{right}{after[:tail]}{cut_after}"
