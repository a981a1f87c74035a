"""The partitions that a worker has: what it knows of its lease on each, and what Redis has yet to hear of them.

Whatever a checkpoint changes in a partition is an entry of its log, which is written into the worker's own database
in the same batch as the rows themselves. So after a crash either both are there, and the entry is sent (again: its
number tells Redis whether it was), or neither, and the pages are fetched again. The same goes for messages that come
from no page of a partition: seeds, and what a spider asks for by itself.

Layout, in the family `meta`: docs/formats/database.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.cluster.entries import Entry, pack_entry
from sitecrawl.cluster.partition_store import Extent
from sitecrawl.cluster.standing import NO_TALLY, OfWorker, Tally
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import ENTRY, HELD, TOLD, WORKER
from sitecrawl.frontier.moving import NO_FACTS, Facts, Row
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import UrlState

RECENT: Final = 256
"""Entries of a partition, and messages, that are kept in case Redis forgets them (count)."""
_END: Final = b"\xff" * 16


@dataclass(eq=False)
class Held:
    """A partition that this worker has, or had up to now."""

    partition: int
    token: int
    number: int
    """Number of its newest entry, which Redis may not have yet."""
    unsent: deque[Entry] = field(default_factory=deque)
    received: list[bytes] = field(default_factory=list)
    """Bundles that were let in since the last entry was made."""
    read: int = 0
    """Bundles of its inbox that were let in and are there still."""
    outgoing: dict[str, bytes] = field(default_factory=dict)
    """Bundles of its outbox that may not have arrived, by `number:partition`."""
    copies: dict[str, tuple[Held, int]] = field(default_factory=dict)
    """Those of its bundles that say what another partition of this worker knew at once, with the number of its entry
    that has it: they have to arrive only if that is lost."""
    arrived: list[str] = field(default_factory=list)
    """Bundles that have arrived and are still in the outbox."""
    counts: PartCounts = field(default_factory=PartCounts)
    facts: Facts = NO_FACTS
    """Facts as of the last checkpoint."""
    tally: Tally = NO_TALLY
    """Tally as of its newest entry."""
    short: bool = False
    """Whether it has a URL to be fetched, and the limit of pages leaves it none."""
    asked_at: float = 0.0
    """Time on the frontier's clock at which a URL was handed out last, or allowance came for one."""
    rests_until: float = 0.0
    """It has left, and whoever has it next is not to ask its hosts before then, as far as he cannot know."""
    recent: deque[Entry] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Entries that Redis has taken of late, the last ones."""
    snapshot: int = 0
    """Bytes that Redis has of it as a whole."""
    log: int = 0
    """Bytes of the entries that came after that, as far as this worker knows."""
    is_leaving: bool = False
    """Whether it is to go to another worker."""
    has_left: bool = False
    """Whether it is gone from the database, with news that Redis still has to get."""
    is_lost: bool = False
    """Another worker has it."""
    is_sure: bool = True
    """Redis has confirmed that it is this worker's since the worker began."""

    @property
    def accepted(self) -> int:
        """The number of the newest entry that Redis has."""
        return self.unsent[0].number - 1 if self.unsent else self.number

    def to_deliver(self) -> list[str]:
        """Bundles of its outbox that are to go out now, each to the inbox of its partition, in their order: what
        comes behind a later one counts as told before. Copies that nobody needs any more have arrived.
        """
        going, kept = [], set[str]()
        for name in sorted(self.outgoing, key=_number):
            target = name.partition(":")[2]
            if target in kept:
                continue
            other, number = self.copies.get(name, (None, 0))
            if other is None or other.is_lost:
                going.append(name)
            elif other.accepted >= number:
                self.has_arrived(name)
            else:
                kept.add(target)
        return going

    def has_arrived(self, name: str) -> None:
        """A bundle of the outbox is where it was to come."""
        self.arrived.append(name)
        self.copies.pop(name, None)
        del self.outgoing[name]

    def is_on_redis(self, extent: Extent) -> None:
        """Note how much of it is on Redis."""
        self.outgoing, self.snapshot, self.log = dict(extent.outbox), extent.snapshot, extent.log
        self.copies = {}

    def learn(self, facts: Facts) -> bool:
        """These are the facts now. Returns whether it matters what is new in them: without hosts that wait, no
        dividend does.
        """
        before, self.facts = self.facts, facts
        if not self.counts.states[UrlState.QUEUED]:
            before = before._replace(dividend=facts.dividend, serial=facts.serial)
        return before != facts

    @property
    def is_told(self) -> bool:
        """Whether its newest entry says what others wait for of the limit of pages."""
        own, told = self.counts.allowance, self.tally
        return (own.account, own.granted, own.owed) == (told.account, told.granted, told.owed)

    def tally_of(self, worker: OfWorker) -> Tally:
        """Tally of the partition now, with the state of its worker."""
        return Tally(worker, tuple(self.counts.states), *self.counts.allowance.fields())


