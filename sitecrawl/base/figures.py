"""Counts over all runs of a crawl, kept in its database, and other MessagePack values that are only shown."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import msgpack


def unpacked(data: bytes | None) -> Any:
    """The value; None where there is none, or none that can be read."""
    if data is not None:
        with suppress(ValueError, msgpack.UnpackException):
            return msgpack.unpackb(data)
    return None


@dataclass(frozen=True, slots=True)
class Figures:
    """Named whole numbers: the fields of a subclass, 0 at first."""

    prefix: ClassVar[str]
    """Prefix of their names in Scrapy's stats."""

    @classmethod
    def unpack(cls, data: bytes | None) -> Self:
        """Figures from what `pack` made. Missing ones are 0, and so are all if `data` cannot be read: they are only
        shown.
        """
        found = unpacked(data)
        counts = found if isinstance(found, dict) else {}
        names = [one.name for one in fields(cls)]
        return cls(**{name: n for name in names if isinstance(n := counts.get(name), int) and n > 0})

    def pack(self) -> bytes:
        """As a MessagePack map."""
        packed: bytes = msgpack.packb(asdict(self))
        return packed

    def __add__(self, other: Self) -> Self:
        theirs = asdict(other)
        return type(self)(**{name: n + theirs[name] for name, n in asdict(self).items()})

    def counts(self) -> dict[str, int]:
        """Values by name."""
        return asdict(self)
