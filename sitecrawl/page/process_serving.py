"""A process that reads hostile bytes, and may do nothing else.

Its standard input is a socket. It gets its options, gets ready, puts up its fences (`page.sandbox`),
says which of them hold, and then answers one request at a time until the other side is gone. Before the fences are up
it has to have loaded all that it will need: behind them no file can be opened, so no module either.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from sitecrawl.page.process_frames import BadFrame, Ended, frame, read_frame
from sitecrawl.page.sandbox import Rations, confine

SOCKET: Final = 0
NO_MEMORY: Final = 70
"""The exit status of a worker to which the system has given no more memory."""

Answering = Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]
"""Takes a request and its bytes; returns the answer and its bytes."""


def serve(ready: Callable[[dict[str, Any]], Answering]) -> None:
    """Answer requests with the function that `ready` makes of the options, until the peer is gone."""
    receive = partial(os.read, SOCKET)
    begin, _ = read_frame(receive, 0)
    answer = ready(begin)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    fences = confine(Rations(begin["memory"], begin["cpu_seconds"]))
    send({"fences": fences})
    try:
        while True:
            send(*answer(*read_frame(receive, sys.maxsize)))
    except Ended:
        os._exit(0)
    except MemoryError:
        os._exit(NO_MEMORY)


def send(message: dict[str, Any], body: bytes = b"") -> None:
    try:
        left = memoryview(frame(message, body))
    except BadFrame:
        left = memoryview(frame({"too_large": "more than can be told"}))
    while left:
        left = left[os.write(SOCKET, left) :]
