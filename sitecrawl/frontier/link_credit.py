"""What a page's links do: credit for their targets, evidence for the targets' sections, trust for their hosts.

New URLs get their credit at once. What goes to URLs that are known already is gathered until the checkpoint, and then
their records are read in one go: most links of a site lead to the same few pages, and so cost one read together.
"""

from __future__ import annotations

import itertools
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import LEDGER
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.trust import HostGraph
from sitecrawl.frontier.hosts import KEY_BYTES, Host
from sitecrawl.frontier.record import Flag, State, UrlRecord
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.tables import HostTable, UrlTable

_EDGE, _SITE_LINK = b"E", b"S"
_HOST_PAGES = struct.Struct(f">{KEY_BYTES}sd")
EDGE_BYTES = _HOST_PAGES.size
SEEDS = bytes(KEY_BYTES)
"""The source of edges that stand for the seeds."""
SEEDS_KEY = _EDGE + SEEDS
"""The key of their row in the `edges` family."""

_SITE_LINKS_KEPT = 1 << 15
"""Links of sites into sections that are known without a look at the disk: 0.1 kB each."""

FOLLOW, NOFOLLOW = 10, 1
"""What a link counts, in tenths."""


class NewUrl(NamedTuple):
    """A URL that someone found: `key` is its fingerprint, `host` its host:port."""

    key: bytes
    url: str
    host: str
    nofollow: bool = False
    score: float = 0.0
    """The spider's own, for the order `best`."""
    priority: int = 0
    """The spider's own, for every order: the greatest first."""

    @property
    def weight(self) -> int:
        return NOFOLLOW if self.nofollow else FOLLOW


@dataclass(slots=True)
class Outlinks:
    """One page's links to known URLs, until the checkpoint."""

    host: Host
    section: bytes
    """The key of the page's section."""
    site: bytes
    tenth: int
    """What a tenth of a link is worth, in credit."""
    targets: dict[int, list[bytes]] = field(default_factory=dict)
    """Fingerprints, by what a link to them counts."""
    sections: dict[bytes, int] = field(default_factory=dict)
    """The sections that the page links to, with the greatest weight."""
    again: bool = False
    """The page was fetched before: what it links to is no news, and counts once."""

    def lead_to(self, known: Sequence[NewUrl]) -> None:
        """The page links to URLs that are known already, which get their credit at the checkpoint."""
        self.targets = {
            FOLLOW: [link.key for link in known if not link.nofollow],
            NOFOLLOW: [link.key for link in known if link.nofollow],
        }

    def touch(self, section: bytes, weight: int) -> None:
        if not self.again and section != self.section and weight > self.sections.get(section, 0):
            self.sections[section] = weight


