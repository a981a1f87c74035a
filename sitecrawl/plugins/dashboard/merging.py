"""One table of what each worker has answered of its part: sorted as each part is, and cut as the page has asked.

A partition that moves just then may be in two answers, or in none: what is there twice is shown once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.dashboard.fetches import SHOWN
from sitecrawl.plugins.dashboard.meter import EXAMPLES
from sitecrawl.plugins.dashboard.questions import number_of
from sitecrawl.plugins.dashboard.tables import MAX_ROWS, Fields, Query, Row

MAX_OFFSET: Final = 400
"""Rows behind which nothing is shown: each worker gives as many as are asked for, from the first on."""
PART_ROWS: Final = MAX_OFFSET + MAX_ROWS


class Merge(ABC):
    """How the parts of a table come together. Both raise `OptionError` for fields that ask for nothing."""

    def wanted(self, fields: Fields) -> Fields:
        """What each worker is to be asked for."""
        return fields

    @abstractmethod
    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        """The table, of what they have answered: one at least."""


@dataclass(frozen=True)
class Listing(Merge):
    """A table that is searched, sorted, and shown some rows at a time."""

    name_of: Callable[[Row], Hashable]
    """What no two rows have in common."""
    sort: str = "waiting"
    """Where the page does not name one."""
    rank: Callable[[Row, str], Any] = lambda row, sort: number_of(row.get(sort))
    """Where a row stands in that order: the greatest come first."""

    def wanted(self, fields: Fields) -> Fields:
        query = self._query(fields)
        return {**fields, "offset": "0", "limit": str(query.offset + query.limit)}

    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        query = self._query(fields)
        rows = (row for part in parts for row in part["rows"])
        ordered = sorted(rows, key=lambda row: self.rank(row, query.sort), reverse=True)
        shown = first_of_each(ordered, self.name_of)[query.offset : query.offset + query.limit]
        return {
            "rows": shown,
            "total": sum(part["total"] for part in parts),
            "offset": query.offset,
            "cost": max(number_of(part.get("cost")) for part in parts),
            "gathers": any(part.get("gathers") for part in parts),
        }

    def _query(self, fields: Fields) -> Query:
        return Query.read({"sort": self.sort, **fields}, max_offset=MAX_OFFSET)


class Host(Merge):
    """What waits of one host: the answer of the worker that has it."""

    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        return parts[0]


class Why(Merge):
    """Why a URL was fetched or was not: the answer of a worker that knows it, or else of any."""

    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        return next((part for part in parts if part.get("known")), parts[0])


class Fetches(Merge):
    """The last fetches of all workers."""

    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        rows = sorted((row for part in parts for row in part["rows"]), key=lambda row: -number_of(row.get("at")))
        return {"rows": rows[:SHOWN], "total": len(rows[:SHOWN])}


class Errors(Merge):
    """Kinds of error, with the last examples of all workers."""

    def merge(self, fields: Fields, parts: Sequence[Row]) -> Row:
        counts: Counter[str] = Counter()
        examples: defaultdict[str, list[Row]] = defaultdict(list)
        for row in (row for part in parts for row in part["rows"]):
            kind, given = str(row.get("kind")), row.get("examples")
            counts[kind] += int(number_of(row.get("count")))
            examples[kind] += [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
        rows = [
            {"kind": kind, "count": count, "examples": _last(examples[kind])} for kind, count in counts.most_common()
        ]
        return {"rows": rows, "total": len(rows)}


def _last(examples: Iterable[Row]) -> list[Row]:
    return sorted(examples, key=lambda one: -number_of(one.get("at")))[:EXAMPLES]


def first_of_each(rows: Iterable[Row], name_of: Callable[[Row], Hashable]) -> list[Row]:
    """The first row of each name."""
    found: dict[Hashable, Row] = {}
    for row in rows:
        found.setdefault(name_of(row), row)
    return list(found.values())


def _host_rank(row: Row, sort: str) -> float:
    value = number_of(row.get(sort))
    return -value if sort == "next" else value


def _sitemap_rank(row: Row, sort: str) -> tuple[bool, float]:
    return row.get("state") == "valid", number_of(row.get(sort))


MERGES: Final[Mapping[str, Merge]] = {
    "hosts": Listing(lambda row: str(row.get("host")), rank=_host_rank),
    "sections": Listing(lambda row: (str(row.get("host")), str(row.get("shape")))),
    "sitemaps": Listing(lambda row: str(row.get("url")), sort="new", rank=_sitemap_rank),
    "errors": Errors(),
    "fetches": Fetches(),
    "queue": Host(),
    "why": Why(),
}
"""By the table's name."""


def merged(table: str, fields: Fields, parts: Sequence[Row]) -> Row:
    """The table of all `parts` that say something of it. Raises `OptionError` with what they say if none does."""
    told = [part for part in parts if "error" not in part]
    if not told:
        raise OptionError(str(parts[0]["error"]))
    return {**MERGES[table].merge(fields, told), "cut": any(part.get("cut") for part in told)}
