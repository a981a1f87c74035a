"""The columns of an exported table, and its rows as JSON lines, CSV or Parquet, all written as the rows come."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import TextIOWrapper
from typing import Any, BinaryIO, Final, Literal, NamedTuple

from sitecrawl.base.display import csv_cell
from sitecrawl.base.errors import OptionError, how_to_install, meant

Data = list[Any] | dict[str, Any]
"""What JSON can be."""
Value = str | int | float | bool | datetime | Data | None
"""Times are in UTC."""
_FieldKind = Literal["text", "texts", "integer", "number", "truth", "time", "data"]
_END_OF_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_Row = Mapping[str, Value]
_CHARACTERS: Final = 16 << 20
"""Of a row group of a Parquet file, which is held in memory."""
_OF_OTHERS: Final = 8
"""What counts for a value that is no text."""


class Field(NamedTuple):
    """One column. Any of its values may be missing, but for the URL."""

    name: str
    kind: _FieldKind
    value: Callable[[Any], Value]
    """Of a row: of an `ExportedPage`, or of a part of one."""


def time_of(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if 0 <= seconds < _END_OF_TIME else None


CHANGE: Final = Field("change", "text", lambda page: page.change)
"""What has become of it since the last export, `new`, `changed`, `gone` or `moved`: only where that is asked for."""
USUAL: Final = (
    Field("url", "text", lambda page: page.capture.url),
    Field("final_url", "text", lambda page: page.final_url),
    Field("status", "integer", lambda page: page.capture.status),
    Field("kind", "text", lambda page: page.capture.kind),
    Field("first_fetched", "time", lambda page: time_of(page.first_fetched)),
    Field("last_fetched", "time", lambda page: time_of(page.last_fetched)),
    Field("modified", "time", lambda page: page.modified),
    Field("type", "text", lambda page: page.capture.content_type),
    Field("charset", "text", lambda page: page.capture.charset),
    Field("language", "text", lambda page: page.language),
    Field("title", "text", lambda page: page.title),
    Field("text", "text", lambda page: page.text),
    Field("pages", "integer", lambda page: page.document.pages if page.document else None),
    Field("importance", "number", lambda page: page.importance),
    Field("depth", "integer", lambda page: page.capture.depth),
    Field("referrer", "text", lambda page: page.capture.referrer),
    Field("canonical", "text", lambda page: page.capture.canonical),
    Field("noindex", "truth", lambda page: None if page.capture.noindex is None else bool(page.capture.noindex)),
    Field(
        "size", "integer", lambda page: page.capture.payload_size if page.capture.size is None else page.capture.size
    ),
    Field("digest", "text", lambda page: f"sha1:{page.capture.digest}"),
    Field("is_revisit", "truth", lambda page: page.capture.revisit_of is not None),
    Field("warc_file", "text", lambda page: page.warc_file),
    Field("warc_offset", "integer", lambda page: page.capture.warc_offset),
)
"""Those of an export that names none."""
_FIELDS: Final = (
    *USUAL,
    Field("links", "texts", lambda page: page.links),
    CHANGE,
    Field("markdown", "text", lambda page: page.markdown),
    Field("jsonld", "data", lambda page: page.metadata.jsonld if page.metadata else None),
    Field("microdata", "data", lambda page: page.metadata.microdata if page.metadata else None),
    Field("opengraph", "data", lambda page: page.metadata.opengraph if page.metadata else None),
    Field("usage", "text", lambda page: page.said.preferences),
    Field("tdm_reservation", "truth", lambda page: page.said.reservation),
    Field("tdm_policy", "text", lambda page: page.said.policy),
    Field("licenses", "texts", lambda page: page.said.licenses),
    Field("robots", "texts", lambda page: page.said.directives),
)
"""All that there are, in the order in which they stand."""


def fields_named(text: str) -> tuple[Field, ...]:
    """The fields that `text` names, separated by commas, in that order. Raises `OptionError`."""
    known = {field.name: field for field in _FIELDS}
    names = [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if name not in known:
            raise OptionError(f"there is no field {name!r}{meant(name, known) or '; there are ' + ', '.join(known)}")
        if name in names[:place]:
            raise OptionError(f"the field {name!r} is named twice")
    return tuple(known[name] for name in names)


def row_of(fields: tuple[Field, ...], one: object) -> dict[str, Value]:
    return {field.name: field.value(one) for field in fields}


def _jsonl(fields: Sequence[Field], rows: Iterable[_Row], into: BinaryIO) -> None:
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


def _parquet(fields: Sequence[Field], rows: Iterable[_Row], into: BinaryIO) -> None:
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
WRITERS: Final[Mapping[str, _Writer]] = {"jsonl": _jsonl, "csv": _as_csv, "parquet": _parquet}
"""By the ends of files' names."""


def format_of(path: str) -> str | None:
    """The format that a file's name implies; None if it implies none."""
    return next((name for name in WRITERS if path.lower().endswith(f".{name}")), None)
