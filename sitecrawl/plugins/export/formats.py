"""Rows as bytes: JSON lines, CSV, Parquet. All of them are written as the rows come."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import RawIOBase, StringIO
from typing import Any, Final

from sitecrawl.base.display import csv_cell
from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.plugins.export.fields import Field, Value

Row = Mapping[str, Value]
_ROWS: Final = 1_000
_CHARACTERS: Final = 16 << 20
"""What is held at a time before it goes into columns."""
_GROUP_BYTES: Final = 64 << 20
"""Of one row group of a Parquet file, in memory, before it is compressed."""


def jsonl(fields: Sequence[Field], rows: Iterable[Row]) -> Iterator[bytes]:
    """An object a line, in ASCII: nothing in it is a control character."""
    return (json.dumps({name: _plain(value) for name, value in row.items()}).encode() + b"\n" for row in rows)


def _plain(value: Value) -> Value:
    return iso(value) if isinstance(value, datetime) else value


def _flat(row: Row) -> Row:
    """With JSON in the places of objects, for what has no columns of them."""
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}


def iso(time: datetime) -> str:
    """UTC, to the microsecond."""
    return f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"


def iso_of(seconds: float) -> str:
    """The same of a Unix time."""
    return iso(datetime.fromtimestamp(seconds, UTC))


def as_csv(fields: Sequence[Field], rows: Iterable[Row]) -> Iterator[bytes]:
    """RFC 4180 but for the line ends, which are those of Unix, in UTF-8. Control characters are written out, and no
    cell is a formula to a spreadsheet.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields])
    for row in rows:
        writer.writerow([csv_cell(_plain(value)) for value in _flat(row).values()])
        if out.tell() > 1 << 16:
            yield _taken(out)
    yield _taken(out)


def _taken(out: StringIO) -> bytes:
    content = out.getvalue().encode("utf-8", "replace")
    out.seek(0)
    out.truncate()
    return content


def parquet(fields: Sequence[Field], rows: Iterable[Row]) -> Iterator[bytes]:
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
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), schema, compression="zstd") as writer:
        held: list[Any] = []
        data = [field.name for field in fields if field.kind == "data"]
        for some in _batches(_as_texts(rows, data) if data else rows):
            held.append(pa.RecordBatch.from_pylist(some, schema))
            if sum(one.nbytes for one in held) >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(held, schema))
                held.clear()
                yield sink.taken()
        if held:
            writer.write_table(pa.Table.from_batches(held, schema))
    yield sink.taken()


class _Sink(RawIOBase):
    """A file that hands on what is written to it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        return self._position

    def taken(self) -> bytes:
        content = b"".join(self._parts)
        self._parts.clear()
        return content


def _as_texts(rows: Iterable[Row], data: Sequence[str]) -> Iterator[Row]:
    """With JSON in the columns of `data`."""
    for row in rows:
        yield {**row, **{name: None if row[name] is None else json.dumps(row[name]) for name in data}}


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """At most `_ROWS`, and hardly more than `_CHARACTERS`: a page may be one long text."""
    some: list[Row] = []
    characters = 0
    for row in rows:
        some.append(row)
        characters += sum(map(_length, row.values()))
        if len(some) == _ROWS or characters > _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, list) else 8


Writer = Callable[[Sequence[Field], Iterable[Row]], Iterator[bytes]]
WRITERS: Final[Mapping[str, Writer]] = {"jsonl": jsonl, "csv": as_csv, "parquet": parquet}
"""By the ends of files' names."""


def format_of(path: str) -> str | None:
    """What the name of a file says, if it does."""
    return next((name for name in WRITERS if path.lower().endswith(f".{name}")), None)
