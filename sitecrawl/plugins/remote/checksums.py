"""What a store says of an object, against the file here.

S3 names an object's MD5 as its ETag; of one that came in parts the MD5 of the parts' MD5s, a dash and their number.
So the size of the parts has to be known: it depends on the file's size alone. Google names the MD5 in base64. What is
encrypted with a key of KMS or of the customer has an ETag that says nothing, and a disk says nothing but the size.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from hashlib import md5
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from sitecrawl.crawldir.faults import file_errors

PART: Final = 8 << 20
"""Bytes of a part; a store takes parts of 5 MiB or more, but for the last."""
MOST_PARTS: Final = 9_000
"""S3 takes 10,000."""
_BLOCK: Final = 1 << 20
_MD5: Final = re.compile(r"[0-9a-f]{32}")


class Checksums(NamedTuple):
    """Of a file here."""

    size: int
    md5: str
    """In hexadecimal."""
    in_parts: str
    """The ETag of the same in parts of `part_size`."""


def part_size(size: int) -> int:
    """Of the parts in which a file of `size` bytes is sent."""
    return max(PART, ceil(size / MOST_PARTS))


def checksums_of(path: Path) -> Checksums:
    """Read in blocks. Raises `StorageError`."""
    with file_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        whole, parts, part = md5(usedforsecurity=False), b"", part_size(size)
        number = length = 0
        while True:
            piece, length = md5(usedforsecurity=False), 0
            while length < part and (block := file.read(min(_BLOCK, part - length))):
                whole.update(block)
                piece.update(block)
                length += len(block)
            if not length:
                break
            parts, number = parts + piece.digest(), number + 1
    return Checksums(size, whole.hexdigest(), f"{md5(parts, usedforsecurity=False).hexdigest()}-{number}")


def agree(told: Mapping[str, Any], own: Checksums) -> bool | None:
    """Whether what a store tells of an object is so of the file; None where it tells no checksum that we know."""
    if told.get("size") != own.size:
        return False
    etag = str(told.get("ETag") or "").strip('"')
    if _MD5.match(etag):
        return etag in {own.md5, own.in_parts}
    if named := told.get("md5Hash"):
        return bool(base64.b64decode(named).hex() == own.md5)
    return None
