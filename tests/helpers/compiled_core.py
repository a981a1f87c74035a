"""Where the C is: a test of it is skipped on a machine that could not build it, or fails (`required`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from required import lacking

from sitecrawl.base.compiled import Native, load


def in_c() -> Native:
    """The C, also where `SITECRAWL_PURE` has switched it off."""
    native, why = load("")
    if native is None:
        lacking("COMPILED", f"Compiled core: {why}. Install sitecrawl again, with a C compiler")
    return native


def both_ways(*names: str) -> Any:
    """A fixture that has all tests of a module run twice: with `names`, modules' `native`, as None and as the C."""

    @pytest.fixture(scope="module", autouse=True, params=["python", "c"])
    def way(request: pytest.FixtureRequest) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in names:
                patch.setattr(name, None if request.param == "python" else in_c())
            yield

    return way


def with_any_character(place: int) -> Iterator[str]:
    """A word of 18 letters with one character of many kinds at `place`, cut there, and the other way round. The C
    reads eight bytes at once: what ends them is to be seen wherever among them it stands.
    """
    word = "AbcdefGhIjklmnoPqr"
    for code in [*range(128), 0xA0, 0xE9, 0x130, 0x2003, 0x3000, 0x65E5, 0x1F642]:
        yield f"{word[:place]}{chr(code)}{word[place:]}"
        yield f"{word[:place]}{chr(code)}"
        yield f"{chr(code)}{word[:place]}"
