"""The helper that waits for a condition: what it gives back, and how it fails."""

from __future__ import annotations

import asyncio

import pytest
from waiting import until, until_async


def test_what_was_awaited_is_given_back() -> None:
    """The first look that finds something ends the wait."""
    looks = iter(["", [], "found", "too late"])
    assert until(lambda: next(looks), "something") == "found"
    numbers = iter([None, 0, 7])
    assert asyncio.run(until_async(lambda: next(numbers), "a number")) == 7


def test_what_does_not_come_is_named() -> None:
    """The failure says what was awaited, for how long, and what a function knows of it at the end."""
    with pytest.raises(AssertionError, match=r"^Waited 0 s in vain for this: the end of time$"):
        until(lambda: False, "the end of time", 0)
    with pytest.raises(AssertionError, match=r"in vain for this: the log: nothing"):
        asyncio.run(until_async(lambda: None, lambda: "the log: nothing", 0))
