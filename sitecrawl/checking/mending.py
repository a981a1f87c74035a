"""Makes the frontier's families agree with the records again.

Each step reads everything and writes only what is wrong, in batches of which each by itself leaves the crawl no
worse: a crash in between costs nothing, the next repair goes on. What depends on the number of records comes last, in
one batch: counts, hosts, sections, credit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sitecrawl.base.errors import CorruptFile
from sitecrawl.checking.frontier import (
    batches,
    counts_agree,
    entry_of,
    has_request,
    host_agrees,
    ledger_of,
    load_counts,
    load_ledger,
    misshapen_rows,
    payees_of,
    queue_rows,
    request_rows,
    section_agrees,
    sections,
    seeds_are_missing,
)
from sitecrawl.checking.survey import Survey, Tally, is_absurd, records
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import COUNTS, LEDGER, LEVELS
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import owed, policy_named
from sitecrawl.frontier.counts import Counts
from sitecrawl.frontier.hosts import KEY_BYTES, Host
from sitecrawl.frontier.link_credit import SEEDS, edges_row
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.record import Flag, UrlRecord, UrlState
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.tables import section_key
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.urls.shape import Shape, fold, shape_of

_AT_ONCE = 10_000
"""Writes a batch."""


class Changes:
    """Writes that go down in batches of `_AT_ONCE`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._batch = database.batch()

    def put(self, family: str, key: bytes, value: bytes = b"") -> None:
        self._batch.put(family, key, value)
        self._write_if_full()

    def delete(self, family: str, key: bytes) -> None:
        self._batch.delete(family, key)
        self._write_if_full()

    def _write_if_full(self) -> None:
        if len(self._batch) >= _AT_ONCE:
            self.write()

    def write(self) -> None:
        self._database.write(self._batch)
        self._batch = self._database.batch()


@contextmanager
def changes_of(database: Database) -> Iterator[Changes]:
    changes = Changes(database)
    yield changes
    changes.write()


def mend_frontier(database: Database) -> None:
    """Make everything agree with the records. Raises `StorageError`."""
    _mend_hosts(database)
    _mend_records(database)
    _mend_queue(database)
    with changes_of(database) as changes:
        for key, is_good in request_rows(database):
            if not is_good:
                changes.delete("requests", key)
        for family in ("content", "edges"):
            for key in misshapen_rows(database, family):
                changes.delete(family, key)
    mend_numbers(database)


def _mend_hosts(database: Database) -> None:
    """Make hosts again that are missing, as far as their URLs tell."""
    survey = Survey(database, ledger_of(database))
    missing: dict[bytes, Host] = {}
    for _, record in records(database):
        if record.host not in survey.hosts:
            host = missing.setdefault(record.host, Host(record.host, host_of(record.url)))
            if record.state == UrlState.QUEUED:  # the greatest mark is the nearest to what the dividend was
                host.dividend = max(host.dividend, record.mark)
    with changes_of(database) as changes:
        for key, data in database.scan("hosts"):
            if len(key) != KEY_BYTES or not _is_host(key, data):
                changes.delete("hosts", key)
        for key, host in missing.items():
            changes.put("hosts", key, host.pack())


def _is_host(key: bytes, data: bytes) -> bool:
    try:
        Host.unpack(key, data)
    except CorruptFile:
        return False
    return True


def _mend_records(database: Database) -> None:
    ledger = ledger_of(database)
    survey = Survey(database, ledger)
    with changes_of(database) as changes:
        for rows in batches(database.scan("urls")):
            requests = database.get_many("requests", [key for key, _ in rows])
            for (key, data), request in zip(rows, requests, strict=True):
                try:
                    record = UrlRecord.unpack(data)
                except CorruptFile:
                    changes.delete("urls", key)
                    continue
                if _mend_record(record, survey, ledger, is_lost=request is None and has_request(record)):
                    changes.put("urls", key, record.pack())


def _mend_record(record: UrlRecord, survey: Survey, ledger: Ledger, *, is_lost: bool) -> bool:
    """Whether there was something to mend."""
    before = record.state, record.mark
    if is_lost:
        record.state = UrlState.FAILED
        record.flags &= ~Flag.REQUEST
    dividend = survey.dividend_of(record)
    if record.state == UrlState.QUEUED and is_absurd(owed(dividend, record.mark), ledger):
        record.mark = dividend
    return before != (record.state, record.mark)


