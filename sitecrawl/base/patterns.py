"""Regular expressions that users write, in arguments, settings and files, with a time limit.

Python's `re` cannot be stopped: an expression that backtracks would block the crawl and every signal. The library
`regex` takes a timeout.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from typing import Any, Final

from sitecrawl.base.limits import REGEX_TIME

Pattern = Any
"""A compiled one: `regex` has no type hints."""
_SHARE: Final = 0.5


class BadPattern(ValueError):
    """A text that is no regular expression: the message says why."""


def compiled(text: str) -> Pattern:
    """Compile `text`. Raises `BadPattern`."""
    import regex  # noqa: PLC0415 - it takes long to import, and most crawls have no pattern

    try:
        return regex.compile(text)
    except (regex.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{text!r} is no regular expression: {error}") from None


class MatchTime:
    """Time budget for matches, in seconds, `REGEX_TIME` by default. A match that would exceed it is stopped.

    With `recovers`, half of all time that passes is given back, up to the initial budget: for matches that belong to
    no page.
    """

    def __init__(self, seconds: float | None = None, *, recovers: bool = False) -> None:
        self.left = self._most = REGEX_TIME.value if seconds is None else seconds
        self.stopped = 0
        """Matches that were stopped, or not begun because no time was left."""
        self._share = _SHARE if recovers else 0.0
        self._since = 0.0

    def search(self, pattern: Pattern, text: str) -> bool | None:
        """Whether `pattern` is in `text`; None if the match was stopped."""
        stopped = self.stopped
        with closing(self.find(pattern, text)) as found:
            is_there = next(found, None) is not None
        return None if self.stopped > stopped else is_there

    def find(self, pattern: Pattern, text: str) -> Generator[str, None, None]:
        """Yield what `pattern` finds in `text` while time is left: the first group, or the whole match."""
        now = time.monotonic()
        self.left = min(self._most, self.left + self._share * (now - self._since))
        if self.left <= 0:
            self._since = now
            self.stopped += 1
            return
        try:
            for match in pattern.finditer(text, timeout=self.left):
                yield match[1 if pattern.groups else 0] or ""
        except TimeoutError:
            self.stopped += 1
        finally:
            self._since = time.monotonic()
            self.left -= self._since - now
