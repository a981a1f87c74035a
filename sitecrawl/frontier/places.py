"""What the seeds of a crawl stand for, as its database has it: a row for each place, for all kinds of scopes."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.meta import PLACE
from sitecrawl.urls.url import site_of

_LED_TO: Final = b"redirect"
"""The value of a place to which the redirect of a seed has led: no later run could know of it otherwise."""


def write_place(batch: Batch, place: str, *, led_to: bool) -> None:
    batch.put("meta", PLACE + place.encode(), _LED_TO if led_to else b"")


def delete_place(batch: Batch, place: str) -> None:
    batch.delete("meta", PLACE + place.encode())


def places_of(database: Database) -> Iterator[tuple[str, bool]]:
    """All of them, as `sitecrawl.urls.place` has them, and whether a redirect has led there."""
    for key, value in database.scan("meta", PLACE, next_prefix(PLACE)):
        yield key.removeprefix(PLACE).decode(), value == _LED_TO


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
