"""Rows as bytes: JSON lines, CSV, Parquet. All of them are written as the rows come."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import BinaryIO, Final

from sitecrawl.base.display import csv_cell
from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.plugins.export.fields import Field, Value

_Row = Mapping[str, Value]
_CHARACTERS: Final = 16 << 20
"""Of a row group of a Parquet file, which is held in memory."""
_OF_OTHERS: Final = 8
"""What counts for a value that is no text."""


def jsonl(fields: Sequence[Field], rows: Iterable[_Row], into: BinaryIO) -> None:
    """An object a line, in ASCII: nothing in it is a control character."""
    into.writelines(json.dumps({name: _plain(value) for name, value in row.items()}).encode() + b"\n" for row in rows)


def _plain(value: Value) -> Value:
    return iso(value) if isinstance(value, datetime) else value


def iso(time: datetime) -> str:
    """UTC, to the microsecond."""
    return f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"


def iso_of(seconds: float) -> str:
    """`iso` for a Unix time."""
    return iso(datetime.fromtimestamp(seconds, UTC))


def _as_csv(fields: Sequence[Field], rows: Iterable[_Row], into: BinaryIO) -> None:
    """Write RFC 4180 CSV in UTF-8, with line feeds. Control characters are escaped, and cells that a spreadsheet
    would take for formulas.
    """
    out = TextIOWrapper(into, "utf-8", "replace", newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields])
    writer.writerows([csv_cell(_plain(value)) for value in row.values()] for row in _flat(fields, rows))
    out.flush()
    out.detach()  # the file is not ours to close


def parquet(fields: Sequence[Field], rows: Iterable[_Row], into: BinaryIO) -> None:
    """Apache Parquet, compressed by Zstandard. Raises `OptionError` where pyarrow is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to load
        from pyarrow import parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise OptionError(f"Parquet needs pyarrow: {how_to_install('export')}") from error
    types = {
        "text": pa.string(), "texts": pa.list_(pa.string()), "integer": pa.int64(), "number": pa.float64(),
        "truth": pa.bool_(), "time": pa.timestamp("us", tz="UTC"), "data": pa.string(),
    }  # fmt: skip
    schema = pa.schema([(field.name, types[field.kind]) for field in fields])
    with pq.ParquetWriter(into, schema, compression="zstd") as writer:
        for some in _groups(_flat(fields, rows)):
            writer.write_table(pa.Table.from_pylist(some, schema))


def _flat(fields: Sequence[Field], rows: Iterable[_Row]) -> Iterator[_Row]:
    """Rows with objects as JSON text, for formats without nested columns."""
    data = [field.name for field in fields if field.kind == "data"]
    for row in rows:
        yield {**row, **{name: json.dumps(row[name]) for name in data if row[name] is not None}}


def _groups(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    """Hardly more than `_CHARACTERS` each: a page may be one long text."""
    some: list[_Row] = []
    characters = 0
    for row in rows:
        some.append(row)
        characters += sum(map(_length, row.values()))
        if characters > _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, list) else _OF_OTHERS


_Writer = Callable[[Sequence[Field], Iterable[_Row], BinaryIO], None]
WRITERS: Final[Mapping[str, _Writer]] = {"jsonl": jsonl, "csv": _as_csv, "parquet": parquet}
"""By the ends of files' names."""


def format_of(path: str) -> str | None:
    """The format that a file's name implies; None if it implies none."""
    return next((name for name in WRITERS if path.lower().endswith(f".{name}")), None)
