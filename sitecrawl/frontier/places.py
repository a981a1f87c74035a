"""What the seeds of a crawl stand for, as its database has it: a row for each place, for all kinds of scopes."""

from __future__ import annotations

from collections.abc import Container, Iterator

from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import PLACE
from sitecrawl.frontier.queue import next_prefix
from sitecrawl.urls.url import site_of


def places_of(database: Database) -> Iterator[str]:
    """All of them; see `sitecrawl.urls.place`."""
    for key, _ in database.scan("meta", PLACE, next_prefix(PLACE)):
        yield key.removeprefix(PLACE).decode()


class Places(Container[str]):
    """The sites, hosts or folders, as `kind` has it, that the crawl in `database` has seeds in. One look-up each."""

    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind

    def __contains__(self, part: object) -> bool:
        if not isinstance(part, str):
            return False
        if self._kind == "site":
            return self._has_below(f"{part} ")
        place = f"{site_of(part.partition('/')[0])} {part}"
        if self._kind == "host":
            return self._has_below(f"{place}/")
        return self._database.get("meta", PLACE + place.encode()) is not None

    def _has_below(self, start: str) -> bool:
        return next(self._database.first_keys("meta", [PLACE + start.encode()])) is not None
