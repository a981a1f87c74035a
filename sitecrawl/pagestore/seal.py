"""A mark on a crawl's records that nobody else can make.

What does not compress stands in a WARC file as it came. So a page's body can have a whole gzip member with a record
of another page in it, verbatim; where the record around it is damaged, whoever looks for the next comes upon that. A
record of the crawl is told from it by the last field of its head, a keyed hash (BLAKE2b, RFC 7693) of all before it:

    X-Crawler-Seal: 3f0c...  (16 bytes in hexadecimal)

The head has the digest of the block, so nothing of a record can be changed. The key is that of the crawl's
fingerprints, which stands in `crawl.json` and in the database, and in no WARC file: who is given one can copy its
records, and make no others.
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
"""Keeps these hashes apart from what else is made with the key."""


class Seal:
    """The mark of one crawl, by its key; an empty key is that of a store without a crawl, which marks nothing."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def put_on(self, data: bytes) -> bytes:
        """The record that `data` is, with the mark."""
        if not self._key:
            return data
        end = data.index(_END_OF_HEAD)
        head = data[:end]
        return b"".join((head, _FIELD, self._hash(head), memoryview(data)[end:]))

    def is_on(self, found: Record) -> bool:
        """Whether the crawl has written this record, and its block."""
        if not self._key:
            return True
        head, _, given = found.head.rpartition(_FIELD)
        is_marked = hmac.compare_digest(given, self._hash(head))
        return is_marked and found.fields.get("warc-block-digest") == f"sha1:{digest(found.block)}"

    def _hash(self, head: bytes) -> bytes:
        return blake2b(head, digest_size=_BYTES, key=self._key, person=_USE).hexdigest().encode()
