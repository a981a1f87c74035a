"""Server-sent events to many readers, none of whom can cost the crawl anything.

An event is encoded once, however many read it. A reader whose connection is full misses events until it has caught
up: nothing is kept for it, so one that does not read holds the connection's buffers and nothing more.
"""

from __future__ import annotations

import json
from typing import Any, Final, Protocol

MAX_READERS: Final = 32


class Wire(Protocol):
    """A connection that takes bytes."""

    def write(self, data: bytes) -> object: ...

    def unregisterProducer(self) -> object: ...  # noqa: N802 - Twisted's names

    def finish(self) -> object: ...


class Reader:
    """One reader. Twisted's push producer: told when its connection is full, and when it is not any more."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._full = False
        self.missed = 0
        """Events it did not get."""

    def send(self, data: bytes) -> None:
        if self._full:
            self.missed += 1
        else:
            self._wire.write(data)

    def end(self, data: bytes) -> None:
        if not self._full:
            self._wire.write(data)
        self._wire.unregisterProducer()
        self._wire.finish()

    def pauseProducing(self) -> None:  # noqa: N802
        self._full = True

    def resumeProducing(self) -> None:  # noqa: N802
        self._full = False

    def stopProducing(self) -> None:  # noqa: N802
        self._full = True


class Streams:
    """All readers."""

    def __init__(self) -> None:
        self._readers: set[Reader] = set()

    def __len__(self) -> int:
        return len(self._readers)

    @property
    def has_room(self) -> bool:
        return len(self._readers) < MAX_READERS

    def add(self, reader: Reader) -> None:
        self._readers.add(reader)

    def remove(self, reader: Reader) -> None:
        self._readers.discard(reader)

    def send(self, event: str, value: Any) -> None:
        data = encode(event, value) if self._readers else b""
        for reader in tuple(self._readers):
            reader.send(data)

    def end(self, event: str, value: Any) -> None:
        """The last event: all readers are let go."""
        data = encode(event, value)
        for reader in tuple(self._readers):
            reader.end(data)
        self._readers.clear()


def encode(event: str, value: Any) -> bytes:
    """One event. JSON has no line ends, so it is one line of data."""
    return f"event: {event}\ndata: {to_json(value)}\n\n".encode()


def to_json(value: Any) -> str:
    """JSON that is strict (no NaN) and ASCII."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
