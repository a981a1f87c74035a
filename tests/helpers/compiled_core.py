"""Where the C is: a test of it is skipped on a machine that could not build it.

Where CI says that it has a compiler (`REQUIRE_COMPILED=1`, see .ci/run), such a test fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from sitecrawl.compiled import Native, load


def in_c() -> Native:
    """The C, also where `SITECRAWL_PURE` has switched it off."""
    native, why = load("")
    if native is None:
        said = f"Compiled core: {why}. Install sitecrawl again, with a C compiler"
        if os.environ.get("REQUIRE_COMPILED") == "1":
            pytest.fail(said)
        pytest.skip(said)
    return native


def both_ways(name: str) -> Any:
    """A fixture that has all tests of a module run twice: with `name`, a module's `native`, as None, and as the C."""

    @pytest.fixture(scope="module", autouse=True, params=["python", "c"])
    def way(request: pytest.FixtureRequest) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(name, None if request.param == "python" else in_c())
            yield

    return way
