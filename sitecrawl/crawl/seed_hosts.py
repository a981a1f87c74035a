"""The hosts that the user has named: these may be connected to wherever they are.

They are asked for only when a connection would go to an address that is not public, so they are not held in memory:
a crawl of a million seeds would hold a million names. Each is a key of the family `meta`.
"""

from __future__ import annotations

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SEED_HOST
from sitecrawl.crawldir.participant import Participant


class SeedHosts(Participant):
    """A set of host names, whatever the port. It is part of every checkpoint: a resumed crawl knows them at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._new: set[str] = set()

    def add(self, host: str) -> None:
        """Allow the host name in `host`, which may have a port (`sitecrawl.urls.url.Url.host`)."""
        self._new.add(_name(host))

    def __contains__(self, host: str) -> bool:
        name = _name(host)
        return name in self._new or self._database.get("meta", SEED_HOST + name.encode()) is not None

    def prepare(self, batch: Batch) -> None:
        for name in self._new:
            batch.put("meta", SEED_HOST + name.encode(), b"")

    def committed(self) -> None:
        self._new.clear()


def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host
