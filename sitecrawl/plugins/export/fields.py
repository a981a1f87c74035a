"""The columns of an exported table: what each has in it, and of which type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from sitecrawl.base.errors import OptionError, meant

Data = list[Any] | dict[str, Any]
"""What JSON can be."""
Value = str | int | float | bool | datetime | Data | None
"""Times are in UTC."""
_FieldKind = Literal["text", "texts", "integer", "number", "truth", "time", "data"]
_END_OF_TIME: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


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
