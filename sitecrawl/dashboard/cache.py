"""Tables that several readers share: what was dear to look over is not looked over for each of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

Rows = dict[str, Any]

_KEPT: Final = 64
_SECONDS: Final = 2.0
_SHARE: Final = 250
"""Rows stand for so many times what they cost: at most 1 / 250 of a core goes into one table."""
_LOOK_AGAIN: Final = 0.05


class Cache:
    """Rows by question. `clock` is monotonic; `pause` lets the event loop go on for so many seconds."""

    def __init__(self, *, clock: Callable[[], float], pause: Callable[[float], Awaitable[object]]) -> None:
        self._clock = clock
        self._pause = pause
        self._known: dict[object, tuple[float, Rows]] = {}
        """Until when they stand, and the rows."""
        self._asked: set[object] = set()
        """Questions that are being answered."""

    @property
    def under_way(self) -> int:
        return len(self._asked)

    def knows(self, question: object) -> bool:
        """Whether the rows are there, or on their way."""
        return question in self._asked or self._fresh(question) is not None

    async def get(self, question: object, find: Callable[[], Awaitable[Rows]]) -> Rows:
        """The rows, from `find` if nobody has asked of late; whoever asks meanwhile waits for the same."""
        while question in self._asked:
            await self._pause(_LOOK_AGAIN)
        if (rows := self._fresh(question)) is not None:
            return rows
        self._asked.add(question)
        known = self._known
        try:
            rows = await find()
        finally:
            self._asked.discard(question)
        if len(known) >= _KEPT:
            known.clear()
        known[question] = self._clock() + max(_SECONDS, rows.get("cost", 0.0) * _SHARE), rows
        return rows

    def _fresh(self, question: object) -> Rows | None:
        until, rows = self._known.get(question, (0.0, {}))
        return rows if self._clock() < until else None

    def forget(self) -> None:
        """Something was done: what is known may be wrong, and so may what is being found."""
        self._known = {}
