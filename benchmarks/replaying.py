"""A frontier that fetches nothing: a real database, a clock that stands still, no politeness to wait for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sitecrawl.base.errors import StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import Order
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer, Url

COMMIT_EVERY = 500


class Unheard:
    """A listener for replays, in which nothing happens by itself that anybody wants to hear of."""

    directory = Path()
    database: Database

    def given_up(self, key: bytes) -> None: ...

    def linked_to(self, key: bytes) -> None: ...

    def woken(self) -> None: ...

    def failed(self, error: StorageError) -> None:
        raise error

    def counted(self, name: str, number: int) -> None: ...

    def withdrawn(self, rows: list[int]) -> None: ...

    def moved(self) -> None: ...

    def ended(self, reason: str) -> None: ...

    def checkpoint(self) -> None: ...

    def seed_pushed(self, text: str) -> bool:
        return False

    def widened(self, url: str) -> None: ...


@dataclass(frozen=True)
class Replayed:
    """One crawl's frontier and what it stands on."""

    frontier: DiskFrontier
    database: Database
    fingerprint: Fingerprinter
    canonicalizer: Canonicalizer

    def found(self, url: str, *, nofollow: bool = False) -> Link:
        """A link to `url`, which begins with `http://` and is normalised."""
        host = url[7:].partition("/")[0]
        key = self.fingerprint.url(self.canonicalizer.canonical(Url(url, host)))
        return Link(url, host, nofollow=nofollow, key=key)

    def commit(self) -> None:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.frontier.committed()


@contextmanager
def replayed(directory: Path, order: Order, options: FrontierOptions) -> Iterator[Replayed]:
    """A new frontier in `directory`, which must not exist."""
    fingerprint, canonicalizer = Fingerprinter(bytes(16)), Canonicalizer()
    directory.mkdir()
    database = Database(directory / "db", hash_name=HASH_NAME)
    try:
        frontier = DiskFrontier(
            database,
            order,
            seen=CrawlSeen(directory / "seen.bloom", SeenOptions(), hash_name=HASH_NAME),
            listener=Unheard(),
            host_key=fingerprint.host,
            fingerprint=lambda url: fingerprint.url(canonicalizer.canonical_href(url)),
            clock=lambda: 0.0,
            wall=time.time,
            politeness=PolitenessOptions(delay_factor=0),
            options=options,
        )
        yield Replayed(frontier, database, fingerprint, canonicalizer)
    finally:
        database.close()
