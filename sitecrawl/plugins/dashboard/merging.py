"""One table of what each worker has answered of its part: sorted as each part is, and cut as the page has asked.

A partition that moves just then may be in two answers, or in none: what is there twice is shown once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.dashboard.meter import EXAMPLES, LAST
from sitecrawl.plugins.dashboard.tables import MAX_ROWS, Fields, Query, Row

MAX_OFFSET: Final = 400
"""Rows behind which nothing is shown: each worker gives as many as are asked for, from the first on."""
PART_ROWS: Final = MAX_OFFSET + MAX_ROWS


@dataclass(frozen=True)
class Merge:
    """How the parts of a table come together: `merge` makes it of what the workers have answered, one at least."""

    merge: Callable[[Fields, Sequence[Row]], Row]
    wanted: Callable[[Fields], Fields] = lambda fields: fields
    """What each worker is to be asked for. Both raise `OptionError` for fields that ask for nothing."""


def listing(
    name_of: Callable[[Row], Hashable],
    rank: Callable[[Row, str], float] = lambda row, sort: number_of(row.get(sort)),
) -> Merge:
    """A table that is searched, sorted, and shown some rows at a time: no two rows have one name, and those with the
    greatest `rank` come first.
    """

    def query_of(fields: Fields) -> Query:
        return Query.read(fields, max_offset=MAX_OFFSET)

    def wanted(fields: Fields) -> Fields:
        query = query_of(fields)
        return {**fields, "offset": "0", "limit": str(query.offset + query.limit)}

    def merge(fields: Fields, parts: Sequence[Row]) -> Row:
        query = query_of(fields)
        rows = (row for part in parts for row in part["rows"])
        ordered = sorted(rows, key=lambda row: rank(row, query.sort), reverse=True)
        first: dict[Hashable, Row] = {}
        for row in ordered:
            first.setdefault(name_of(row), row)
        shown = [*first.values()]
        return {
            "rows": shown[query.offset : query.offset + query.limit],
            "total": sum(part["total"] for part in parts),
            "offset": query.offset,
            "cost": max(number_of(part.get("cost")) for part in parts),
        }

    return Merge(merge, wanted)


def _why(_: Fields, parts: Sequence[Row]) -> Row:
    """The answer of a worker that knows the URL, or else of any."""
    return next((part for part in parts if part.get("known")), parts[0])


def _fetches(_: Fields, parts: Sequence[Row]) -> Row:
    rows = sorted((row for part in parts for row in part["rows"]), key=lambda row: -number_of(row.get("at")))[:LAST]
    return {"rows": rows, "total": len(rows)}


def _errors(_: Fields, parts: Sequence[Row]) -> Row:
    """Kinds of error, with the last examples of all workers."""
    counts: Counter[str] = Counter()
    examples: defaultdict[str, list[Row]] = defaultdict(list)
    for row in (row for part in parts for row in part["rows"]):
        kind, given = str(row.get("kind")), row.get("examples")
        counts[kind] += int(number_of(row.get("count")))
        examples[kind] += [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    for kind, found in examples.items():
        examples[kind] = sorted(found, key=lambda one: -number_of(one.get("at")))[:EXAMPLES]
    rows = [{"kind": kind, "count": count, "examples": examples[kind]} for kind, count in counts.most_common()]
    return {"rows": rows, "total": len(rows)}


def number_of(value: object) -> float:
    """`value`, if it is a number; else 0."""
    return value if isinstance(value, int | float) else 0


def _host_rank(row: Row, sort: str) -> float:
    value = number_of(row.get(sort))
    return -value if sort == "next" else value


MERGES: Final[Mapping[str, Merge]] = {
    "hosts": listing(lambda row: str(row.get("host")), rank=_host_rank),
    "sections": listing(lambda row: (str(row.get("host")), str(row.get("shape")))),
    "errors": Merge(_errors),
    "fetches": Merge(_fetches),
    "why": Merge(_why),
}
"""By the table's name."""


def merged(table: str, fields: Fields, parts: Sequence[Row]) -> Row:
    """The table of all `parts` that say something of it. Raises `OptionError` with what they say if none does."""
    told = [part for part in parts if "error" not in part]
    if not told:
        raise OptionError(str(parts[0]["error"]))
    return {**MERGES[table].merge(fields, told), "cut": any(part.get("cut") for part in told)}
