"""Tables that several readers share: what was dear to look over is not looked over for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

Rows = dict[str, Any]

_KEPT: Final = 64
_SECONDS: Final = 2.0
_SHARE: Final = 250
"""Rows stand for so many times what they cost: at most 1 / 250 of a core goes into one table."""


class Cache:
    """Rows by question. `clock` is monotonic."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[object, asyncio.Task[tuple[Rows, float]]] = {}
        """The rows, and until when they stand; or who looks for them."""
        self.under_way = 0
        """Questions that are being answered."""

    def knows(self, question: object) -> bool:
        """Whether the rows are there, or on their way."""
        task = self._known.get(question)
        if task is None or not task.done():
            return task is not None
        return task.exception() is None and self._clock() < task.result()[1]

    async def get(self, question: object, find: Callable[[], Coroutine[Any, Any, Rows]]) -> Rows:
        """The rows, from `find` if nobody has asked of late; whoever asks meanwhile waits for the same."""
        if not self.knows(question):
            if len(self._known) >= _KEPT:
                self.forget()
            self.under_way += 1
            self._known[question] = asyncio.ensure_future(self._found(find))
        rows, _ = await self._known[question]
        return rows

    async def _found(self, find: Callable[[], Coroutine[Any, Any, Rows]]) -> tuple[Rows, float]:
        try:
            rows = await find()
        finally:
            self.under_way -= 1
        return rows, self._clock() + max(_SECONDS, rows.get("cost", 0.0) * _SHARE)

    def forget(self) -> None:
        """Something was done: what is known may be wrong, and so may what is being found."""
        self._known.clear()
