"""What the frontier's families say of one another.

The records of the URLs are what counts; queue, requests, counts and the numbers of hosts and sections follow from
them. A check reads; it holds no more than one batch of rows and one tally a host and section.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from sitecrawl.base.errors import CorruptFile
from sitecrawl.checking.problems import Problem
from sitecrawl.checking.survey import BATCH, Survey, Tally
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LEDGER
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import policy_named
from sitecrawl.frontier.counts import Counts
from sitecrawl.frontier.hosts import KEY_BYTES, Host
from sitecrawl.frontier.link_credit import EDGE_BYTES, SEEDS
from sitecrawl.frontier.queue import DiskQueue
from sitecrawl.frontier.record import RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.sections import KEY_BYTES as SHAPE_BYTES
from sitecrawl.frontier.sections import Section

SECTION_BYTES = KEY_BYTES + SHAPE_BYTES
_ENTRY_BYTES = SECTION_BYTES + RANK_BYTES + 16

_LENGTHS = {
    "content": {b"D": (17, 0), b"T": (17, 8), b"N": (28, 0)},
    "edges": {b"": (KEY_BYTES, EDGE_BYTES)},
}
"""How long a key is, and of how long pieces its value is made, by how the key begins (docs/formats/database.md)."""

T = TypeVar("T")


def check_frontier(database: Database, survey: Survey) -> Iterator[Problem]:
    """What does not agree with the records, and what of them cannot be read."""
    if survey.unreadable:
        yield Problem(
            "db/urls",
            f"{survey.unreadable:,} records of URLs cannot be read",
            "drops them: a URL that waited is found again only if a page that is still to be fetched links to it",
        )
    yield from _check_counts(load_counts(database), survey)
    yield from _check_hosts(survey)
    yield from _check_sections(database, survey)
    yield from _check_queue(database, survey)
    yield from _check_requests(database, survey)
    yield from _check_credit(load_ledger(database), survey)
    if seeds_are_missing(database, survey):
        yield Problem("db/edges", "the row of the seeds is missing, and nobody has trust", "counts the seeds again")
    for family in _LENGTHS:
        if misshapen := sum(1 for _ in misshapen_rows(database, family)):
            yield Problem(f"db/{family}", f"{misshapen:,} rows are none of this family", "drops them")


# Numbers


def load_counts(database: Database) -> Counts | None:
    """None if they cannot be read."""
    try:
        return Counts(Overlay(database, "meta"))
    except CorruptFile:
        return None


def load_ledger(database: Database) -> Ledger | None:
    """None if it cannot be read."""
    data = database.get("meta", LEDGER)
    try:
        return Ledger(policy_named("hosts")) if data is None else Ledger.unpack(data)
    except CorruptFile:
        return None


def ledger_of(database: Database) -> Ledger:
    """A new one where it cannot be read."""
    return load_ledger(database) or Ledger(policy_named("hosts"))


def counts_agree(counts: Counts, survey: Survey) -> bool:
    ended = {state: number for state, number in _ended(counts).items() if number < survey.states[state]}
    forgotten = sum(_ended(counts).values()) - survey.ended
    return counts.queued == survey.states[UrlState.QUEUED] and not ended and forgotten == counts.forgotten


def _ended(counts: Counts) -> dict[UrlState, int]:
    return {UrlState.FETCHED: counts.fetched, UrlState.FAILED: counts.failed, UrlState.EXCLUDED: counts.excluded}


def _check_counts(counts: Counts | None, survey: Survey) -> Iterator[Problem]:
    counted = ", ".join(f"{survey.states[state]:,} {state.name.lower()}" for state in UrlState)
    if counts is None:
        yield Problem("db/meta", "the crawl's counts cannot be read", f"counts the records again: {counted}")
        return
    if not counts_agree(counts, survey):
        yield Problem(
            "db/meta",
            f"the crawl counts {counts.queued:,} URLs queued, {counts.fetched:,} fetched, {counts.failed:,} failed, "
            f"{counts.excluded:,} excluded and {counts.forgotten:,} of these forgotten; the records are {counted}",
            "takes the numbers of the records",
        )
    if {level: number for level, number in counts.levels.items() if number} != survey.levels:
        yield Problem("db/meta", "the counts of the levels are not those of the queued URLs", "counts them again")


def host_agrees(host: Host, tally: Tally) -> bool:
    return host.queued == tally.queued and host.known >= tally.known and host.fetched >= tally.fetched


def section_agrees(section: Section, tally: Tally) -> bool:
    return section.queued == tally.queued and section.known >= tally.known and section.fetched >= tally.fetched


def _check_hosts(survey: Survey) -> Iterator[Problem]:
    wrong = [host for key, host in survey.hosts.items() if not host_agrees(host, survey.by_host.get(key, Tally()))]
    missing = survey.missing_hosts()
    if wrong:
        host, tally = wrong[0], survey.by_host.get(wrong[0].key, Tally())
        yield Problem(
            "db/hosts",
            f"the numbers of {len(wrong):,} hosts are not those of their URLs: {host.name} counts {host.known:,} "
            f"known, {host.queued:,} queued, {host.fetched:,} fetched, and has records of {tally.known:,}, "
            f"{tally.queued:,}, {tally.fetched:,}",
            "takes the numbers of the records",
        )
    if missing or survey.unreadable_hosts:
        yield Problem(
            "db/hosts",
            f"{len(missing):,} hosts that URLs belong to are missing, {survey.unreadable_hosts:,} cannot be read",
            "makes them again from their URLs; what was learnt of them (Crawl-delay, signs of traps) is lost",
        )


def sections(database: Database) -> Iterator[tuple[bytes, Section | None]]:
    """The sections by key; None for what is no section."""
    for key, data in database.scan("sections"):
        try:
            queue = DiskQueue(database, key, empty=True)
            yield key, Section.unpack(key, data, queue) if len(key) == SECTION_BYTES else None
        except CorruptFile:
            yield key, None


def _check_sections(database: Database, survey: Survey) -> Iterator[Problem]:
    wrong, unreadable, met = 0, 0, 0
    for key, section in sections(database):
        met += key in survey.by_section
        if section is None:
            unreadable += 1
        else:
            wrong += not section_agrees(section, survey.by_section.get(key, Tally()))
    missing = len(survey.by_section) - met
    if wrong or unreadable or missing:
        yield Problem(
            "db/sections",
            f"of {wrong:,} sections the numbers are not those of their URLs, {missing:,} are missing, "
            f"{unreadable:,} cannot be read",
            "takes the numbers of the records",
        )


# Queue and requests


def stands(entry: bytes, record: UrlRecord | None) -> bool:
    """Whether a row of `queue` is the one that `record` asks for."""
    return record is not None and record.state == UrlState.QUEUED and entry == entry_of(entry[-16:], record)


def entry_of(key: bytes, record: UrlRecord) -> bytes:
    return record.host + record.section + record.rank + key


def queue_rows(database: Database) -> Iterator[tuple[bytes, bool]]:
    """The rows of `queue`, and whether each stands for a queued URL."""
    for batch in batches(key for key, _ in database.scan("queue")):
        found = readable(database, [entry[-16:] for entry in batch])
        for entry, record in zip(batch, found, strict=True):
            yield entry, len(entry) == _ENTRY_BYTES and stands(entry, record)


def _check_queue(database: Database, survey: Survey) -> Iterator[Problem]:
    good = stale = 0
    for _, is_good in queue_rows(database):
        good += is_good
        stale += not is_good
    missing = survey.states[UrlState.QUEUED] - good
    if missing or stale:
        yield Problem(
            "db/queue",
            f"{missing:,} of {survey.states[UrlState.QUEUED]:,} queued URLs are not in the queue, {stale:,} entries "
            "of the queue stand for none, or under another rank",
            "makes the queue again from the records",
        )


def request_rows(database: Database) -> Iterator[tuple[bytes, bool]]:
    """The keys of `requests`, and whether each belongs to a queued URL."""
    for batch in batches(key for key, _ in database.scan("requests")):
        for key, record in zip(batch, readable(database, batch), strict=True):
            yield key, record is not None and has_request(record)


def has_request(record: UrlRecord) -> bool:
    return record.state == UrlState.QUEUED and bool(record.flags & Flag.REQUEST)


def _check_requests(database: Database, survey: Survey) -> Iterator[Problem]:
    good = stray = 0
    for _, is_good in request_rows(database):
        good += is_good
        stray += not is_good
    if missing := survey.requests - good:
        yield Problem(
            "db/requests",
            f"{missing:,} queued URLs are more than a plain GET, and what they are is missing",
            "gives these URLs up as failed: nobody can say what was to be asked",
        )
    if stray:
        yield Problem("db/requests", f"{stray:,} stored requests belong to no queued URL", "drops them")


def misshapen_rows(database: Database, family: str) -> Iterator[bytes]:
    """The keys of rows in `content` or `edges` that nothing of ours has written."""
    for key, value in database.scan(family):
        lengths = _LENGTHS[family]
        length, piece = lengths.get(b"") or lengths.get(key[:1], (0, 0))
        if len(key) != length or (len(value) % piece if piece else value):
            yield key


def seeds_are_missing(database: Database, survey: Survey) -> bool:
    """Whether no host is trusted, although there are seeds."""
    return bool(survey.seeds) and database.get("edges", SEEDS) is None


# Credit


def payees_of(ledger: Ledger, survey: Survey) -> int:
    """Over how many a payment has to be split."""
    return survey.states[UrlState.QUEUED] if ledger.policy.name == "pages" else survey.waiting_hosts


def _check_credit(ledger: Ledger | None, survey: Survey) -> Iterator[Problem]:
    if ledger is None:
        yield Problem("db/meta", "the ledger cannot be read", "adds up the credit of all pages again")
        return
    off = survey.held - ledger.total
    if off:
        yield Problem(
            "credit",
            f"pages, hosts and the lambda page hold {survey.held:,} units, and there are {ledger.total:,}: "
            f"{abs(off):,} too {'many' if off > 0 else 'few'}",
            "settles the difference with the lambda page",
        )
    if ledger.policy.payees != payees_of(ledger, survey):
        yield Problem(
            "credit",
            f"the lambda page pays {ledger.policy.payees:,} {ledger.policy.name}, and "
            f"{payees_of(ledger, survey):,} wait",
            "counts them again",
        )


# Reading


def readable(database: Database, keys: list[bytes]) -> list[UrlRecord | None]:
    """The records of `keys`; None where there is none that can be read."""
    return [_unpacked(data) for data in database.get_many("urls", keys)]


def _unpacked(data: bytes | None) -> UrlRecord | None:
    try:
        return None if data is None else UrlRecord.unpack(data)
    except CorruptFile:
        return None


def batches(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
