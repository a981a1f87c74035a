"""Mending a crawl on Redis: what is left of it is copied, mended as the crawl of one process, and written back.

What cannot be believed is dropped first, so that all else can be read. Then the copy is mended, with the stored pages
in the workers' directories; then each partition gets a snapshot of it in the place of its log, in one step.

Meanwhile all partitions are lent to the repair, without an end: whatever a worker has yet to tell is void, and one
that comes waits. A repair that is killed leaves them so, and the next one does it all again, with what it finds then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.compaction import URLS
from sitecrawl.cluster.copy import Copying, Losses
from sitecrawl.cluster.outside import REPAIR, CrawlOnRedis
from sitecrawl.cluster.records import is_count, is_session, read_records, spoilt
from sitecrawl.cluster.run import PLACE
from sitecrawl.cluster.snapshots import pack_part
from sitecrawl.cluster.standing import OfWorker, Tally
from sitecrawl.cluster.steps import script
from sitecrawl.cluster.stores import untold_captures
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LEDGER, LINKS_READ
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.frontier.moving import facts_of, parts_of
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import Flag, UrlRecord
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.pagestore.merging import merge
from sitecrawl.pagestore.workers import Void, WorkersReader, is_page
from sitecrawl.plugins.checking.changes import Changes
from sitecrawl.plugins.checking.frontier import mend_frontier
from sitecrawl.plugins.checking.numbers import load_counts
from sitecrawl.plugins.checking.pages import mend_pages, without_capture
from sitecrawl.plugins.checking.redis_check import check
from sitecrawl.plugins.checking.store import Index
from sitecrawl.plugins.checking.survey import Survey, readable, records
from sitecrawl.plugins.checking.worker_store import WorkerStore
from sitecrawl.urls.fingerprint import HASH_NAME

_KEPT: Final = ("account", "said", "max_pages", "changed_at", "changed")
"""Fields of a run that later runs keep."""
_READS: Final = "the next starts of these workers read the links of their stored pages again"
_UNNAMED: Final = (
    "name the workers' directories behind the URL: then what they have stored is not fetched again, and the links of "
    "their pages are read again"
)


@dataclass(slots=True)
class Repair:
    """A repair: what it found, did, and left."""

    before: list[str]
    """The faults that there were."""
    notes: list[str] = field(default_factory=list)
    """Notes on losses, and on what cannot be known."""
    after: list[str] = field(default_factory=list)
    queued: int = 0
    """Pages that are stored nowhere any more, and are to be fetched again."""


def repair(crawl: CrawlOnRedis, directories: Sequence[Path]) -> Repair:
    """Mend the crawl, with what is in the `directories` of its workers: in all of them, or in none.

    Raises `StorageError` if workers are at work or a directory cannot be used, and `redis.RedisError`.
    """
    _refuse_workers(crawl)
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(WorkerStore(crawl, directory))) for directory in directories]
        found = Repair(check(crawl, directories).faults)
        if found.before:
            _Mending(crawl, stores, found).run()
            found.after = check(crawl, directories).faults
        return found


def _refuse_workers(crawl: CrawlOnRedis) -> None:
    if crawl.workers():
        raise StorageError(
            f"Workers of {crawl} are at work, or were until a moment ago: stop them, and wait for "
            "SITECRAWL_LEASE_SECONDS"
        )


def _is_again(record: UrlRecord | None) -> bool:
    return record is not None and bool(record.flags & Flag.AGAIN)


class _Mending:
    def __init__(self, crawl: CrawlOnRedis, stores: Sequence[WorkerStore], found: Repair) -> None:
        self._crawl = crawl
        self._client = crawl.client
        self._stores = {store.directory: store for store in stores}
        self._found = found
        self._tokens: dict[int, int] = {}
        """Tokens of the repair's leases."""

    def run(self) -> None:
        was_killed = any("a repair has begun" in fault for fault in self._found.before)
        self._seize()
        dropped = self._drop_spoilt()
        losses = Losses()
        with TemporaryDirectory() as name, closing(Database(Path(name) / "db", hash_name=HASH_NAME)) as database:
            counts = Copying(self._crawl, database, losses).take_all()
            was_short = not all(read_records(self._crawl, n).agrees_with(own) for n, own in enumerate(counts))
            list(mend_frontier(database, Survey(database), dry=False))
            if self._stores:
                self._mend_pages(database, Path(name))
                list(mend_frontier(database, Survey(database), dry=False))
            is_lossy = bool(losses.entries or losses.rows or dropped or was_short or was_killed)
            is_lossy |= database.get("meta", LINKS_READ) is not None
            self._write_back(database, counts)
        self._tell(losses, dropped, is_lossy=is_lossy)
        self._forget_limits(max(one.allowance.account for one in counts))
        self._release()

    # Who has the partitions

    def _seize(self) -> None:
        """Take all leases; a worker that came just now goes first."""
        for partition in self._crawl.partitions:
            self._lend(partition)
        try:
            _refuse_workers(self._crawl)
        except StorageError:
            self._release()
            raise

    def _lend(self, partition: int) -> None:
        base = self._crawl.keys.base(partition)
        for name in ("token", "lease"):
            if self._client.type(base + name) not in {b"string", b"none"}:
                self._client.delete(base + name)
        last = self._client.get(base + "token") or b""
        tokens = self._client.hkeys(base + "tokens") if self._client.type(base + "tokens") == b"hash" else []
        newest = max((int(token) for token in [last, *tokens] if is_count(token)), default=0)
        token = max(newest + 1, int(1000 * time.time()))
        self._client.set(base + "token", token)
        self._client.set(base + "lease", f"{token}:{REPAIR}")
        self._tokens[partition] = token

    def _release(self) -> None:
        self._client.delete(*(self._crawl.keys.base(partition) + "lease" for partition in self._crawl.partitions))

    # What cannot be believed

    def _drop_spoilt(self) -> int:
        """Drop spoilt keys; return the number of lost bundles."""
        lost = 0
        for partition in self._crawl.partitions:
            base = self._crawl.keys.base(partition)
            for name, part, _ in list(spoilt(self._crawl, partition)):
                self._drop(base + name, part)
            for sender in filter(is_session, self._client.hkeys(base + "senders")):
                self._client.hdel(base + "senders", sender)  # what comes twice from there does no harm
            self._client.hset(base + "crawl", mapping=self._crawl.fields)
            own = read_records(self._crawl, partition)
            lost += abs(own.outgoing - len(own.outbox)) + abs(own.incoming - own.inbox)
        return lost

    def _drop(self, key: str, part: bytes | None) -> None:
        drop: dict[bytes, Callable[[], object]] = {
            b"hash": lambda: self._client.hdel(key, part),
            b"list": lambda: self._client.lrem(key, 0, part),
            b"zset": lambda: self._client.zrem(key, part),
        }
        kind = self._client.type(key)
        if part is None or kind not in drop:
            self._client.delete(key)
        else:
            drop[kind]()

    # The copy

    def _mend_pages(self, database: Database, place: Path) -> None:
        directories = list(self._stores)
        void = untold_captures(self._crawl, directories)
        with WorkersReader(place, directories, void) as workers:
            self._withdraw_copies(database, workers, void)
            merge(workers, place)
        counts, changes = load_counts(Overlay(database, "meta")), Changes(database, dry=False)
        assert counts is not None  # it was mended
        with Index(place) as index:
            self._found.queued = sum(1 for _ in without_capture(database, index, index.newest))
            steps = mend_pages(
                database, index, self._crawl.fingerprints, changes,
                last_id=index.newest, forgotten=counts.forgotten, is_behind=False,
            )  # fmt: skip
            self._found.notes += [f"{step.what}: {step.remedy}" for step in steps if step.repairable]
        changes.end()

    def _withdraw_copies(self, database: Database, workers: WorkersReader, void: Void) -> None:
        """Of a page that is stored several times, by several workers or by one, the last stays; unless it was asked
        for again.
        """
        key_of = self._crawl.fingerprints.url
        extra = 0
        for reader in workers.readers:
            own = void[reader.directory]
            rows = list(own)
            for chunk in batches(one for one in reader.captures() if is_page(one) and one.id not in own):
                left = {capture.id for capture in workers.counting(reader, chunk)}
                last = dict(reader.last_pages({capture.url_key for capture in chunk}, own))
                copies = [one for one in chunk if one.id not in left or one.fetched < last[one.url_key]]
                known = readable(database, [key_of(one.url_key) for one in copies])
                rows += [one.id for one, record in zip(copies, known, strict=True) if not _is_again(record)]
            self._stores[reader.directory].withdraw(rows)
            extra += len(rows)
        if extra:
            self._found.notes.append(
                f"{extra:,} pages count as `other` now: Redis has not heard of them, or they are stored twice"
            )

    def _write_back(self, database: Database, counts: Sequence[PartCounts]) -> None:
        territory = self._crawl.territory()
        for partition, own in enumerate(counts):
            territory.held[partition].forgotten[:] = own.forgotten
            territory.held[partition].states[:] = own.forgotten
            territory.held[partition].allowance = own.allowance
        for key, record in records(database):
            territory.counts(key).states[record.state] += 1
        ledger, all_counts = database.get("meta", LEDGER), load_counts(Overlay(database, "meta"))
        assert ledger is not None
        assert all_counts is not None
        facts = facts_of(territory, Ledger.unpack(ledger), all_counts.serial)
        last = self._last_entries()
        for partition in self._crawl.partitions:
            rows = parts_of(database, territory.regions(partition), URLS)
            parts = (pack_part(facts[partition], some, self._crawl.fingerprint) for some in rows)
            self._write(partition, parts, last[partition] + 1, territory)

    def _last_entries(self) -> list[int]:
        """The greatest number of an entry that anything says of each partition: what comes has a greater one."""
        found = [read_records(self._crawl, partition) for partition in self._crawl.partitions]
        last = [max([own.entry, *own.tokens.values(), *own.outbox.values()]) for own in found]
        for own in found:
            for sender, number in own.senders.items():
                if len(sender) < 16 and int(sender) in self._crawl.partitions:
                    last[int(sender)] = max(last[int(sender)], number)
        return last

    def _write(self, partition: int, parts: Iterable[bytes], number: int, territory: Territory) -> None:
        base, counts = self._crawl.keys.base(partition), territory.held[partition]
        tally = Tally(OfWorker(), tuple(counts.states), *counts.allowance.fields())
        self._client.delete(base + "parts")
        size = 0
        for part in parts:
            self._client.rpush(base + "parts", part)
            size += len(part)
        args = self._tokens[partition], REPAIR, number, tally.pack(), size
        if self._client.eval(script("rewrite")[0], 1, base, *args) == b"fenced":
            raise StorageError(f"Another repair of {self._crawl} has begun meanwhile")

    # What else there is to do

    def _forget_limits(self, account: int) -> None:
        """What each partition may fetch of `max_pages` is reckoned anew, in another account. What that was changed to
        by hand holds on.
        """
        base = self._crawl.keys.base(PLACE)
        before = dict(zip(_KEPT, self._client.hmget(base + "run", *_KEPT), strict=True))
        account = max(account, int(before.pop("account") or 0))
        self._client.delete(base + "run", base + "tallies")
        if account:
            kept = {name: value for name, value in before.items() if value is not None}
            self._client.hset(base + "run", mapping={"account": account + 1, **kept})

    def _tell(self, losses: Losses, bundles: int, *, is_lossy: bool) -> None:
        told = {
            "{:,} entries of logs are lost: what they alone say is forgotten": losses.entries,
            "{:,} rows of logs are lost": losses.rows,
            "{:,} bundles of links were on their way and are lost, or nobody knows it": bundles,
        }
        self._found.notes += [words.format(number) for words, number in told.items() if number]
        for store in self._stores.values():
            store.forget_partitions(reads_links=is_lossy)
        if is_lossy:
            self._found.notes.append(_READS if self._stores else _UNNAMED)
