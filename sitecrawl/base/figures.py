"""What is counted over all runs of a crawl, and kept in its database."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import ClassVar, Self

import msgpack

from sitecrawl.base.packed import unpacked


@dataclass(frozen=True, slots=True)
class Figures:
    """Whole numbers, each with a name: a subclass has them as fields, 0 at first."""

    prefix: ClassVar[str]
    """What stands before their names in Scrapy's stats."""

    @classmethod
    def unpack(cls, data: bytes | None) -> Self:
        """What `pack` made `data` of; a figure that is not there is 0, and so are all of what cannot be read: nothing
        but what is shown depends on them.
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
        """By name."""
        return asdict(self)
