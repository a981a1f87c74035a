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
