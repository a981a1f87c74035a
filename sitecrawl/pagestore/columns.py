"""What the page index's columns may hold. SQLite has no checksums, and takes any value in any column: what damage has
made of a row comes back as a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, get_type_hints

from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.record import Kind

Check = Callable[[object], bool]
_LARGEST: Final = 1 << 53
"""Up to it a float is exact; nothing that is counted or measured here comes near it."""
_END_OF_TIME: Final = 253_402_300_800
"""The year 10,000, which `datetime` has not."""


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LARGEST


def is_time(value: object) -> bool:
    """Whether it is a Unix time that a calendar has."""
    return is_number(value) and value < _END_OF_TIME  # type: ignore[operator]


def or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


_OF_TYPE: Final[dict[object, Check]] = {
    str: is_text,
    Kind: is_text,
    str | None: or_null(is_text),
    int: is_number,
    float: is_number,
    int | None: or_null(is_number),
    float | None: or_null(is_number),
}
CAPTURE: Final[Sequence[Check]] = [
    is_time if name == "fetched" else _OF_TYPE[kind] for name, kind in get_type_hints(Capture).items()
]
"""Of a row of `pages`."""
