"""Small XML files that say something of a document: what it is called, what its parts are."""

from __future__ import annotations

import posixpath
from typing import Final, NamedTuple

from sitecrawl.plugins.export.documents.archive import Archive
from sitecrawl.plugins.export.documents.document import MAX_FACT, Full, Unreadable

_MOST_PARTS: Final = 10_000
"""Slides or sheets of a document."""


class Facts:
    """The texts of the elements `wanted`, the first of each name."""

    def __init__(self, *wanted: str) -> None:
        self._wanted = wanted
        self._within: str | None = None
        self.said: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._within = name if name in self._wanted and name not in self.said else None

    def end(self, name: str) -> None:
        self._within = None

    def data(self, text: str) -> None:
        if self._within is not None:
            self.said[self._within] = (self.said.get(self._within, "") + text)[:MAX_FACT]

    def get(self, name: str) -> str | None:
        return self.said.get(name, "").strip() or None

    def number(self, name: str) -> int | None:
        return number_of(self.said.get(name))


class Elements:
    """The attributes of all elements that are called `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._name:
            if len(self.found) == _MOST_PARTS:
                raise Unreadable("bomb")
            self.found.append(attributes)

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass


class Root:
    """What the first element is called; then it raises `Full`."""

    name = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.name = name
        raise Full

    def end(self, name: str) -> None:
        pass

    def data(self, text: str) -> None:
        pass


class Relation(NamedTuple):
    """To another part of a package (ECMA-376 part 2, Open Packaging Conventions)."""

    kind: str
    """The last word of its type."""
    part: str


def relations_of(archive: Archive, part: str) -> dict[str, Relation]:
    """Those of a `part`, or of the package where it is empty, by their ids."""
    folder, name = posixpath.split(part)
    elements = Elements("Relationship")
    archive.walk(posixpath.join(folder, "_rels", f"{name}.rels"), elements)
    return {
        one.get("Id", ""): Relation(
            one.get("Type", "").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/"),
        )
        for one in elements.found
        if one.get("TargetMode") != "External"
    }


def number_of(text: str | None) -> int | None:
    """A count, if it is one that may be true."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 7 else None
