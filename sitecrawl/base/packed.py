"""What is kept in MessagePack and only shown: where it cannot be read, there is nothing, and the crawl goes on."""

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
