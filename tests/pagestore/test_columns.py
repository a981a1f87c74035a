"""The checksum of a row of the page index."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

import pytest

from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.columns import checksum

ROW: dict[str, Any] = dict.fromkeys(Capture._fields) | {"id": 1, "fetched": 1.5, "seconds": 0.25}


@pytest.mark.parametrize(
    "value",
    [
        None, "", "text", 'a "quoted" \\ one', "\x00\x1f\x7f\n", "\u00e9 \u65e5 \U0001f642", "\ud800", 0, -1, 1 << 70,
        0.1, 1e22, 5e-324, -0.0, math.nan, math.inf, -math.inf, True, [1, "two"],
    ],
)  # fmt: skip
def test_it_is_that_of_json(value: object) -> None:
    """Whatever stands in a column, as in docs/formats/page-store.md."""
    capture = Capture(**(ROW | {"title": value}))
    assert checksum(capture) == zlib.crc32(json.dumps([*capture]).encode())


def test_whole_numbers_in_columns_of_reals() -> None:
    """SQLite gives them back with a point."""
    assert checksum(Capture(**(ROW | {"fetched": 2}))) == checksum(Capture(**(ROW | {"fetched": 2.0})))


def test_bytes_are_no_value() -> None:
    with pytest.raises(TypeError):
        checksum(Capture(**(ROW | {"title": b"x"})))