def _mend_queue(database: Database) -> None:
    with changes_of(database) as changes:
        for entry, is_good in queue_rows(database):
            if not is_good:
                changes.delete("queue", entry)
    with changes_of(database) as changes:
        queued = (entry_of(key, record) for key, record in records(database) if record.state == UrlState.QUEUED)
        for entries in batches(queued):
            for entry, value in zip(entries, database.get_many("queue", entries), strict=True):
                if value is None:
                    changes.put("queue", entry)


# Numbers


def mend_numbers(database: Database) -> None:
    """Counts, hosts, sections and credit, in one batch."""
    ledger = load_ledger(database)
    survey = Survey(database, ledger_of(database))
    batch = database.batch()
    _mend_sections(database, survey, batch)
    for key, host in survey.hosts.items():
        if _mend_host(host, survey.by_host.get(key, Tally()), ledger):
            batch.put("hosts", key, host.pack())
    if seeds_are_missing(database, survey):
        batch.put("edges", SEEDS, edges_row(survey.seeds))
    meta = Overlay(database, "meta")
    _mend_counts(load_counts(database), survey, meta)
    meta.put(LEDGER, _settled(ledger, survey).pack())
    meta.flush(batch)
    database.write(batch)


def _mend_host(host: Host, tally: Tally, ledger: Ledger | None) -> bool:
    """Whether there was something to mend."""
    before = host.pack()
    if not host_agrees(host, tally):
        dividend = ledger.policy.dividend if ledger is not None else 0
        if tally.queued and not host.queued:  # as if it began to wait now
            host.mark = dividend
        host.known, host.fetched = max(host.known, tally.known), max(host.fetched, tally.fetched)
        host.queued = tally.queued
    dividend = ledger.policy.dividend if ledger is not None else 0
    if ledger is None or is_absurd(owed(dividend, host.mark), ledger):
        host.mark = dividend
    return host.pack() != before


def _mend_counts(counts: Counts | None, survey: Survey, meta: Overlay) -> None:
    if counts is None:
        meta.delete(COUNTS)
        meta.delete(LEVELS)
        counts = Counts(meta)
    if not counts_agree(counts, survey):
        states = survey.states
        counts.queued, counts.forgotten = states[UrlState.QUEUED], 0
        counts.fetched, counts.failed, counts.excluded = (
            states[UrlState.FETCHED],
            states[UrlState.FAILED],
            states[UrlState.EXCLUDED],
        )
        counts.serial = max(counts.serial, survey.known)
    counts.levels = survey.levels
    counts.store(meta)


def _settled(ledger: Ledger | None, survey: Survey) -> Ledger:
    """The ledger, with the lambda page holding what no page holds."""
    if ledger is None:
        ledger = Ledger(policy_named("hosts"))
        ledger.total, ledger.spent = survey.held, survey.history
    ledger.policy.payees = payees_of(ledger, survey)
    too_much = survey.held - ledger.total
    ledger.reserve -= too_much
    if ledger.reserve < 0:  # pages hold more than there ever was: then there is more
        ledger.total -= ledger.reserve
        ledger.reserve = 0
    return ledger


def _mend_sections(database: Database, survey: Survey, batch: Batch) -> None:
    found: set[bytes] = set()
    for key, section in sections(database):
        if section is None:
            batch.delete("sections", key)
            continue
        found.add(key)
        tally = survey.by_section.get(key, Tally())
        if not section_agrees(section, tally):
            _take(section, tally)
            batch.put("sections", key, section.pack())
    missing = survey.by_section.keys() - found
    if missing:
        for key, shape in _shapes(database, missing).items():
            section = Section(key, shape, DiskQueue(database, key, empty=True))
            _take(section, survey.by_section[key])
            batch.put("sections", key, section.pack())


def _take(section: Section, tally: Tally) -> None:
    section.known = max(section.known, tally.known)
    section.queued = tally.queued
    section.fetched = max(section.fetched, tally.fetched)


def _shapes(database: Database, keys: Iterable[bytes]) -> dict[bytes, str]:
    """The shapes of sections, from a URL of each."""
    wanted = set(keys)
    found: dict[bytes, str] = {}
    for _, record in records(database):
        key = record.host + record.section
        if key in wanted and key not in found:
            found[key] = str(_shape(record))
    return found


def _shape(record: UrlRecord) -> Shape:
    shape = shape_of(record.url)
    candidates = (shape, fold(shape, wholly=False), fold(shape, wholly=True))
    return next((one for one in candidates if section_key(one) == record.section), shape)
