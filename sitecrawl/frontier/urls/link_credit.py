"""What a page's links do: credit for their targets, trust for their targets' hosts.

New URLs get their credit at once. What goes to URLs that are known already is gathered until the checkpoint, and then
their records are read in one go: most links of a site lead to the same few pages, and so cost one read together.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from sitecrawl.base.compiled import native
from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import LEDGER
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.urls.host import KEY_BYTES, Host
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import HostTable, UrlTable
from sitecrawl.page.items import FOLLOW, NOFOLLOW, Link

_HOST_PAGES = struct.Struct(f">{KEY_BYTES}sd")
EDGE_BYTES = _HOST_PAGES.size
SEEDS = bytes(KEY_BYTES)
"""In the row of a host: who its seeds are from, with their number. No host has this key."""


class LinkCredit:
    """Keeps the ledger and the graph of hosts. `is_here` tells which hosts are its frontier's; without it all are."""

    def __init__(
        self,
        database: Database,
        urls: UrlTable,
        hosts: HostTable,
        new_ledger: Callable[[], Ledger],
        is_here: Callable[[bytes], bool] | None = None,
    ) -> None:
        self.urls = urls
        self.hosts = hosts
        self._edges = Overlay(database, "edges")
        self._meta = Overlay(database, "meta")
        stored = self._meta.get(LEDGER)
        self.ledger = new_ledger() if stored is None else Ledger.unpack(stored)
        self.graph = load_graph(database, is_here)
        self._owed: dict[bytes, int] = {}
        """Credit that is on its way to known URLs until the checkpoint."""
        self._links: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        """How many links to each of these are on pages of a section, by its key."""

    def spend(self, page: UrlRecord, host: Host, links: Sequence[Link], *, rest: int = 0) -> int:
        """`page` spends its credit on `links`, which are distinct and not the page itself, but for `rest` shares.

        Returns what a tenth of a link is worth.
        """
        nofollow = [link.nofollow for link in links].count(True)
        holds = not page.flags & Flag.VOLATILE  # what is in memory only would take its credit with it in a crash
        return self.ledger.spend(page, host, len(links) - nofollow, nofollow, rest=rest) if holds else 0

    def link_hosts(self, page: UrlRecord, host: Host, links: Sequence[Link]) -> None:
        """`page`, of `host`, links to the hosts of `links`, which are known by now."""
        if page.flags & Flag.AGAIN or not links:  # what it links to again is no news any more
            return
        keys_at = self.hosts.keys_at  # dictionaries and not sets: in the same order in a crawl that is repeated
        followed = [link.host for link in links if not link.nofollow]
        vouched = dict.fromkeys(followed)
        targets: dict[bytes, float] = {}
        if len(followed) < len(links):
            others = dict.fromkeys([link.host for link in links if link.nofollow and link.host not in vouched])
            targets = dict.fromkeys(keys_at(others), NOFOLLOW / FOLLOW)
        targets |= dict.fromkeys(keys_at(vouched), 1.0)
        targets[host.key] = 1.0  # what links within its host keeps trust there
        self.graph.link(host.key, targets)

    def give(self, record: UrlRecord, amount: int) -> None:
        """Credit that was spent reaches `record`."""
        keeps = record.waits() or (self.ledger.comes_back and record.state == UrlState.FETCHED)
        self.ledger.credit(record, amount, waits=keeps)

    def owe(self, page: UrlRecord | None, known: dict[bytes, Link], tenth: int) -> None:
        """`page` links to URLs that are known already, which get their credit at the checkpoint; None for a page of
        another site.
        """
        if tenth:
            counts = None if page is None else self._links[page.host + page.section]
            owe = _owe_in_python if native is None else native.owe
            owe(self._owed, counts, known, tenth * FOLLOW, tenth * NOFOLLOW)

    @property
    def is_owing(self) -> bool:
        """Whether credit is under way."""
        return bool(self._owed)

    def settle(self, changed: Callable[[Mapping[bytes, UrlRecord], Mapping[bytes, UrlRecord]], None]) -> None:
        """Let all credit arrive that is under way; calls `changed` with the records that got some, and with those of
        them that wait.
        """
        owed = self._owed
        found = self.urls.get_many(list(owed))
        credited = {key: record for key, record in found.items() if record is not None}
        waiting = {key: record for key, record in credited.items() if record.waits()}
        comes_back, fetched = self.ledger.comes_back, UrlState.FETCHED
        self.ledger.credit_many(
            [
                (record, owed[key], key in waiting or (comes_back and record.state == fetched))
                for key, record in credited.items()
            ]
        )
        self._count_received(credited)
        if len(credited) < len(found):  # requests that were forgotten when they were done
            self.ledger.lose(sum([owed[key] for key in found if key not in credited]))
        changed(credited, waiting)
        owed.clear()
        self._links.clear()

    def _count_received(self, credited: Mapping[bytes, UrlRecord]) -> None:
        """Sections have received what their URLs have; of hosts with nothing to do nobody asks."""
        reached: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for key, record in credited.items():
            reached[record.host + record.section].append(key)
        for section_key, keys in reached.items():
            host = self.hosts.at_hand(section_key[:KEY_BYTES])
            section = host.sections.get(section_key[KEY_BYTES:]) if host is not None else None
            if host is not None and section is not None:
                section.received += sum(map(self._owed.__getitem__, keys))
                links = self._links.get(section.feeder)
                fed = sum(map(links.get, keys, itertools.repeat(0))) if links else 0
                section.trap.count(fed, section.known)
                self.hosts.changed(host, section)

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`. Call `settle` before."""
        for host, targets, seeds in self.graph.changes():
            self._edges.put(host, edges_row(targets, seeds))
        self._meta.put(LEDGER, self.ledger.pack())
        self._edges.flush(batch)
        self._meta.flush(batch)

    def flushed(self) -> None:
        self.graph.saved()
        self._edges.flushed()
        self._meta.flushed()


def _owe_in_python(
    owed: dict[bytes, int], counts: Counter[bytes] | None, links: Mapping[bytes, Link], follow: int, nofollow: int
) -> None:
    """Add to `owed` what each of `links` is worth, by its key, and 1 to `counts`."""
    if counts is not None:
        counts.update(links.keys())
    for key, link in links.items():
        owed[key] = owed.get(key, 0) + (nofollow if link.nofollow else follow)


def edges_row(targets: Mapping[bytes, float], seeds: float = 0.0) -> bytes:
    """One row for all that a host links to, and its seeds: a page changes many edges of one host, and each row has
    its price.
    """
    row = b"".join(itertools.starmap(_HOST_PAGES.pack, targets.items()))
    return row + _HOST_PAGES.pack(SEEDS, seeds) if seeds else row


def edges_of(row: bytes) -> dict[bytes, float]:
    """What `edges_row` made the row of, the seeds under `SEEDS`; nothing of a row that it has not made."""
    return dict(_HOST_PAGES.iter_unpack(row)) if len(row) % EDGE_BYTES == 0 else {}


def load_graph(database: Database, is_here: Callable[[bytes], bool] | None = None) -> HostGraph:
    """The graph of hosts as it was stored. Raises `CorruptFile`."""
    edges, seeds = [], []
    for source, target, pages in read_edges(database):
        if source == SEEDS:
            seeds.append((target, pages))
        else:
            edges.append((source, target, pages))
    return HostGraph(edges, seeds, is_here)


def read_edges(database: Database) -> Iterator[tuple[bytes, bytes, float]]:
    """Host, host that it links to, number of its pages that do; or `SEEDS`, a host, and the number of its seeds.

    Raises `CorruptFile`.
    """
    try:
        for source, value in database.scan("edges"):
            for target, pages in _HOST_PAGES.iter_unpack(value):
                yield (SEEDS, source, pages) if target == SEEDS else (source, target, pages)
    except struct.error as error:
        raise CorruptFile(f"The graph of hosts in {database.path} cannot be read: {error}") from error
