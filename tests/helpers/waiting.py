"""Waiting until something has come to pass, instead of for a time in which it should have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
What = str | Callable[[], str]
"""What is awaited, for the message when it does not come; a function is asked only then, as for the end of a log."""

PATIENCE = 600.0
"""Seconds that anything is waited for: far more than it takes where every processor has five times as much to do."""

FOREVER = 10 * PATIENCE
"""Seconds for what is to hang, or to take too long: who waits for its end is waited for in vain."""

_PAUSE = 0.02
"""Seconds between two looks."""


def until(condition: Callable[[], Found | None], what: What, seconds: float = PATIENCE) -> Found:
    """What `condition` gives, once it is something. Fails after so many seconds."""
    __tracebackhide__ = True
    for _ in range(_looks(seconds)):
        if found := condition():
            return found
        time.sleep(_PAUSE)
    raise AssertionError(_in_vain(what, seconds))


async def until_async(condition: Callable[[], Found | None], what: What, seconds: float = PATIENCE) -> Found:
    """The same, for what happens on the event loop of the test itself."""
    __tracebackhide__ = True
    for _ in range(_looks(seconds)):
        if found := condition():
            return found
        await asyncio.sleep(_PAUSE)
    raise AssertionError(_in_vain(what, seconds))


def _looks(seconds: float) -> int:
    """Looks are counted, and no clock is asked: while a machine stands still, nothing has been waited for."""
    return max(1, round(seconds / _PAUSE))


def _in_vain(what: What, seconds: float) -> str:
    return f"Waited {seconds:g} s in vain for this: {what if isinstance(what, str) else what()}"
