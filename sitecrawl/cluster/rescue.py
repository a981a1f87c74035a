"""URLs that were found for a partition which another worker has by now, and of which Redis had not heard.

The page that links to them may be in another partition, and be done: whoever has theirs now has to be told of them.
What it knows it filters. Credit that was on its way to them is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sitecrawl.cluster.entries import Entry, unpack_entry
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord
from sitecrawl.frontier.urls.territory import Message, Territory
from sitecrawl.frontier.urls.url_states import name_of
from sitecrawl.page.items import Link

_KEPT = Flag.SEED | Flag.AWAITED | Flag.UNFILTERED | Flag.REQUISITE
_UNLINKED = Flag.SEED | Flag.REQUISITE
"""No page's link has led to it."""


def rescued(entries: Iterable[Entry], territory: Territory) -> Iterator[Message]:
    """Messages of `entries` that Redis will never take. Raises `CorruptFile`."""
    requests: dict[bytes, bytes] = {}
    found: dict[bytes, UrlRecord] = {}
    for entry in entries:
        for family, key, value in unpack_entry(entry.data)[1]:
            if family == "requests" and value is not None:
                requests[key] = value
            elif family == "urls" and value is not None:
                record = UrlRecord.unpack(value)
                own = record.referrer != NO_REFERRER and territory.partition(record.referrer) == entry.partition
                if not own:  # the page is fetched again, and its links with it
                    found[key] = record
    for key, record in found.items():
        yield _message(key, record, requests.get(key))


def _message(key: bytes, record: UrlRecord, request: bytes | None) -> Message:
    return Message(
        Link(record.url, name_of(record.url), key=key),
        record.depth,
        record.referrer,
        tenth=None if record.flags & _UNLINKED else 0,
        flags=record.flags & _KEPT,
        request=request,
    )
