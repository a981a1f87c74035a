"""One pass over all URLs of a crawl: what the report says of them, in memory that only grows with the hosts."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from sitecrawl.frontier.reader import FrontierReader, KnownUrl
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState

_TOP_PAGES: Final = 25
_DEAD_LINKS: Final = 100


class DeadLink(NamedTuple):
    """A URL that answers with an error, or not at all."""

    importance: float
    url: str
    status: int
    """0 where no answer came."""
    key: bytes
    referrer: bytes
    """Fingerprint of the page where it was first found; `NO_REFERRER` for none."""


_Kept = TypeVar("_Kept", DeadLink, KnownUrl)


@dataclass(slots=True)
class UrlTotals:
    """What the pass has found."""

    states: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    """Last status of the URLs that have one."""
    depths: Counter[int] = field(default_factory=Counter)
    hosts: defaultdict[bytes, float] = field(default_factory=lambda: defaultdict(float))
    """The importance of their URLs together, by the host's key."""
    top: list[KnownUrl] = field(default_factory=list)
    dead: list[DeadLink] = field(default_factory=list)
    """The most important of them."""
    dead_count: int = 0


def count_urls(reader: FrontierReader) -> UrlTotals:
    """Raises `CorruptFile`."""
    found = UrlTotals()
    for key, record in reader.records():
        importance = reader.importance(record)
        _count(found, record, importance)
        page = KnownUrl(importance, record.depth, record.status, record.state.name.lower(), record.url)
        _keep(found.top, _TOP_PAGES, page)
        if _is_dead(record):
            found.dead_count += 1
            _keep(found.dead, _DEAD_LINKS, DeadLink(importance, record.url, record.status, key, record.referrer))
    found.top.sort(reverse=True)
    found.dead.sort(reverse=True)
    return found


def _count(found: UrlTotals, record: UrlRecord, importance: float) -> None:
    found.states[record.state.name.lower()] += 1
    if record.flags & Flag.REQUISITE:  # what follows is about pages
        return
    found.depths[record.depth] += 1
    if record.status:
        found.statuses[record.status] += 1
    found.hosts[record.host] += importance


def _is_dead(record: UrlRecord) -> bool:
    """A dead seed counts as well; what the crawl itself has guessed, such as the address of a sitemap, does not."""
    if record.referrer == NO_REFERRER and not record.history and not record.flags & Flag.SEED:
        return False
    return record.state == UrlState.FAILED or (record.state == UrlState.FETCHED and record.status >= 400)


def _keep(heap: list[_Kept], limit: int, item: _Kept) -> None:
    if len(heap) < limit:
        heapq.heappush(heap, item)
    elif item > heap[0]:
        heapq.heapreplace(heap, item)


def first_referrers(reader: FrontierReader, dead: Iterable[DeadLink]) -> dict[bytes, str]:
    """The pages on which dead links were first found, by the dead link's key."""
    found: dict[bytes, str] = {}
    for link in dead:
        if link.referrer != NO_REFERRER and (record := reader.record(link.referrer)) is not None:
            found[link.key] = record.url
    return found