class _Told(NamedTuple):
    """A bundle of messages that come from no page, the `number`th of this worker."""

    number: int
    partition: int
    bundle: bytes


class Holdings:
    """See the module; `session` is the worker's name, of 16 hexadecimal digits. Raises `CorruptFile`."""

    def __init__(self, database: Database, new_session: str) -> None:
        self.database = database
        stored = database.get("meta", WORKER)
        self.session = new_session if stored is None else stored.hex()
        self.held: dict[int, Held] = {}
        self.departed: list[Held] = []
        self.told: dict[int, _Told] = {}
        """Not delivered yet, by number."""
        self.delivered_last = deque[_Told](maxlen=RECENT)
        """Messages that have been delivered of late."""
        self.orphans: list[Entry] = []
        """Entries of partitions that were lost when the worker was killed."""
        self._last_told = 0
        self._flushes = 0
        self._unheard: set[tuple[int, int]] = set()
        """News that Redis did not have when the last batch became durable."""
        self._sent: list[Entry] = []
        self._delivered: list[_Told] = []
        self._load()

    def _load(self) -> None:
        try:
            for place in msgpack.unpackb(self.database.get("meta", HELD) or b"\x90"):
                partition, token, number, has_left, *counted = place
                counts = PartCounts(*counted)
                self.add(Held(partition, token, number, counts=counts, is_sure=False, has_left=has_left))
            for key, data in self.database.scan("meta", TOLD, TOLD + _END):
                number = int.from_bytes(key[len(TOLD) :], "big")
                self.told[number] = _Told(number, *msgpack.unpackb(data))
                self._last_told = number
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"What a worker has in {self.database.path} cannot be read: {error}") from error
        for _, data in self.database.scan("meta", ENTRY, ENTRY + _END):
            entry = Entry.unpack(data)
            for held in self.all:
                if held.partition == entry.partition:
                    held.unsent.append(entry)
                    held.read += entry.heard.bundles  # they leave the inbox when Redis takes the entry
                    break
            else:
                self.orphans.append(entry)

    def forget_orphans(self) -> None:
        """With the next batch."""
        self._sent += self.orphans
        self.orphans = []

    def unheard(self) -> set[tuple[int, int]]:
        """Keys of unconfirmed news: (partition, number) of entries, (-1, number) of messages."""
        entries = {(entry.partition, entry.number) for held in self.all for entry in held.unsent}
        return entries | {(-1, number) for number in self.told}

    def flushed(self) -> bool:
        """The last batch is durable. Returns whether Redis has yet to hear of anything."""
        self._flushes += 1
        self._unheard = self.unheard()
        return bool(self._unheard)

    def settling(self) -> Callable[[], bool]:
        """Return a function that tells whether Redis has all that the next batch writes."""
        flushes = self._flushes + 1
        waits_for: set[tuple[int, int]] | None = None

        def has_settled() -> bool:
            nonlocal waits_for
            if self._flushes < flushes:
                return False
            waits_for = self._unheard if waits_for is None else waits_for
            return waits_for.isdisjoint(self.unheard())

        return has_settled

    @property
    def all(self) -> list[Held]:
        """All partitions, including those that have left."""
        return [*self.held.values(), *self.departed]

    def add(self, held: Held) -> None:
        if held.has_left:
            self.departed.append(held)
        else:
            self.held[held.partition] = held

    def flush(self, batch: Batch, entries: Iterable[Entry], told: Iterable[tuple[int, bytes]]) -> None:
        """Write new entries and messages, and forget those that have arrived."""
        batch.put("meta", WORKER, bytes.fromhex(self.session))
        for sent in self._sent:
            batch.delete("meta", _key(sent))
        for delivered in self._delivered:
            if delivered.number < self._last_told:  # the last one stays, and with it the number of the next
                batch.delete("meta", TOLD + delivered.number.to_bytes(8, "big"))
        self._sent, self._delivered = [], [one for one in self._delivered if one.number == self._last_told]
        for entry in entries:
            batch.put("meta", *self.journal(entry))
        for partition, bundle in told:
            self._last_told += 1
            self.told[self._last_told] = _Told(self._last_told, partition, bundle)
            batch.put("meta", TOLD + self._last_told.to_bytes(8, "big"), msgpack.packb([partition, bundle]))
        batch.put("meta", HELD, self.packed())

    def journal(self, entry: Entry) -> tuple[bytes, bytes]:
        """The row that keeps a new entry until Redis has it, to be written at once with what it is about."""
        held = self.held[entry.partition]
        held.number, held.received = entry.number, held.received[entry.heard.bundles :]
        held.unsent.append(entry)
        return _key(entry), entry.pack()

    def packed(self) -> bytes:
        """The row of all that is held, or was and Redis has to hear the last of."""
        packed: bytes = msgpack.packb(
            [[one.partition, one.token, one.number, one.has_left, *_counted(one.counts)] for one in self.all]
        )
        return packed

    def keep_tokens(self) -> None:
        """Have the new tokens on disk, before anything comes to Redis with them: it would not count after a crash."""
        tokens = {one.partition: one.token for one in self.all}
        places = msgpack.unpackb(self.database.get("meta", HELD) or b"\x90")
        batch = self.database.batch()
        batch.put("meta", HELD, msgpack.packb([[at, tokens.get(at, token), *rest] for at, token, *rest in places]))
        self.database.write(batch)

    def confirmed(self, held: Held, number: int) -> None:
        """Redis has all entries of a partition up to that number."""
        while held.unsent and held.unsent[0].number <= number:
            entry = held.unsent.popleft()
            held.read -= entry.heard.bundles
            held.outgoing.update((f"{entry.number}:{target}", bundle) for target, bundle in entry.sends.items())
            self._sent.append(entry)
            held.recent.append(replace(entry, data=b"", sends={}))

    def delivered(self, told: _Told) -> None:
        self._delivered.append(self.told.pop(told.number))
        self.delivered_last.append(told)

    def begin(self, held: Held, changed: Iterable[Row]) -> tuple[bytes, bytes]:
        """A partition has come, and so many of its rows have changed for it: the row that keeps the entry of that."""
        self.add(held)
        data = pack_entry(held.facts, {(family, key): value for family, key, value in changed})
        return self.journal(Entry(held.partition, held.number + 1, data, held.tally.pack()))

    def stay(self) -> None:
        """None is to go to another worker."""
        for held in self.held.values():
            held.is_leaving = False

    def going(self, busy: Container[int]) -> list[Held]:
        """Partitions that are lost, or leave and have nothing in flight; `busy` have something in flight."""
        return [
            one
            for one in self.held.values()
            if one.is_lost or (one.is_leaving and one.partition not in busy and not one.received)
        ]

    def give_up(self, held: Held) -> list[Entry]:
        """Entries that Redis will never take, once."""
        given_up = list(held.unsent)
        self._sent += given_up
        held.unsent.clear()
        return given_up

    def drop(self, held: Held) -> None:
        """The partition goes from this worker's database: to another worker that has it already, or may have it."""
        del self.held[held.partition]
        if not held.is_lost:
            held.has_left = True
            self.departed.append(held)

    def gone(self, held: Held) -> None:
        """Redis has heard the last of a partition that has left."""
        self.departed.remove(held)


def _number(name: str) -> int:
    """Number of the entry to which a bundle of the outbox belongs."""
    return int(name.partition(":")[0])


def _key(entry: Entry) -> bytes:
    return ENTRY + entry.partition.to_bytes(2, "big") + entry.number.to_bytes(8, "big")


def _counted(counts: PartCounts) -> tuple[list[int], list[int], tuple[int, int, int, int]]:
    """Plain values of a `PartCounts`."""
    return counts.states, counts.forgotten, counts.allowance.fields()
