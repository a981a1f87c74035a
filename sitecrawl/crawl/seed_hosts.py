"""Hosts that the user named, which may have private addresses.

They are needed only when a connection would go to an address that is not public, so they are in the database, a key
of the family `meta` each, and not in memory: a crawl may have a million seeds.
"""

from __future__ import annotations

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import SEED_HOST
from sitecrawl.crawldir.participant import Participant


class SeedHosts(Participant):
    """A set of host names without ports. Participant of checkpoints."""

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
