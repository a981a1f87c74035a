"""MessagePack values that are only shown: an unreadable one counts as missing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgpack


def unpacked(data: bytes | None) -> Any:
    """The value; None where there is none, or none that can be read."""
    if data is not None:
        with suppress(ValueError, msgpack.UnpackException):
            return msgpack.unpackb(data)
    return None
