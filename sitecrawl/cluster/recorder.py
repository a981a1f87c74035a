"""What a worker's checkpoint writes beside the rows: for each partition an entry of its log, with the messages that
go out with it, and for what comes from no page bundles of their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sitecrawl.cluster.entries import Bundle, Entry, FromInbox, RecordingBatch, pack_entry, unpack_entry
from sitecrawl.cluster.page_limit import PageLimit
from sitecrawl.cluster.partitions import Partitions
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.standing import OfWorker, Tally
from sitecrawl.crawldir.database import Batch
from sitecrawl.frontier.by_hand import Act
from sitecrawl.frontier.moving import facts_of
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord
from sitecrawl.frontier.urls.territory import Message, Outbox, Territory
from sitecrawl.frontier.urls.url_states import name_of
from sitecrawl.page.items import Link

_KEPT = Flag.SEED | Flag.AWAITED | Flag.UNFILTERED | Flag.REQUISITE
_UNLINKED = Flag.SEED | Flag.REQUISITE
"""No page's link has led to it."""


def _rescued(entries: Iterable[Entry], territory: Territory) -> Iterator[Message]:
    """Messages of `entries` that Redis will never take, for whoever has their partitions now: the page that links to
    them may be in another partition, and be done. Credit that was on its way to them is gone. Raises `CorruptFile`.
    """
    requests: dict[bytes, bytes] = {}
    found: dict[bytes, UrlRecord] = {}
    for entry in entries:
        for family, key, value in unpack_entry(entry.data)[1]:
            if family == "requests" and value is not None:
                requests[key] = value
            elif family == "urls" and value is not None:
                record = UrlRecord.unpack(value)
                own = record.referrer != NO_REFERRER and territory.partition(record.referrer) == entry.partition
                if not own:  # the page is fetched again, and its links with it
                    found[key] = record
    for key, record in found.items():
        yield _message(key, record, requests.get(key))


def _message(key: bytes, record: UrlRecord, request: bytes | None) -> Message:
    return Message(
        Link(record.url, name_of(record.url), key=key),
        record.depth,
        record.referrer,
        tenth=None if record.flags & _UNLINKED else 0,
        flags=record.flags & _KEPT,
        request=request,
    )


