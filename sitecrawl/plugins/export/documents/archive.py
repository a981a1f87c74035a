"""A ZIP archive of XML files, read as a stream: nothing is unpacked to disk, no tree is built.

Whoever made it may want to see the reader burst. So what is unpacked is counted over all files, entities are not
known, for a file that declares a document type is refused, and what is read out of it is bounded by who asks.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from typing import Final, Protocol
from xml.parsers import expat

from sitecrawl.plugins.export.documents.document import Unreadable

_PIECE: Final = 1 << 16
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, expat.ExpatError, struct.error, EOFError, OSError,
    NotImplementedError, ValueError, LookupError,
)  # fmt: skip
"""What `zipfile` and `expat` raise at archives that are none, or of a kind that they do not know."""


class Handler(Protocol):
    """What an XML file is told to, element by element. Names are without their namespaces; an attribute that refers
    to another part begins with `r:`.
    """

    def start(self, name: str, attributes: dict[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None: ...


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

    def walk(self, name: str, handler: Handler) -> None:
        """Tell `handler` the file of that name; nothing where there is none. What it raises ends the walk."""
        if name not in self:
            return
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = lambda tag, attributes: handler.start(
            _local(tag), {_attribute(key): value for key, value in attributes.items()}
        )
        parser.EndElementHandler = lambda tag: handler.end(_local(tag))
        parser.CharacterDataHandler = handler.data
        parser.StartDoctypeDeclHandler = _refuse
        try:
            with self._zip.open(name) as file:
                while piece := file.read(_PIECE):
                    self._count(piece)
                    parser.Parse(piece)
                parser.Parse(b"", True)  # noqa: FBT003 - expat's own
        except _DAMAGE as error:
            raise Unreadable("damaged") from error
        except RuntimeError as error:  # what `zipfile` says of a file with a password
            raise Unreadable("encrypted") from error

    def _count(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise Unreadable("bomb")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _attribute(name: str) -> str:
    """`<p:sldId id="256" r:id="rId2">`: the second is the one that leads on."""
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local


def _refuse(*_: object) -> None:
    raise Unreadable("entities")
