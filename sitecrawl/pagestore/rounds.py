"""The rounds of a crawl: in each all that is known is asked for once more, and what is new is followed.

They are one value in the crawl's database, a MessagePack list with a map of each round's fields, the oldest first. It
is part of every checkpoint: a round that is killed goes on with the figures that its frontier agrees with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgpack

from sitecrawl.base.display import counted
from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import database_to_read, manifest_of
from sitecrawl.crawldir.meta import ROUNDS
from sitecrawl.pagestore.reader import LAST_ID

_MOST: Final = 1_000
"""Rounds that are remembered: the last ones."""


@dataclass(slots=True)
class Round:
    """One of them. What counts URLs counts each once."""

    number: int
    """From 1."""
    began: float
    """Unix time in whole seconds: what was fetched before has not been visited in it."""
    ended: float = 0.0
    """The same; 0 while it goes on, and where it was killed."""
    row: int = 0
    """The last row of the page index before it."""
    is_first: bool = False
    """Whether what is known goes before what has never been fetched, because much of that waited."""
    asked: int = 0
    """Known URLs that were asked for again."""
    new: int = 0
    """Pages at URLs that had none before."""
    changed: int = 0
    """Pages that a reader sees something else of."""
    unchanged: int = 0
    gone: int = 0
    """Pages at whose URLs there is nothing any more: 404 or 410."""
    moved: int = 0
    """Pages whose URLs redirect now."""
    failed: int = 0
    """URLs that were asked for, and gave no answer that says what stands there."""

    @property
    def is_open(self) -> bool:
        return not self.ended

    def __str__(self) -> str:
        """What it found, in words."""
        if not self.asked and not self.new:
            return "nothing new: no known URL was asked for"
        counts = {name: getattr(self, name) for name in ("new", "changed", "gone", "moved")}
        found = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "nothing new"
        failed = f"; {self.failed:,} without a usable answer" if self.failed else ""
        return f"{found} of {counted(self.asked, 'known URL')}{failed}"


def read_rounds(database: Database) -> list[Round]:
    """Those of a crawl, the oldest first. Raises `CorruptFile`."""
    data = database.get("meta", ROUNDS)
    try:
        return [] if data is None else [Round(**fields) for fields in msgpack.unpackb(data)]
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptFile(f"The rounds of the crawl in {database.path} cannot be read: {error}") from error


def rounds_in(directory: Path) -> list[Round]:
    """Those of the crawl in `directory`, the oldest first. Raises `StorageError` where there was none."""
    found: list[Round] = []
    if (directory / "db").is_dir():
        with database_to_read(directory) as database:
            found = read_rounds(database)
    if not found:
        manifest_of(directory)  # a crawl without a round, and no other folder
        raise StorageError(
            f"{directory} has had no further round: begin one with `scrapy update {directory}`, or name a time with "
            "--since"
        )
    return found


def span_of(rounds: Sequence[Round], number: int | None = None) -> tuple[int, int]:
    """The rows of the page index that a round has brought, as far as it has come: those greater than the first, and
    not greater than the second. The last round, if `number` is None. Raises `StorageError` if it is not known.
    """
    place = len(rounds) - 1 if number is None else number - rounds[0].number
    if not 0 <= place < len(rounds):
        raise StorageError(f"There is no round {number}: the crawl knows {rounds[0].number} to {rounds[-1].number}")
    return rounds[place].row, rounds[place + 1].row if place + 1 < len(rounds) else LAST_ID


def pack_rounds(rounds: Sequence[Round]) -> bytes:
    packed: bytes = msgpack.packb([asdict(one) for one in rounds[-_MOST:]])
    return packed
