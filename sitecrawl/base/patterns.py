"""Regular expressions that users write, in arguments, settings and files: all of them are compiled and run here.

Python's own cannot be stopped: one that backtracks holds up the crawl for good, and every signal with it. Those of
the library `regex` can, and whoever runs one says for how long.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from typing import Any, Final

from sitecrawl.base.limits import REGEX_TIME
from sitecrawl.base.setting import NO_LIMIT

Pattern = Any
"""A compiled one: `regex` has no type hints."""
_SHARE: Final = 0.5


class BadPattern(ValueError):
    """A text that is no regular expression: the message says why."""


def compiled(text: str) -> Pattern:
    """Raises `BadPattern`."""
    import regex  # noqa: PLC0415 - it takes long to import, and most crawls have no pattern

    try:
        return regex.compile(text)
    except (regex.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"{text!r} is no regular expression: {error}") from None


class MatchTime:
    """Seconds for matches, 0 for no limit. A match that would take longer is stopped.

    With `recovers` half of all time that goes by comes back, up to where it began: for matches that are part of no
    page. Else they are all that there is.
    """

    def __init__(self, seconds: float = REGEX_TIME.default, *, recovers: bool = False) -> None:
        self.left = self._most = seconds or NO_LIMIT
        self.stopped = 0
        """Matches that were stopped, or not begun for want of time."""
        self._share = _SHARE if recovers else 0.0
        self._since = 0.0

    def search(self, pattern: Pattern, text: str) -> bool | None:
        """Whether `pattern` is in `text`; None where nobody knows, for it was stopped."""
        stopped = self.stopped
        with closing(self.find(pattern, text)) as found:
            is_there = next(found, None) is not None
        return None if self.stopped > stopped else is_there

    def find(self, pattern: Pattern, text: str) -> Generator[str, None, None]:
        """What `pattern` finds in `text`, as long as there is time: its first group, or all that it matches."""
        now = time.monotonic()
        self.left = min(self._most, self.left + self._share * (now - self._since))
        if self.left <= 0:
            self._since = now
            self.stopped += 1
            return
        try:
            for match in pattern.finditer(text, timeout=self.left if self.left < NO_LIMIT else None):
                yield match[1 if pattern.groups else 0] or ""
        except TimeoutError:
            self.stopped += 1
        finally:
            self._since = time.monotonic()
            self.left -= self._since - now
