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

import contextlib
import errno
import json
import os
import struct
import zlib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.crawldir.durable import sync_directory

_HEAD: Final = struct.Struct("<8sII")
_CRC: Final = struct.Struct("<I")

Header = dict[str, Any]


def write_file(path: Path, magic: bytes, version: int, header: Header, body: Iterable[bytes] = ()) -> None:
    """Replace `path` atomically and durably; the parts of `body` are asked for and written one after the other.

    Raises `StorageError`, and then the old file is still there.
    """
    beside = path.with_name(path.name + ".new")
    encoded = json.dumps(header, sort_keys=True).encode()
    try:
        with beside.open("wb") as file:
            crc = 0
            for part in chain((_HEAD.pack(magic, version, len(encoded)), encoded), body):
                crc = zlib.crc32(part, crc)
                file.write(part)
                del part  # it may be as large as the file: the next one need not find it here
            file.write(_CRC.pack(crc))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # the error that counts is the first one
            beside.unlink(missing_ok=True)
        raise storage_error(path, error) from error


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
        raise storage_error(path, error) from error
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


def storage_error(path: Path, error: OSError) -> StorageError:
    """What went wrong with `path`, and what to do about it."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageError(f"The disk of {path} is full: free some space and start again; nothing stored is lost")
    return StorageError(f"{path} cannot be used: {error}")