class Economy:
    """Keeps ledger, host graph and inbound links. `site_key` gives the 8-byte key of a host's site."""

    def __init__(
        self,
        database: Database,
        urls: UrlTable,
        hosts: HostTable,
        policy: Callable[[], Ledger],
        site_key: Callable[[str], bytes],
    ) -> None:
        self.urls = urls
        self.hosts = hosts
        self._site_key = site_key
        self._edges = Overlay(database, "edges")
        self._meta = Overlay(database, "meta")
        stored = self._meta.get(LEDGER)
        self.ledger = policy() if stored is None else Ledger.unpack(stored)
        self.graph = _load_graph(database)
        self._pages: list[Outlinks] = []
        self._counted: set[bytes] = set()
        """Keys of site links that are in the `edges` family: a site's pages repeat most of theirs."""

    # A page's links

    def open(self, page: UrlRecord, host: Host, links: Sequence[NewUrl], *, rest: int = 0) -> Outlinks:
        """`page` spends its credit on `links`, which are distinct and not the page itself, but for `rest` shares."""
        nofollow = sum([link.nofollow for link in links])
        holds = not page.flags & Flag.VOLATILE  # what is in memory only would take its credit with it in a crash
        tenth = self.ledger.spend(page, host, len(links) - nofollow, nofollow, rest=rest) if holds else 0
        again = bool(page.flags & Flag.AGAIN)
        outlinks = Outlinks(host, host.key + page.section, self._site_key(host.name), tenth, again=again)
        self._pages.append(outlinks)
        if not again:
            self._link_hosts(host, links)
        return outlinks

    def _link_hosts(self, host: Host, links: Sequence[NewUrl]) -> None:
        weights = {link.host: NOFOLLOW for link in links if link.nofollow}
        weights |= {link.host: FOLLOW for link in links if not link.nofollow}
        weights.pop(host.name, None)
        for name, weight in weights.items():
            self.graph.link(host.key, self.hosts.key_of(name), weight / FOLLOW)

    def reach(self, outlinks: Outlinks, record: UrlRecord, weight: int) -> None:
        """Credit reaches a target of the page."""
        self._credit(record, outlinks.tenth * weight)
        outlinks.touch(record.host + record.section, weight)

    def _credit(self, record: UrlRecord, amount: int) -> None:
        self.ledger.credit(record, amount, waits=record.state == State.QUEUED and not record.flags & Flag.VOLATILE)

    def settle(self, changed: Callable[[bytes, UrlRecord], None]) -> None:
        """Let all credit arrive that is under way; calls `changed` with every record that got some."""
        amounts = self._amounts()
        records = self.urls.get_many(list(amounts))
        sections: dict[bytes, bytes] = {}
        for key, record in records.items():
            if record is None:  # a request that was forgotten when it was done
                self.ledger.lose(amounts[key])
            else:
                self._credit(record, amounts[key])
                sections[key] = record.host + record.section
                changed(key, record)
        for page in self._pages:
            for weight, keys in page.targets.items():
                for section in dict.fromkeys(map(sections.get, keys)):
                    if section is not None:
                        page.touch(section, weight)
        self._count_inbound()
        self._pages.clear()

    def _amounts(self) -> dict[bytes, int]:
        """The credit that is on its way, by where it goes."""
        amounts: defaultdict[bytes, int] = defaultdict(int)
        for page in self._pages:
            for weight, keys in page.targets.items():
                amount = page.tenth * weight
                for key in keys:
                    amounts[key] += amount
        return amounts

    def _count_inbound(self) -> None:
        """Across hosts sites count and not pages: the first page of a site that links into a section."""
        links: list[tuple[bytes | None, Host, Section, int]] = []
        for page in self._pages:
            on_host, of_site = page.host.key, _SITE_LINK + page.site
            for section_key, weight in page.sections.items():
                key = None if section_key.startswith(on_host) else of_site + section_key
                if key in self._counted:
                    continue
                host = self.hosts.live_host(section_key[:KEY_BYTES])
                section = host.sections.get(section_key[KEY_BYTES:]) if host is not None else None
                if host is not None and section is not None:
                    links.append((key, host, section, weight))
        counted = self._edges.contains_many({key for key, *_ in links if key is not None})
        for key, host, section, weight in links:
            if key in counted:
                continue
            if key is not None:
                counted.add(key)
                self._edges.put(key)
            section.inbound += weight / FOLLOW
            self.hosts.changed(host, section)
        if len(self._counted) + len(counted) > _SITE_LINKS_KEPT:
            self._counted.clear()
        self._counted |= counted

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand all changes to `batch`. Call `settle` before."""
        for source, targets in self.graph.changes():
            self._edges.put(_EDGE + source, edges_row(targets))
        if (seeds := self.graph.new_seeds()) is not None:
            self._edges.put(SEEDS_KEY, edges_row(seeds))
        self._meta.put(LEDGER, self.ledger.pack())
        self._edges.flush(batch)
        self._meta.flush(batch)

    def flushed(self) -> None:
        self.graph.saved()
        self._edges.flushed()
        self._meta.flushed()


def edges_row(targets: Mapping[bytes, float]) -> bytes:
    """One row for all that a host links to: a page changes many edges of one host, and each row has its price."""
    return b"".join(itertools.starmap(_HOST_PAGES.pack, targets.items()))


def _load_graph(database: Database) -> HostGraph:
    edges, seeds = [], []
    for source, target, pages in read_edges(database):
        if source == SEEDS:
            seeds.append((target, pages))
        else:
            edges.append((source, target, pages))
    return HostGraph(edges, seeds)


def read_edges(database: Database) -> Iterator[tuple[bytes, bytes, float]]:
    """Host, host that it links to, number of its pages that do; `SEEDS` as the first stands for the seeds.

    Raises `CorruptFile`.
    """
    try:
        for key, value in database.scan("edges", _EDGE, bytes([_EDGE[0] + 1])):
            for target, pages in _HOST_PAGES.iter_unpack(value):
                yield key[1:], target, pages
    except struct.error as error:
        raise CorruptFile(f"The graph of hosts in {database.path} cannot be read: {error}") from error
