"""A job file to begin with: every key that there is, with what it means and what it is without it.

It is made from the schema, so none is missing. What stands behind `#` without a space can be uncommented.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sitecrawl.http.sheets.written_sheets import sheet_schema
from sitecrawl.plugins.jobs.job import job_schema

_WIDTH: Final = 110
_HEAD: Final = (
    "A job of sitecrawl, all that one crawl is told: scrapy crawl generic -a job=THIS_FILE",
    "Paths are relative to this file. scrapy job check THIS_FILE URL says what it will do.",
)
_UNCOMMENTED: Final = ("crawl", "seeds")
"""The key without which there is no crawl."""


def commented() -> str:
    """The text of the file."""
    head = "\n".join(f"# {line}" for line in _HEAD)
    parts = ["\n".join(_table(name, schema)) for name, schema in job_schema()["properties"].items()]
    return "\n\n".join([head, *parts]) + "\n"


def _table(table: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield from _about(schema["description"])
    is_list = schema["type"] == "array"
    mark = "" if table == _UNCOMMENTED[0] else "#"
    yield f"{mark}[[{table}]]" if is_list else f"{mark}[{table}]"
    for key, one in _keys(schema):
        yield from _about(_meaning(one))
        yield f"{_mark(table, key)}{key} = {_toml(_value(one))}"


def _keys(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Those of a table, of the items of a list, or of the example of a table that takes any."""
    if schema["type"] == "array":
        yield from sheet_schema()["properties"].items()
    elif "properties" in schema:
        yield from schema["properties"].items()
    else:
        for example in schema["examples"]:
            yield from ((key, {"description": "", "examples": [value]}) for key, value in example.items())


def _mark(table: str, key: str) -> str:
    return "" if (table, key) == _UNCOMMENTED else "#"


def _meaning(schema: Mapping[str, Any]) -> str:
    names = f" One of {', '.join(json.dumps(one) for one in schema['enum'])}." if "enum" in schema else ""
    return f"{schema['description']}{names}"


def _value(schema: Mapping[str, Any]) -> Any:
    """An example, or what holds without the key."""
    return schema["examples"][0] if "examples" in schema else schema["default"]


def _about(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _toml(value: Any) -> str:
    """JSON, but for tables."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)
