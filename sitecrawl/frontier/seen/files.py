"""The envelope of the seen set's own files: magic, version, a JSON header, a body, a checksum.

    offset  size
         0     8  magic: which file this is
         8     4  format version, little-endian
        12     4  length of the header, little-endian
        16     h  header: a JSON object, UTF-8
      16+h     b  body
    16+h+b     4  CRC-32 of everything before it, little-endian

A file is written beside its place, synced, and renamed over the old one: after a crash either the old file is
there or the new one, never a part. docs/formats/seen.md has a worked example.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.crawldir.durable import write_atomically
from sitecrawl.crawldir.faults import file_error, file_errors

_HEAD: Final = struct.Struct("<8sII")
_CRC: Final = struct.Struct("<I")

Header = dict[str, Any]


def write_file(path: Path, magic: bytes, version: int, header: Header, body: Iterable[bytes] = ()) -> None:
    """Replace `path` atomically and durably; the parts of `body` are asked for and written one after the other.

    Raises `StorageError`, and then the old file is still there.
    """
    encoded = json.dumps(header, sort_keys=True).encode()
    head = _HEAD.pack(magic, version, len(encoded))
    with file_errors(path):
        write_atomically(path, _with_checksum(chain((head, encoded), body)))


def _with_checksum(parts: Iterable[bytes]) -> Iterator[bytes]:
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
        yield part
        del part  # as in `write_atomically`
    yield _CRC.pack(crc)


def read_file(path: Path, magic: bytes, version: int) -> tuple[Header, memoryview]:
    """The header and the body of `path`.

    Raises `CorruptFile` if the file is cut short or its checksum is wrong, `FormatMismatch` if it has another
    magic or version, `FileNotFoundError` if there is none, `StorageError` if it cannot be read.
    """
    try:
        data = memoryview(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise file_error(path, error) from error
    if len(data) < _HEAD.size + _CRC.size:
        raise CorruptFile(f"{path} is cut short ({len(data)} bytes): restore it, or start in a new directory")
    found_magic, found_version, header_size = _HEAD.unpack_from(data)
    if found_magic != magic:
        raise FormatMismatch(f"{path} is another kind of file: {found_magic!r} instead of {magic!r}")
    if found_version != version:
        raise FormatMismatch(
            f"{path} has format {found_version}, and this version of sitecrawl reads {version}: "
            "use the version that wrote it, or start in a new directory"
        )
    if zlib.crc32(data[: -_CRC.size]) != _CRC.unpack(data[-_CRC.size :])[0]:
        raise CorruptFile(f"The checksum of {path} is wrong: restore it, or start in a new directory")
    body = _HEAD.size + header_size
    return json.loads(bytes(data[_HEAD.size : body])), data[body : -_CRC.size]
