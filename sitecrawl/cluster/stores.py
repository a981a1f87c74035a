"""Tell which stored pages of a crawl's workers count, by Redis.

A page of which Redis has heard counts. So does one of which its worker will yet tell: as long as nobody else has had
the page's partition since. Any other is void: whoever has the partition now fetches it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sitecrawl.base.errors import FormatMismatch, NothingYet
from sitecrawl.cluster.holdings import Held, Holdings
from sitecrawl.cluster.outside import CrawlOnRedis
from sitecrawl.crawldir.directory import database_to_read
from sitecrawl.crawldir.meta import PAGES
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE


class _Untold(NamedTuple):
    """Captures of which Redis has not heard."""

    rows: set[int]
    """Their ids."""
    held: Held | None = None
    """The partition that they are of; None for those of which the worker, too, knows that they do not count."""
    session: str = ""
    """The worker's."""


def void_captures(crawl: CrawlOnRedis, directories: Sequence[Path]) -> dict[Path, set[int]]:
    """The ids of captures that do not count, by the worker's directory. Workers may be at work.

    Raises `FormatMismatch` for a directory of another crawl, `StorageError` for one that cannot be read, and
    `redis.RedisError`.
    """
    return {
        directory: set().union(*(one.rows for one in untold if not _is_to_come(crawl, one)))
        for directory, untold in _untold(crawl, directories)
    }


def untold_captures(crawl: CrawlOnRedis, directories: Sequence[Path]) -> dict[Path, set[int]]:
    """Captures that Redis does not have yet. Raises as `void_captures` does."""
    return {
        directory: set().union(*(one.rows for one in untold)) for directory, untold in _untold(crawl, directories)
    }


def _untold(crawl: CrawlOnRedis, directories: Sequence[Path]) -> Iterator[tuple[Path, list[_Untold]]]:
    for directory in directories:
        if not crawl.has(directory):
            raise FormatMismatch(f"{directory} does not belong to {crawl}")
        try:
            with database_to_read(directory) as database:
                holdings = Holdings(database, "")  # before Redis is asked: what is sent meanwhile counts
                position = database.get("meta", PAGES)
        except NothingYet:
            yield directory, []
            continue
        unsent = [held for held in holdings.all if held.unsent]
        found = [_Untold(_rows_after(held, _accepted_of(crawl, held)), held, holdings.session) for held in unsent]
        orphans = {row for entry in holdings.orphans for row in entry.rows}
        yield directory, [_Untold(_rows_behind(directory, position) | orphans), *found]


def _rows_behind(directory: Path, position: bytes | None) -> set[int]:
    """A kill leaves them, and the worker's next start takes them out."""
    if position is None or not (directory / INDEX_FILE).exists():
        return set()
    with PageReader(directory) as reader:
        return set(range(json.loads(position)["last_id"] + 1, reader.last_id + 1))


def _rows_after(held: Held, number: int) -> set[int]:
    return {row for entry in held.unsent if entry.number > number for row in entry.rows}


def _is_to_come(crawl: CrawlOnRedis, untold: _Untold) -> bool:
    """Whether Redis will take what the worker has yet to send."""
    held = untold.held
    if held is None:
        return False
    base = crawl.keys.base(held.partition)
    token, lease = crawl.client.get(base + "token"), crawl.client.get(base + "lease")
    return int(token or 0) == held.token or (lease or b"").partition(b":")[2] == untold.session.encode()


def _accepted_of(crawl: CrawlOnRedis, held: Held) -> int:
    """The number of the last entry that Redis has taken under a worker's token."""
    return int(crawl.client.hget(crawl.keys.base(held.partition) + "tokens", str(held.token)) or 0)
