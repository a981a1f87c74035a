"""Check values by JSON Schema (draft 2020-12), with messages in words and the place of each problem.

The published schema is the only description of valid values. What JSON Schema cannot express, such as that a text is
a regular expression, is a `format` with a reader of ours.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import resources
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import meant

_Readers = Mapping[str, Callable[[str], object]]
"""By `format`, a function that reads a text and raises `ValueError` with a whole sentence if it is invalid."""
Place = tuple[str | int, ...]
"""Keys and positions, outermost first."""

MOST_TOLD: Final = 20
"""Most problems reported for one file or setting."""
_LONGEST_SHOWN: Final = 60
_KINDS: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a table",
    "string": "a text",
}
_AT_LEAST_ONE: Final = frozenset({"minItems", "minLength", "minProperties"})
"""Keywords for which our schemas only ask for one element."""


class Problem(NamedTuple):
    """A problem and its place."""

    place: Place
    message: str


def schema_in(package: str, name: str) -> dict[str, Any]:
    """The schema in the file `name` of a package of ours, which may be zipped."""
    schema: dict[str, Any] = json.loads(resources.files(package).joinpath(name).read_text("utf-8"))
    return schema


def problems(
    schema: Mapping[str, Any], value: object, readers: _Readers, secret: Collection[str] = ()
) -> Iterator[Problem]:
    """Yield all problems of `value` by `schema`. Values below a key in `secret` are not shown."""
    import jsonschema  # noqa: PLC0415 - 70 ms, which only those wait for who have something to check

    def is_number(_checker: object, one: object) -> bool:
        return isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one)

    def is_whole(_checker: object, one: object) -> bool:
        return isinstance(one, int) and not isinstance(one, bool)

    def is_list(_checker: object, one: object) -> bool:
        return isinstance(one, list | tuple)

    draft = jsonschema.Draft202012Validator
    types = draft.TYPE_CHECKER.redefine("number", is_number).redefine("integer", is_whole).redefine("array", is_list)
    formats = jsonschema.FormatChecker(formats=())
    for name, reader in readers.items():
        formats.checks(name, raises=ValueError)(_reading(reader))
    validator = jsonschema.validators.extend(draft, type_checker=types)(schema, format_checker=formats)
    for error in validator.iter_errors(value):
        yield from _told(error, frozenset(secret))


def _reading(reader: Callable[[str], object]) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        if isinstance(value, str):
            reader(value)
        return True

    return check


def _told(error: Any, secret: frozenset[str]) -> Iterator[Problem]:
    place: Place = tuple(error.absolute_path)
    if error.validator == "additionalProperties":
        known = error.schema.get("properties", {})
        for name in error.instance:
            if name not in known:
                yield Problem((*place, name), f"there is no {str(name)!r} here{_hint(str(name), known)}")
    elif error.validator == "required":
        for name in error.validator_value:
            if name not in error.instance and error.message.startswith(repr(name)):
                yield Problem(place, f"{name} is missing")
    elif "propertyNames" in error.relative_schema_path:
        yield Problem((*place, error.instance), _wanted(error))
    else:
        hidden = not secret.isdisjoint(place)
        yield Problem(place, _sentence(error, _name(place), hidden=hidden))


def _hint(name: str, known: Collection[str]) -> str:
    return meant(name, known) or f": there are {', '.join(known)}"


def _name(place: Place) -> str:
    """Name of what is at `place`, for a sentence: its key, or that of the list it is in."""
    return next((part for part in reversed(place) if isinstance(part, str)), "this")


def _sentence(error: Any, name: str, *, hidden: bool) -> str:
    if error.validator == "format":
        return f"{name}: {_wanted(error)}"
    if error.validator in _AT_LEAST_ONE:
        return f"{name} is empty"
    shown = "not of use" if hidden else _shown(error.instance)
    near = (
        meant(str(error.instance), [*map(_plain, error.validator_value)])
        if error.validator == "enum" and not hidden
        else ""
    )
    return f"{name} is {shown}, and has to be {_wanted(error)}{near}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list" if value else "empty"
    text = repr(value) if isinstance(value, str | int | float) or value is None else repr(str(value))
    text = "empty" if text in {"''", "None"} else text
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _wanted(error: Any) -> str:
    """What is expected, in words."""
    if error.validator == "format":
        return str(error.cause)
    worded = _WORDS.get(error.validator)
    return worded(error.validator_value) if worded else str(error.schema.get("description") or error.message)


def _kinds(value: str | list[str]) -> str:
    return " or ".join(_KINDS[one] for one in ([value] if isinstance(value, str) else value))


def _plain(value: object) -> str:
    return value if isinstance(value, str) else _shown(value)


_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": _kinds,
    "minimum": lambda least: f"{least} or more",
    "exclusiveMinimum": lambda least: f"more than {least}",
    "maximum": lambda most: f"{most} or less",
    "enum": lambda values: f"one of {', '.join(map(_plain, values))}",
}
"""What a keyword of JSON Schema asks for."""
