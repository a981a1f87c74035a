"""A ZIP archive of XML files, read as a stream: nothing is unpacked to disk, no tree is built.

Whoever made it may want to see the reader burst. So what is unpacked is counted over all files, entities are not
known, for a file that declares a document type is refused, and what is read out of it is bounded by who asks.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple
from xml.parsers import expat

from sitecrawl.plugins.export.documents.document import MAX_FACT, Unreadable

_PIECE: Final = 1 << 12
"""Bytes that are unpacked at a time: of more, Python's collector would look at all events again and again."""
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, expat.ExpatError, struct.error, EOFError, OSError,
    NotImplementedError, ValueError, LookupError,
)  # fmt: skip
"""What `zipfile` and `expat` raise at archives that are none, or of a kind that they do not know."""
_MOST_PARTS: Final = 10_000
"""Slides or sheets of a document."""


START, END, TEXT = "start", "end", "text"
Event = tuple[str, str, dict[str, str]]
"""A part of an XML file: what it is, the name of an element or a text, and an element's attributes. Names are without
their namespaces; an attribute that refers to another part begins with `r:`.
"""


class Relation(NamedTuple):
    """To another part of a package (ECMA-376 part 2, Open Packaging Conventions)."""

    kind: str
    """The last word of its type."""
    part: str


class Archive:
    """The one in `body`. Raises `Unreadable`, as its methods do, also where more than `unpacked` bytes are in it."""

    def __init__(self, body: bytes, unpacked: int) -> None:
        self._left = unpacked
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(body))
        except _DAMAGE as error:
            raise Unreadable("damaged") from error
        self._names = frozenset(self._zip.namelist())

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def events(self, name: str) -> Iterator[Event]:
        """The file of that name; nothing where there is none."""
        if name not in self:
            return
        found: list[Event] = []
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = lambda tag, attributes: found.append(
            (START, _local(tag), {_attribute(key): value for key, value in attributes.items()})
        )
        parser.EndElementHandler = lambda tag: found.append((END, _local(tag), {}))
        parser.CharacterDataHandler = lambda text: found.append((TEXT, text, {}))
        parser.StartDoctypeDeclHandler = _refuse
        try:
            with self._zip.open(name) as file:
                is_over = False
                while not is_over:
                    piece = file.read(_PIECE)
                    is_over = not piece
                    self._count(piece)
                    parser.Parse(piece, is_over)
                    yield from found
                    found.clear()
        except _DAMAGE as error:
            raise Unreadable("damaged") from error
        except RuntimeError as error:  # what `zipfile` says of a file with a password
            raise Unreadable("encrypted") from error

    def _count(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise Unreadable("bomb")

    def elements(self, name: str, element: str) -> list[dict[str, str]]:
        """The attributes of all elements of the file `name` that are called `element`."""
        found: list[dict[str, str]] = []
        for kind, text, attributes in self.events(name):
            if kind == START and text == element:
                if len(found) == _MOST_PARTS:
                    raise Unreadable("bomb")
                found.append(attributes)
        return found

    def said(self, name: str, *wanted: str) -> dict[str, str]:
        """The texts of the elements `wanted` of the file `name`, the first of each."""
        found: dict[str, str] = {}
        within = ""
        for kind, text, _ in self.events(name):
            if kind != TEXT:
                within = text if kind == START and text in wanted and text not in found else ""
            elif within:
                found[within] = (found.get(within, "") + text)[:MAX_FACT]
        return {key: text.strip() for key, text in found.items() if text.strip()}

    def relations(self, part: str) -> dict[str, Relation]:
        """Those of a `part`, or of the package where it is empty, by their ids."""
        folder, name = posixpath.split(part)
        return {
            one.get("Id", ""): Relation(
                one.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/"),
            )
            for one in self.elements(posixpath.join(folder, "_rels", f"{name}.rels"), "Relationship")
            if one.get("TargetMode") != "External"
        }


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _attribute(name: str) -> str:
    """`<p:sldId id="256" r:id="rId2">`: the second is the one that leads on."""
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local


def _refuse(*_: object) -> None:
    raise Unreadable("entities")
