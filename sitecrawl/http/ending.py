"""Waits that another task can end with an error. (A cancelled task could only guess the reason.)"""

from __future__ import annotations

import asyncio
from typing import Any


class Ending:
    """The ending of one download, which waits for one future at a time."""

    __slots__ = ("_waits_for", "error")

    def __init__(self) -> None:
        self._waits_for: asyncio.Future[Any] | None = None
        self.error: Exception | None = None
        """The error that ended it."""

    def end(self, error: Exception) -> bool:
        """Raise `error` in the current or next wait; False if it was ended before with another."""
        if self.error is not None:
            return False
        self.error = error
        if self._waits_for is not None:
            self._waits_for.cancel()
        return True

    async def wait(self, future: asyncio.Future[Any]) -> Any:
        """Wait for `future`. Raises its error, or that of `end`."""
        if self.error is not None:
            if not future.cancel():
                future.exception()  # asyncio complains of an error that nobody has looked at
            raise self.error
        self._waits_for = future
        try:
            return await future
        except asyncio.CancelledError:
            if self.error is not None:
                raise self.error from None
            future.cancel()
            raise
        finally:
            self._waits_for = None
