"""Messages between a worker and its parent process, over a socket that the environment names.

The worker says how it fares, a JSON object a line. It hears one thing, that the other one is gone: then it ends, as
at a Ctrl-C, since nobody would end it any more. A worker never waits for whoever listens. What finds no room is
dropped, but for its last words, which have some seconds.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import sys
from functools import cache
from threading import RLock, Thread
from typing import Any, Final

VARIABLE: Final = "_SITECRAWL_LINE"
"""Environment variable with the socket's descriptor."""
_ROOM: Final = 1 << 20
"""Bytes that may wait to be sent."""
_LAST_WORDS: Final = 5.0
"""Seconds."""


class Line:
    """The worker's end."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - as the function has it
        self._socket = socket.socket(fileno=descriptor)
        self._socket.settimeout(0)
        self._waiting = bytearray()
        self._is_sending = False
        self._lock = RLock()  # loggers of all threads may speak, and handlers of signals amid that
        Thread(target=self._listen, name="line", daemon=True).start()

    def tell(self, **said: Any) -> None:
        """Let the other side hear that, if it listens."""
        line = json.dumps(said).encode() + b"\n"
        with self._lock:
            if len(self._waiting) + len(line) <= _ROOM:
                self._waiting += line
            self._send()

    def relay_log(self, level: str | int) -> None:
        """Let the other side have what is logged from that level on; it goes where it went, too."""
        logging.root.addHandler(_Relay(self, level))

    def close(self) -> None:
        """Say what is still to be said. Further words are lost."""
        with self._lock:
            self._socket.settimeout(_LAST_WORDS)
            self._send()
            self._socket.shutdown(socket.SHUT_WR)

    def _send(self) -> None:
        if self._is_sending:
            return
        self._is_sending = True
        try:
            while self._waiting:
                del self._waiting[: self._socket.send(self._waiting)]
        except (BlockingIOError, TimeoutError):
            pass  # with what comes next
        except OSError:
            self._waiting.clear()  # nobody listens any more
        finally:
            self._is_sending = False

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.select()
        os.kill(os.getpid(), signal.SIGTERM)


class _Relay(logging.Handler):
    """Hands log messages on."""

    def __init__(self, line: Line, level: str | int) -> None:
        super().__init__(level)
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line.tell(log=[record.name, record.levelno, self.format(record)])


@cache
def to_parent() -> Line | None:
    """The line to the process that has started this one as a worker; None where none has."""
    descriptor = os.environ.pop(VARIABLE, "")  # a worker's own processes are no workers
    return Line(int(descriptor)) if descriptor else None


def say(text: str) -> None:
    """Print for the user on stderr; what all workers say is printed once."""
    if (line := to_parent()) is not None:
        line.tell(say=text)
    else:
        print(text, file=sys.stderr, flush=True)


class Ear:
    """The other end, of one worker: `heard` gives what has come since."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._rest = b""
        end.settimeout(0)

    def heard(self) -> list[dict[str, Any]]:
        """Raises `EOFError` when nothing can come any more."""
        try:
            data = self.socket.recv(_ROOM)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            raise EOFError
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
