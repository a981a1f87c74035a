"""Regular expressions of the code, each compiled at its first use.

Compiling those of all modules takes a twentieth of a crawl's start, and a small site needs few of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, AnyStr, cast


class _Later:
    """Compiles an expression when one of its methods is asked for, and caches these methods."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    @cached_property
    def _compiled(self) -> Any:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def expression(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile` for a constant of a module."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
