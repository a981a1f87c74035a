"""The frontier's records: what the open checkpoint has changed over what the database holds.

A table answers from its changes first and from disk otherwise; `flush` hands the changes to the checkpoint's batch.
`UrlTable` is also the exact tier of the crawl's seen set: a URL is seen when it has a record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import groupby
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.frontier.seen.figures import Lookups
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import KEY_BYTES as HOST_KEY_BYTES
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import Flag, UrlRecord
from sitecrawl.frontier.urls.sections import KEY_BYTES as SECTION_KEY_BYTES
from sitecrawl.frontier.urls.sections import REQUISITES, Section
from sitecrawl.frontier.urls.sites import PROOF, Unproven, pool_of
from sitecrawl.frontier.urls.worth import weigh
from sitecrawl.urls.shape import Shape, fold, shape_of

MAX_SECTIONS: Final = 64
"""Shapes of one host that are told apart."""
MAX_KEY_SETS: Final = 32
"""Sets of query keys of one path shape that are told apart."""
MAX_COARSE: Final = 32
"""Paths that have a section of their own for all further sets of keys, once `MAX_SECTIONS` are told apart."""
RECORDS_KEPT: Final = 8_192
"""Records that stay in memory after a checkpoint, up to twice: about 0.7 kB each. A checkpoint is about as many."""
HOST_KEYS_KEPT: Final = 4_096
"""Names of hosts whose keys stay in memory, about 0.2 kB each: most links of a page lead to the hosts of the last."""
SECTION_KEYS_KEPT: Final = 4_096
"""Shapes whose keys stay in memory, about 0.4 kB each: nearly every URL that is new has the shape of others."""


class UrlTable:
    """Fingerprint → `UrlRecord`, in the `urls` family. It is the crawl's `ExactSet`."""

    def __init__(self, database: Database, count: int) -> None:
        self._database = database
        self._changed: dict[bytes, UrlRecord | None] = {}
        self._volatile: dict[bytes, UrlRecord] = {}
        """Records of requests that are in memory only: on disk nothing would ever come of them."""
        self._stored: dict[bytes, UrlRecord | None] = {}
        """What the disk holds of keys that were asked for or changed of late, with None for what it does not: most
        links lead to the same few pages, so most records are wanted again soon."""
        self._stored_before: dict[bytes, UrlRecord | None] = {}
        """The same of a while ago: it goes when `_stored` is full, and what was asked for since has moved on."""
        self._count = count
        self.lookups = Lookups()
        """Where `contains_many` found its answers: in the write batch, which is the table of recently added URLs, in
        records that are kept, or in the database."""

    def get(self, key: bytes) -> UrlRecord | None:
        """The record, to be changed only if `put` follows."""
        for kept in (self._volatile, self._changed, self._stored):
            if key in kept:
                return kept[key]
        return self._read_one(key)

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, UrlRecord | None]:
        """The records of `keys`, read in one go."""
        changed, volatile = self._changed, self._volatile
        if volatile:
            here = {key: self.get(key) for key in keys if key in changed or key in volatile}
        else:
            here = {key: changed[key] for key in keys if key in changed}
        ask = [key for key in keys if key not in here]
        here.update(zip(ask, self._read(ask), strict=True))
        return here

    def is_at_hand(self, key: bytes) -> bool:
        """Whether `get` need not ask the disk."""
        return key in self._stored or key in self._changed or key in self._volatile or key in self._stored_before

    def _read_one(self, key: bytes) -> UrlRecord | None:
        """As `_read`, for a key that is not in `_stored`, and 6 us quicker than with a list of it alone."""
        if key in self._stored_before:
            record = self._stored_before.pop(key)
        else:
            data = self._database.get("urls", key)
            record = None if data is None else UrlRecord.unpack(data)
        self._stored[key] = record
        return record

    def _read(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """What the disk holds of `keys`."""
        stored, before = self._stored, self._stored_before
        ask = [key for key in keys if key not in stored]
        if ask:
            cold = [key for key in ask if key not in before]
            stored.update((key, before.pop(key)) for key in ask if key in before)
            for key, data in zip(cold, self._database.get_many("urls", cold) if cold else (), strict=True):
                stored[key] = None if data is None else UrlRecord.unpack(data)
        return [stored[key] for key in keys]

    def section_of(self, key: bytes) -> bytes:
        """The section of a URL that the open checkpoint has changed."""
        record = self._changed.get(key) or self._volatile[key]
        return record.section

    def put(self, key: bytes, record: UrlRecord) -> None:
        if record.flags & Flag.VOLATILE:
            self._volatile[key] = record
            self._changed[key] = None
        else:
            self._volatile.pop(key, None)
            self._changed[key] = record

    def put_many(self, records: Mapping[bytes, UrlRecord]) -> None:
        """`put` for each."""
        if not self._volatile:  # so none of them is
            self._changed.update(records)
            return
        for key, record in records.items():
            self.put(key, record)

    def delete(self, key: bytes) -> None:
        self._volatile.pop(key, None)
        self._changed[key] = None

    def contains_many(self, keys: Sequence[bytes]) -> list[bool]:
        self._count_lookups(keys)
        found = self.get_many(keys)
        return [found[key] is not None for key in keys]

    def _count_lookups(self, keys: Sequence[bytes]) -> None:
        old = [key for key in keys if key not in self._changed and key not in self._volatile]
        cold = [key for key in old if key not in self._stored and key not in self._stored_before]
        self.lookups.recent += len(keys) - len(old)
        self.lookups.buffer += len(old) - len(cold)
        self.lookups.disk += len(cold)

    def add_many(self, keys: Sequence[bytes]) -> None:
        """The frontier puts a record for every key that the seen set called new: nothing else is to be kept."""
        self._count += len(keys)

    def __len__(self) -> int:
        return self._count

    def keys(self) -> Iterator[bytes]:
        """All keys on disk: what a lost Bloom filter is made of again."""
        return (key for key, _ in self._database.scan("urls"))

    def flush(self, batch: Batch) -> None:
        """Hand the changes to `batch`."""
        for key, record in self._changed.items():
            if record is None:
                batch.delete("urls", key)
            else:
                batch.put("urls", key, record.pack())

    def flushed(self) -> None:
        """The batch is on disk."""
        self._stored.update(self._changed)
        self._changed.clear()
        if len(self._stored) > RECORDS_KEPT:
            self._stored, self._stored_before = {}, self._stored


class HostTable:
    """Host name → `Host` with its sections. Only hosts with something to do stay in memory."""

    def __init__(
        self,
        database: Database,
        key_of: Callable[[str], bytes],
        *,
        is_named: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._database = database
        self.key_of: Callable[[str], bytes] = lru_cache(maxsize=HOST_KEYS_KEPT)(key_of)
        self._is_named = is_named
        """Whether a sheet names the host of that name."""
        self._live: dict[bytes, Host] = {}
        self._changed: set[bytes] = set()
        self._changed_sections: dict[bytes, Section] = {}
        self._idle: set[bytes] = set()
        """Hosts that had nothing to do at the last checkpoint, and rest still."""
        self._pools: set[bytes] = set()
        """The keys of all pools."""
        self._unproven = Unproven(database)
        self.on_load: Callable[[Host], None] = lambda _: None
        """Called with every host that comes from disk."""

    def named(self, name: str) -> Host:
        """The host called `name`, made if it is not known."""
        key = self.key_of(name)
        host = self.get(key)
        if host is None:
            host = self._live[key] = Host(key, name)
            if host.is_pool:
                self._pools.add(key)
        return host

    def home(self, name: str, *, seed: bool = False) -> Host:
        """Where URLs of the host `name` go to: to itself, made if it may have a record, or else to its site's pool.

        `seed`: whether a person has named it.
        """
        host = self.get(self.key_of(name))
        if host is not None and not seed:
            return host
        pool = pool_of(name)
        if pool is None or pool == name:
            return self.named(name)
        site, key = self.key_of(pool), self.key_of(name)
        if seed:
            self._unproven.remove(site, key)
        elif not self._is_named(name) and not self._unproven.admit(site, key):
            return self.named(pool)
        host = self.named(name)
        if site in self._pools:  # a delay that its robots.txt has asked for
            host.crawl_delay = max(host.crawl_delay, self.named(pool).crawl_delay)
        return host

    def key_at(self, name: str) -> bytes:
        """The key of the host where URLs of the host `name` are: its own, or that of its site's pool."""
        key = self.key_of(name)
        if not self._pools or key in self._live or (pool := pool_of(name)) is None:
            return key
        site = self.key_of(pool)
        return key if site not in self._pools or self._database.get("hosts", key) is not None else site

    def keys_at(self, names: Iterable[str]) -> Iterator[bytes]:
        """`key_at` for each of `names`."""
        return map(self.key_at if self._pools else self.key_of, names)

    def has(self, host: Host, name: str) -> bool:
        """Whether URLs of the host `name` are those of `host`."""
        return name == host.name or (host.is_pool and self.key_at(name) == host.key)

    def learnt(self, host: Host) -> None:
        """A page of `host` has ended: it may be proven now."""
        if host.good == PROOF and not host.is_pool and (pool := pool_of(host.name)) is not None:
            self._unproven.remove(self.key_of(pool), host.key)

    def get(self, key: bytes) -> Host | None:
        host = self._live.get(key)
        if host is None and (data := self._database.get("hosts", key)) is not None:
            host = self._live[key] = self._unpack(key, data)
        return host

    def changed_sections(self) -> Iterable[Section]:
        """Those of which something has changed since the last checkpoint."""
        return self._changed_sections.values()

    def sites_of(self, keys: Sequence[bytes]) -> set[str]:
        """The sites of the hosts with these keys, which need not stay in memory for it."""
        live = [self._live[key] for key in keys if key in self._live]
        rows = self._database.get_many("hosts", [key for key in keys if key not in self._live])
        stored = [Host.unpack(b"", data) for data in rows if data is not None]
        return {host.site for host in (*live, *stored)}

    def at_hand(self, key: bytes) -> Host | None:
        """The host with this key, if it is in memory."""
        return self._live.get(key)

    def section(self, host: Host, url: str) -> Section:
        """The section of `host` that `url` belongs to, made if it is not known.

        A host has at most `MAX_SECTIONS` of its own, and `MAX_KEY_SETS` that differ in the query alone: URLs of
        further shapes share coarser ones, first those of one path, and when there are `MAX_COARSE`, all.
        """
        shape = shape_of(url)
        if (section := host.sections.get(section_key(shape))) is not None:
            return section
        if len(host.sections) >= MAX_SECTIONS:
            of_path = fold(shape, wholly=False)
            is_known = section_key(of_path) in host.sections
            fits = is_known or len(host.sections) < MAX_SECTIONS + MAX_COARSE
            shape = of_path if shape.keys and fits else fold(shape, wholly=True)
        elif shape.keys and self._siblings(host, shape) >= MAX_KEY_SETS:
            shape = fold(shape, wholly=False)
        key = section_key(shape)
        if (section := host.sections.get(key)) is None:
            section = self._new_section(host, key, str(shape))
            weigh(section, host.kin)
        return section

    def section_for(self, host: Host, record: UrlRecord) -> Section:
        """The section where the URL of `record` belongs on `host`, made if it is not known."""
        return self.requisites(host) if record.flags & Flag.REQUISITE else self.section(host, record.url)

    def requisites(self, host: Host) -> Section:
        """The section of the host's requisites, made if there have been none."""
        return self._named(host, REQUISITES)

    def rule_section(self, host: Host, name: str) -> Section:
        """The section of `host` for the URLs that a rule joins, made if there is none; `name` is the rule's."""
        return self._named(host, name)

    def _named(self, host: Host, name: str) -> Section:
        key = section_key(name)
        return host.sections.get(key) or self._new_section(host, key, name)

    def _new_section(self, host: Host, key: bytes, shape: str) -> Section:
        queue = DiskQueue(self._database, host.key + key, empty=True)
        section = host.sections[key] = Section(host.key + key, shape, queue)
        return section

    @staticmethod
    def _siblings(host: Host, shape: Shape) -> int:
        stem = str(shape).partition("?")[0] + "?"
        return sum(section.shape.startswith(stem) for section in host.sections.values())

    def changed(self, host: Host, section: Section | None = None) -> None:
        self._changed.add(host.key)
        if section is not None:
            self._changed_sections[section.key] = section

    def load(self) -> Iterator[Host]:
        """The hosts on disk that have URLs waiting. Raises `CorruptFile`.

        Costs two scans, of hosts and sections, and one look-up a section with URLs waiting, however many they are.
        """
        # A host's key is the first half of its sections' keys, so its record comes before theirs.
        rows = merge(self._database.scan("hosts"), self._database.scan("sections"))
        for key, ((own, data), *sections) in groupby(rows, lambda row: row[0][:HOST_KEY_BYTES]):
            if own != key:
                raise CorruptFile(f"The host of section {own.hex()} is missing from {self._database.path}")
            host = self._assemble(Host.unpack(key, data), sections)
            if host.queued:
                self._live[key] = host
        waiting = [section for host in self._live.values() for section in host.sections.values() if section.queued]
        firsts = self._database.first_keys("queue", (section.key for section in waiting))
        for section, first in zip(waiting, firsts, strict=True):
            section.queue.begin(first)
        return self.live()

    def __len__(self) -> int:
        """Hosts in memory."""
        return len(self._live)

    def find(self, name: str) -> Host | None:
        """The host called `name`, or the pool where its URLs are, for a look at it: one on disk only stays there."""
        key = self.key_at(name)
        return self._live.get(key) or HostTable(self._database, self.key_of).get(key)

    def live(self) -> Iterator[Host]:
        return iter(self._live.values())

    def flush(self, batch: Batch, *, ahead: float = 0.0) -> None:
        """Hand the changes to `batch`. `ahead`: how many seconds Unix time is ahead of the frontier's clock."""
        for key in self._changed:
            host = self._live[key]
            host.note_rests(ahead)
            batch.put("hosts", key, host.pack())
        for key, section in self._changed_sections.items():
            batch.put("sections", key, section.pack())
        self._unproven.flush(batch)

    def flushed(self, now: float) -> None:
        """The batch is on disk: forget what memory need not hold."""
        self._unproven.flushed()
        for section in self._changed_sections.values():
            section.queue.trim()
        idle = {key for key in self._changed | self._idle if self._live[key].is_idle}
        self._changed.clear()
        self._changed_sections.clear()
        self._idle = {key for key in idle if self._live[key].free_at > now}
        for key in idle - self._idle:
            host = self._live.pop(key)
            host.ticket = 0  # entries of the workbench outlive the host: none of them counts any more

    def _unpack(self, key: bytes, data: bytes) -> Host:
        return self._assemble(Host.unpack(key, data), self._database.scan("sections", key, next_prefix(key)))

    def _assemble(self, host: Host, sections: Iterable[tuple[bytes, bytes]]) -> Host:
        """Give `host` its sections: their keys and records."""
        for key, record in sections:
            queue = DiskQueue(self._database, key, empty=False)
            host.sections[key[HOST_KEY_BYTES:]] = Section.unpack(key, record, queue)
        if host.is_pool:
            self._pools.add(host.key)
        self.on_load(host)
        return host


@lru_cache(maxsize=SECTION_KEYS_KEPT)
def section_key(shape: Shape | str) -> bytes:
    """The second part of the key of the section that has this shape, or is for the rule of this name."""
    return hashlib.blake2b(str(shape).encode(), digest_size=SECTION_KEY_BYTES).digest()
