"""What a crawl knows, one URL after the other, in between other work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import islice
from typing import Final

from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.causes import Cause
from sitecrawl.frontier.record import Flag, UrlRecord, UrlState

_CHUNK: Final = 1_000
"""Records between two questions to the database."""
_ENDED: Final = frozenset({UrlState.FETCHED, UrlState.FAILED})


async def askable(runtime: Runtime, pause: Callable[[], Awaitable[None]]) -> AsyncIterator[tuple[bytes, UrlRecord]]:
    """The URLs that were asked for as pages, and those that robots.txt forbade, for it may allow them now; each with
    its key and its record as it is now. What a form or a spider's own request has brought is left out. Raises
    `StorageError` and what `pause` does.
    """
    start = b""
    while rows := list(islice(runtime.database.scan("urls", start), _CHUNK)):
        for key, _ in rows:
            record = runtime.frontier.urls.get(key)
            if record is not None and _is_askable(record) and runtime.key_of(record.url) == key:
                yield key, record
            await pause()
        start = rows[-1][0] + b"\0"


def _is_askable(record: UrlRecord) -> bool:
    has_ended = record.state in _ENDED or (record.state == UrlState.EXCLUDED and record.cause == Cause.ROBOTS)
    return has_ended and not record.flags & (Flag.REQUISITE | Flag.VOLATILE)
