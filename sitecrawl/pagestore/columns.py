"""Valid values of the page index's columns.

SQLite has no checksums, and takes any value in any column, so a damaged row would come back as a row. Hence each row
has a checksum; of a sum over rows only the type can be checked.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final, get_args, get_type_hints

from sitecrawl.pagestore.capture import Capture

Check = Callable[[object], bool]
_LARGEST: Final = 1 << 53
"""Floats are exact up to it; nothing counted or measured here comes near it."""
_END_OF_TIME: Final = 253_402_300_800
"""The year 10,000, which `datetime` has not."""


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LARGEST


def is_time(value: object) -> bool:
    """Whether it is a Unix time within the calendar."""
    return is_number(value) and value < _END_OF_TIME  # type: ignore[operator]


def or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


_REALS: Final = [at for at, kind in enumerate(get_type_hints(Capture).values()) if float in (kind, *get_args(kind))]
"""Their positions in a row."""
_as_json: Final = json.JSONEncoder().encode


def checksum(capture: Capture) -> int:
    """CRC-32 of a row of `pages`, with values as columns of their types return them. Raises `TypeError` for a
    BLOB.
    """
    values = [*capture]
    for at in _REALS:
        if isinstance(value := values[at], int):
            values[at] = float(value)
    return zlib.crc32(_as_json(values).encode())


def whole_row(row: Sequence[Any]) -> Capture | None:
    """The capture of a row of `pages` with its checksum last; None if the checksum does not match."""
    capture = Capture._make(row[:-1])
    try:
        return capture if checksum(capture) == row[-1] else None
    except (TypeError, OverflowError):
        return None
