"""Reading JSON-LD as pages have it: schema.org objects in `<script type="application/ld+json">`.

Objects and their properties, without contexts and remote vocabularies: `Product.offers.price` is the property
`price` of the objects in `offers` of every object of type `Product`, wherever it stands: in lists, in `@graph`, in
another object. A type's name counts without the vocabulary's address before it. An object that is nothing but an
`@id` stands for the one of that name on the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Final

PATH: Final = re.compile(r"(?:[A-Za-z][\w-]*)?(?:\.[@A-Za-z_][\w:-]*)*")
"""A type and properties; without a type, properties of the object at hand."""

_VOCABULARY = re.compile(r".*[/#:]")
_WRAPPED = re.compile(r"\s*+(?:<!--|//\s*+<!\[CDATA\[|<!\[CDATA\[)?(.*?)(?:-->|//\s*+\]\]>|\]\]>)?\s*", re.DOTALL)
_MAX_OBJECTS: Final = 100_000
_MAX_VALUES: Final = 10_000
"""That one property leads to: objects that name one another would multiply with every step."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class LinkedData:
    """The objects of one page, in the order in which they stand. What is no JSON is left out, and counted."""

    def __init__(self, scripts: Iterable[str]) -> None:
        self.broken = 0
        """Scripts that are no JSON."""
        self.scripts: list[Any] = []
        """What each of the others holds."""
        self._objects: list[dict[str, Any]] = []
        self._named: dict[str, dict[str, Any]] = {}
        self._typed: dict[str, list[dict[str, Any]]] = {}
        for script in scripts:
            try:
                self.scripts.append(_loaded(_unwrapped(script)))
            except (ValueError, RecursionError):
                self.broken += 1
        for value in self.scripts:
            self._walk(value)

    def _walk(self, value: Any) -> None:
        stack = [value]
        while stack and len(self._objects) < _MAX_OBJECTS:
            value = stack.pop()
            if isinstance(value, dict):
                self._objects.append(value)
                for kind in _types(value):
                    self._typed.setdefault(kind, []).append(value)
                name = value.get("@id")
                if isinstance(name, str) and len(value) > 1:
                    self._named.setdefault(name, value)
                stack.extend(reversed(list(value.values())))
            elif isinstance(value, list):
                stack.extend(reversed(value))

    def of_type(self, name: str) -> list[dict[str, Any]]:
        return self._typed.get(name, [])

    def values(self, start: Sequence[Any], properties: Sequence[str]) -> list[Any]:
        """What a way through properties leads to from each of `start`; lists are taken apart."""
        found = list(start)
        for name in properties:
            values = (value for holder in found if isinstance(holder, dict) for value in self._property(holder, name))
            found = [value for value in islice(values, _MAX_VALUES) if value is not None]
        return found

    def _property(self, holder: dict[str, Any], name: str) -> Iterator[Any]:
        value = holder.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                if one.keys() == {"@id"}:
                    yield self._named.get(str(one["@id"]), one)
                else:
                    yield one.get("@value", one)
            else:
                yield one


def _loaded(script: str) -> Any:
    """Raises `ValueError`. What no feed can write is left out: infinite numbers, half characters."""
    value = json.loads(script, strict=False, parse_float=_finite, parse_constant=lambda _: None)
    if _SURROGATE.search(script):
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _finite(text: str) -> float | None:
    number = float(text)
    return number if isfinite(number) else None


def _unwrapped(script: str) -> str:
    """A script without the comment or CDATA section around it."""
    match = _WRAPPED.fullmatch(script)
    return match[1] if match else script


def _types(found: dict[str, Any]) -> list[str]:
    types = found.get("@type")
    return [
        _VOCABULARY.sub("", name) for name in (types if isinstance(types, list) else [types]) if isinstance(name, str)
    ]
