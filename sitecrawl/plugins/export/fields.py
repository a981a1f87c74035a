"""The columns of an exported table: what each has in it, and of which type."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from sitecrawl.base.errors import OptionError, meant

Data = list[Any] | dict[str, Any]
"""What JSON can be."""
Value = str | int | float | bool | datetime | Data | None
"""Times are in UTC."""
Kind = Literal["text", "texts", "integer", "number", "truth", "time", "data"]


class Field(NamedTuple):
    """One column. Any of its values may be missing, but for the URL."""

    name: str
    kind: Kind


CHANGE: Final = Field("change", "text")
"""What has become of it since the last export, `new`, `changed`, `gone` or `moved`: only where that is asked for."""
FIELDS: Final = (
    Field("url", "text"),
    Field("final_url", "text"),
    Field("status", "integer"),
    Field("kind", "text"),
    Field("first_fetched", "time"),
    Field("last_fetched", "time"),
    Field("modified", "time"),
    Field("type", "text"),
    Field("charset", "text"),
    Field("language", "text"),
    Field("title", "text"),
    Field("text", "text"),
    Field("pages", "integer"),
    Field("importance", "number"),
    Field("depth", "integer"),
    Field("referrer", "text"),
    Field("canonical", "text"),
    Field("noindex", "truth"),
    Field("size", "integer"),
    Field("digest", "text"),
    Field("is_revisit", "truth"),
    Field("warc_file", "text"),
    Field("warc_offset", "integer"),
    Field("links", "texts"),
    CHANGE,
    Field("markdown", "text"),
    Field("jsonld", "data"),
    Field("microdata", "data"),
    Field("opengraph", "data"),
    Field("usage", "text"),
    Field("tdm_reservation", "truth"),
    Field("tdm_policy", "text"),
    Field("licenses", "texts"),
    Field("robots", "texts"),
)
"""All that there are, in the order in which they stand."""
USUAL: Final = FIELDS[: [field.name for field in FIELDS].index("links")]
"""Those of an export that names none."""


def fields_named(text: str) -> tuple[Field, ...]:
    """The fields that `text` names, separated by commas, in that order. Raises `OptionError`."""
    known = {field.name: field for field in FIELDS}
    names = [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if name not in known:
            raise OptionError(f"there is no field {name!r}{meant(name, known) or '; there are ' + ', '.join(known)}")
        if name in names[:place]:
            raise OptionError(f"the field {name!r} is named twice")
    return tuple(known[name] for name in names)
