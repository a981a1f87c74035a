"""A host as one value: all that is decided within it, to be sent to another process and gone on with there.

That is what was learnt of the host and of each of its sections, and its politeness. Not in it are its queues, which
stand where its URLs do, requests under way, of which it must have none, and those that are in memory only.

Layout, big-endian: version 1, host key 8, failures in a row 4, seconds until it may be asked 8 (floating-point),
fingerprints of the last two URLs that failed 16 each (zeros for none), length of the address 1, length of the record
4, number of sections 4; then address, the record as in the family `hosts`, and of each section the second part of its
key 4, the length of its record 4, and the record as in `sections` (docs/formats/database.md). On disk a section has a
row of its own, which is written only when it has changed: a page changes few of the sections that its host has.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import inf
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.sections import Section

VERSION: Final = 1
_HEAD = struct.Struct(">B8sId16s16sBII")
_SECTION = struct.Struct(">4sI")


def pack_host(host: Host, now: float) -> bytes:
    """All that `host`, which has no request under way, has come to at `now` on the frontier's clock."""
    record, ip = host.pack(), (host.ip or "").encode()
    rest, sizes = max(0.0, host.free_at - now), (len(ip), len(record), len(host.sections))
    parts = [_HEAD.pack(VERSION, host.key, host.failures, rest, *host.failing, *sizes), ip, record]
    for key, section in host.sections.items():
        data = section.pack()
        parts += (_SECTION.pack(key, len(data)), data)
    return b"".join(parts)


def unpack_host(data: bytes, queue_of: Callable[[bytes], DiskQueue], now: float) -> Host:
    """The host that `pack_host` was given; `queue_of` makes the queue of the section with that key.

    Raises `CorruptFile` for bytes that it did not write.
    """
    parts = _Parts(data)
    version, key, failures, rest, before, last, of_ip, of_record, sections = parts.take(_HEAD)
    if version != VERSION or not 0 <= rest < inf:
        raise CorruptFile(f"A packed host of version {version} that rests for {rest} seconds cannot be read")
    ip = parts.bytes(of_ip)
    host = Host.unpack(key, parts.bytes(of_record))
    host.failures, host.failing, host.free_at = failures, (before, last), now + rest
    host.ip = ip.decode(errors="replace") or None
    for _ in range(sections):
        shape, size = parts.take(_SECTION)
        host.sections[shape] = Section.unpack(key + shape, parts.bytes(size), queue_of(key + shape))
    if parts.left:
        raise CorruptFile(f"A packed host of {len(data)} bytes has {parts.left} too many")
    return host


class _Parts:
    """Reads bytes from first to last. Raises `CorruptFile` where they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.left = len(data)

    def take(self, kind: struct.Struct) -> tuple[Any, ...]:
        return kind.unpack(self.bytes(kind.size))

    def bytes(self, size: int) -> bytes:
        if size > self.left:
            raise CorruptFile(f"A packed host of {len(self._data)} bytes ends before all of it has come")
        start = len(self._data) - self.left
        self.left -= size
        return self._data[start : start + size]