class Recorder:
    """See the module. `limit` says what a partition gives of its share of the pages of `run`."""

    def __init__(self, partitions: Partitions, limit: PageLimit, run: Run) -> None:
        self._partitions = partitions
        self._limit = limit
        self._run = run
        self._listener = partitions.listener
        self._rows: defaultdict[int, list[int]] = defaultdict(list)
        self._rescued: list[Message] = []
        self._acts: defaultdict[int, list[Act]] = defaultdict(list)
        self._recorded: RecordingBatch | None = None
        """Into which the checkpoint is written that is made just now."""

    # Between two checkpoints

    def stored(self, key: bytes, row: int) -> None:
        """The page of a URL that is this worker's stands in that row of its page index."""
        self._rows[self._partitions.territory.partition(key)].append(row)

    def act(self, act: Act) -> None:
        """Have it done by whoever has the partition of its host, or by all."""
        parts = self._partitions
        key_of, place = parts.frontier.hosts.key_of, parts.territory.partition
        for partition in [place(key_of(act.host))] if act.host else range(parts.total):
            self._acts[partition].append(act)

    def give_up(self, entries: Iterable[Entry]) -> bool:
        """Redis will never take them: their pages do not count, and what was found is told to others. Returns whether
        there was any.
        """
        if not (entries := list(entries)):
            return False
        self._listener.withdrawn([row for entry in entries for row in entry.rows])
        self._rescued += _rescued(entries, self._partitions.territory)
        return True

    # A checkpoint

    def recording(self, batch: Batch) -> RecordingBatch:
        """Batch that also records rows about sites for Redis."""
        self._recorded = RecordingBatch(batch, self._partitions.territory)
        return self._recorded

    def under_way(self, batch: Batch) -> RecordingBatch:
        """Recording batch of the current checkpoint."""
        recorded = self._recorded
        return recorded if recorded is not None and batch is recorded else self.recording(batch)

    def record(self, recorded: RecordingBatch, worker: OfWorker, *, is_at_rest: bool) -> None:
        """The frontier has written all changes: now what tells Redis of them. `worker` is how it stands; at rest it
        says so of every partition.
        """
        self._recorded = None
        sends, told = self._bundles()
        entries = list(self._entries(recorded, sends, worker, is_at_rest=is_at_rest))
        self._partitions.holdings.flush(recorded, entries, told)

    def _entries(
        self, recorded: RecordingBatch, sends: dict[int, dict[int, bytes]], worker: OfWorker, *, is_at_rest: bool
    ) -> Iterator[Entry]:
        """One for each partition of which there is anything to tell."""
        frontier = self._partitions.frontier
        facts = facts_of(self._partitions.territory, frontier.link_credit.ledger, frontier.counts.serial)
        rows, self._rows = self._rows, defaultdict(list)
        for partition, held in self._partitions.holdings.held.items():
            has_changed = held.learn(facts[partition])
            if held.is_lost:
                self._listener.withdrawn(rows.pop(partition, []))
                continue
            told, held.tally = held.tally, held.tally_of(worker)
            changes, out = recorded.changes.get(partition, {}), sends[partition]
            is_news = has_changed or _is_news(told, held.tally, is_at_rest=is_at_rest)
            if not (changes or out or held.received or is_news):
                held.tally = told
                continue
            data, tally = pack_entry(facts[partition], changes), held.tally.pack()
            heard = FromInbox.of(held.received)
            yield Entry(partition, held.number + 1, data, tally, heard, out, rows.get(partition, []))

    def _bundles(self) -> tuple[dict[int, dict[int, bytes]], list[tuple[int, bytes]]]:
        """Bundles by sending and receiving partition; and those that come from no page."""
        partitions = self._partitions
        outbox = partitions.frontier.outbox
        assert outbox is not None
        sends: defaultdict[int, defaultdict[int, list[Message]]] = defaultdict(lambda: defaultdict(list))
        told: list[tuple[int, bytes]] = []
        for target, messages in outbox.take().items():
            rootless: list[Message] = []
            for message in messages:
                source = partitions.territory.source(message)
                (rootless if source is None else sends[source][target]).append(message)
            if rootless:
                told.append((target, Bundle(rootless).pack()))
        told += ((partitions.territory.partition(one.link.key), Bundle([one]).pack()) for one in self._rescued)
        self._rescued = []
        told += [(target, Bundle(acts=acts).pack()) for target, acts in self._acts.items()]
        self._acts.clear()
        copied = _copied(outbox, sends)
        packed = {one: dict(self._packed(one, sends[one], copied[one])) for one in partitions.holdings.held}
        return packed, told

    def _packed(
        self, source: int, messages: Mapping[int, Sequence[Message]], copied: set[int]
    ) -> Iterator[tuple[int, bytes]]:
        """`copied` are the partitions to which all messages are copies."""
        gifts, held = self._limit.gifts(source), self._partitions.holdings.held
        for target in {**messages, **gifts}:
            if target in copied and target not in gifts and not held[target].is_lost:
                held[source].copies[f"{held[source].number + 1}:{target}"] = held[target], held[target].number + 1
            yield target, Bundle(messages.get(target, ()), self._run.account, gifts.get(target, 0)).pack()


def _copied(outbox: Outbox, sends: Mapping[int, defaultdict[int, list[Message]]]) -> defaultdict[int, set[int]]:
    """Lets what one partition here has led to in another go with the page, as if that was another worker's. Gives, by
    partition, those for which there is nothing else.
    """
    alone: defaultdict[int, set[int]] = defaultdict(set)
    for (source, target), messages in outbox.take_copies().items():
        if not sends[source][target]:
            alone[source].add(target)
        sends[source][target] += messages
    return alone


def _is_news(told: Tally, tally: Tally, *, is_at_rest: bool) -> bool:
    """Whether others have to know of it, though nothing else has changed."""
    return _urgent(told) != _urgent(tally) or (tally != told and is_at_rest)


def _urgent(tally: Tally) -> tuple[object, ...]:
    """Parts of a tally for which others wait."""
    return tally.worker.idle, tally.account, tally.granted, tally.owed, tally.worker.held_sets
