"""A seal on a crawl's records that nobody else can make.

Incompressible data are stored verbatim in a WARC file. So a page's body can contain a complete gzip member with a
record of another page; if the record around it is damaged, a search for the next record finds it. Records of the
crawl are told apart by the last field of their heads, a keyed hash (BLAKE2b, RFC 7693) of everything before it, 16
bytes in hexadecimal: `X-Crawler-Seal: 3f0c...`

The head has the digest of the block, so nothing in a record can be changed. The key is that of the crawl's
fingerprints, which is in `crawl.json` and the database, and in no WARC file: who gets a file can copy its records,
and make no others.
"""

from __future__ import annotations

import hmac
from hashlib import blake2b
from typing import Final

from sitecrawl.pagestore.record import Record, digest

_FIELD: Final = b"\r\nX-Crawler-Seal: "
_END_OF_HEAD: Final = b"\r\n\r\n"
_BYTES: Final = 16
_USE: Final = b"warc record"
"""Domain separation from other hashes with the same key."""


class Seal:
    """The seal of one crawl, by its key; an empty key, of a store without a crawl, seals nothing."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def put_on(self, data: bytes) -> bytes:
        """The record `data` with the seal."""
        if not self._key:
            return data
        end = data.index(_END_OF_HEAD)
        head = data[:end]
        return b"".join((head, _FIELD, self._hash(head), memoryview(data)[end:]))

    def is_on(self, found: Record) -> bool:
        """Whether the crawl wrote this record and its block."""
        if not self._key:
            return True
        head, _, given = found.head.rpartition(_FIELD)
        is_marked = hmac.compare_digest(given, self._hash(head))
        return is_marked and found.fields.get("warc-block-digest") == f"sha1:{digest(found.block)}"

    def _hash(self, head: bytes) -> bytes:
        return blake2b(head, digest_size=_BYTES, key=self._key, person=_USE).hexdigest().encode()
