"""What goes between a crawl and a process that reads its pages: a JSON object and bytes, each with its length first.

    length of the object, 4 bytes   length of the bytes, 4 bytes   the object, UTF-8   the bytes

Lengths are big-endian, and are compared with what is allowed before anything of that length is read. Nothing is
unpickled on either side.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, Final

from sitecrawl.base.errors import SitecrawlError

_LENGTHS: Final = struct.Struct("!II")
_PIECE: Final = 1 << 20

MAX_OBJECT: Final = 64 << 20
"""Bytes of an object: a page with 50,000 links has 10 MB."""

_Receive = Callable[[int], bytes]
"""Reads at most so many bytes; empty at the end of the stream."""


class Ended(SitecrawlError):
    """The peer closed the connection, between two frames or within one."""


class BadFrame(SitecrawlError):
    """Bytes that are no frame, or one that is too large."""


class BadAnswer(SitecrawlError):
    """A well-formed frame with impossible content."""


def frame(message: dict[str, Any], body: bytes = b"") -> bytes:
    """Raises `BadFrame` if it is too large for the peer to read."""
    packed = json.dumps(message, separators=(",", ":")).encode("ascii")
    if len(packed) > MAX_OBJECT:
        raise BadFrame(f"a message of {len(packed):,} bytes")
    return b"".join((_LENGTHS.pack(len(packed), len(body)), packed, body))


def read_frame(receive: _Receive, max_body: int) -> tuple[dict[str, Any], bytes]:
    """The next frame. Raises `Ended` and `BadFrame`, and what `receive` raises."""
    length, body_length = _LENGTHS.unpack(_exactly(_LENGTHS.size, receive))
    if length > MAX_OBJECT or body_length > max_body:
        raise BadFrame(f"a frame of {length:,} and {body_length:,} bytes")
    packed = _exactly(length, receive)
    try:
        message = json.loads(packed)
    except (ValueError, RecursionError) as error:
        raise BadFrame("no JSON") from error
    if not isinstance(message, dict):
        raise BadFrame("no JSON object")
    return message, _exactly(body_length, receive)


def _exactly(length: int, receive: _Receive) -> bytes:
    pieces, left = [], length
    while left:
        piece = receive(min(left, _PIECE))
        if not piece:
            raise Ended("the other side has gone")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
