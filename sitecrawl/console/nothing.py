"""Why a command has nothing to show: what the store holds, and which option leaves none of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, Generic, TypeVar

from sitecrawl.base.display import counted
from sitecrawl.pagestore.reader import PageFilter
from sitecrawl.pagestore.workers import Reader, readers_of

_OPTIONS: Final = {
    "kind": "--kind",
    "status": "--status",
    "host": "--host",
    "content_type": "--type",
    "url_like": "--url-like",
}
"""Fields of a `PageFilter`, and the options that set them, `since` aside, whose value is a time by then."""

_T = TypeVar("_T")


class Counted(Generic[_T]):
    """Rows, and how many of them have been asked for."""

    def __init__(self, rows: Iterable[_T]) -> None:
        self._rows = rows
        self.number = 0

    def __iter__(self) -> Iterator[_T]:
        for row in self._rows:
            self.number += 1
            yield row


def why_nothing(reader: Reader, wanted: PageFilter) -> str:
    """To be said where `wanted` leaves no capture."""
    asked = {name: getattr(wanted, name) for name in (*_OPTIONS, "since")}
    said = {name: _option(name, value) for name, value in asked.items() if value is not None}
    if not said:
        return in_store(reader)
    nobody = PageFilter()
    alone = [words for name, words in said.items() if not _count(reader, replace(nobody, **{name: asked[name]}))]
    words = alone[0] if alone else " and ".join(said.values())
    return in_store(reader, f"nothing has {words}")


def in_store(reader: Reader, why: str = "") -> str:
    """What the store holds, and `why` that is of no use."""
    kinds: Counter[str] = Counter()
    for one in readers_of(reader):
        kinds.update(dict(one.rows("SELECT kind, count(*) FROM pages GROUP BY kind")))
    if not kinds:
        return "the store is empty"
    parts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
    total = f"the store holds {counted(kinds.total(), 'capture')} ({parts})"
    return f"{why}: {total}" if why else total


def _count(reader: Reader, wanted: PageFilter) -> int:
    return sum(one.number_of(wanted) for one in readers_of(reader))


def _option(name: str, value: object) -> str:
    return f"{_OPTIONS[name]} {value}" if name in _OPTIONS else "the time of --since"
