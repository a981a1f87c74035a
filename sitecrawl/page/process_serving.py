"""A process that reads hostile bytes, and may do nothing else.

Its standard input is a socket. It gets its options, gets ready, puts up its fences (`page.sandbox`),
says which of them hold, and then answers one request at a time until the other side is gone. Before the fences are up
it has to have loaded all that it will need: behind them no file can be opened, so no module either.

Between it and the crawl go frames: a JSON object and bytes, each with its length first.

    length of the object, 4 bytes   length of the bytes, 4 bytes   the object, UTF-8   the bytes

Lengths are big-endian, and are compared with what is allowed before anything of that length is read. Nothing is
unpickled on either side.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.page.sandbox import confine

_LENGTHS: Final = struct.Struct("!II")
_PIECE: Final = 1 << 20

_MAX_OBJECT: Final = 64 << 20
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
    if len(packed) > _MAX_OBJECT:
        raise BadFrame(f"a message of {len(packed):,} bytes")
    return b"".join((_LENGTHS.pack(len(packed), len(body)), packed, body))


def read_frame(receive: _Receive, max_body: int) -> tuple[dict[str, Any], bytes]:
    """The next frame. Raises `Ended` and `BadFrame`, and what `receive` raises."""
    length, body_length = _LENGTHS.unpack(_exactly(_LENGTHS.size, receive))
    if length > _MAX_OBJECT or body_length > max_body:
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


_SOCKET: Final = 0
NO_MEMORY: Final = 70
"""The exit status of a worker to which the system has given no more memory."""

Answering = Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]
"""Takes a request and its bytes; returns the answer and its bytes."""


def serve(ready: Callable[[dict[str, Any]], Answering]) -> None:
    """Answer requests with the function that `ready` makes of the options, until the peer is gone."""
    receive = partial(os.read, _SOCKET)
    begin, _ = read_frame(receive, 0)
    answer = ready(begin)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    fences = confine(begin["memory"], begin["cpu_seconds"])
    _send({"fences": fences})
    try:
        while True:
            _send(*answer(*read_frame(receive, sys.maxsize)))
    except Ended:
        os._exit(0)
    except MemoryError:
        os._exit(NO_MEMORY)


def _send(message: dict[str, Any], body: bytes = b"") -> None:
    try:
        left = memoryview(frame(message, body))
    except BadFrame:
        left = memoryview(frame({"too_large": "more than can be told"}))
    while left:
        left = left[os.write(_SOCKET, left) :]
