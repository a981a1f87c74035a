"""What depends on the number of records: counts, hosts, sections, and the credit. It is mended in one batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import COUNTS, LEDGER, LEVELS
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.frontier.hosts.host import KEY_BYTES, Host
from sitecrawl.frontier.hosts.sections import KEY_BYTES as SHAPE_BYTES
from sitecrawl.frontier.hosts.sections import REQUISITES, Section
from sitecrawl.frontier.queue.disk_queue import DiskQueue
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.link_credit import SEEDS, edges_of, edges_row
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import section_key
from sitecrawl.plugins.checking.changes import Changes
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.plugins.checking.survey import Survey, Tally, is_absurd, records
from sitecrawl.urls.shape import Shape, fold, shape_of

_SECTION_BYTES: Final = KEY_BYTES + SHAPE_BYTES


def mend_numbers(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    """Nothing here may be written without the rest."""
    meta = Overlay(database, "meta")
    yield from _mend_counts(survey, meta)
    yield from _mend_hosts(survey, changes)
    yield from _mend_accounts(survey, changes)
    yield from _mend_sections(database, survey, changes)
    yield from _mend_seeds(database, survey, changes)
    yield from _mend_credit(survey, meta)
    meta.flush(changes.batch)


# Counts


def load_counts(meta: Overlay) -> Counts | None:
    """None if they cannot be read."""
    try:
        return Counts(meta)
    except CorruptFile:
        return None


def _mend_counts(survey: Survey, meta: Overlay) -> Iterator[Problem]:
    states = survey.states
    counted = ", ".join(f"{states[state]:,} {state.name.lower()}" for state in UrlState)
    counts = load_counts(meta)
    if counts is None:
        meta.delete(COUNTS)
        meta.delete(LEVELS)
        _take_counts(Counts(meta), survey, meta)
        yield Problem("db/meta", "the crawl's counts cannot be read", f"counts the records again: {counted}")
        return
    if not _agree(counts, survey):
        yield Problem(
            "db/meta",
            f"the crawl counts {counts.queued:,} URLs queued, {counts.fetched:,} fetched, {counts.failed:,} failed, "
            f"{counts.excluded:,} excluded, {counts.requisites:,} requisites and {counts.forgotten:,} of these "
            f"forgotten; the records are {counted}",
            "takes the numbers of the records",
        )
        _take_counts(counts, survey, meta)
    if {level: number for level, number in counts.levels.items() if number} != survey.levels:
        counts.levels = survey.levels
        counts.store(meta)
        yield Problem("db/meta", "the counts of the levels are not those of the queued URLs", "counts them again")


def _agree(counts: Counts, survey: Survey) -> bool:
    ended = {UrlState.FETCHED: counts.fetched, UrlState.FAILED: counts.failed, UrlState.EXCLUDED: counts.excluded}
    ended[UrlState.REQUISITE] = counts.requisites
    forgotten = sum(ended.values()) - survey.ended
    if counts.queued != survey.states[UrlState.QUEUED] or forgotten != counts.forgotten:
        return False
    return all(number >= survey.states[state] for state, number in ended.items())


def _take_counts(counts: Counts, survey: Survey, meta: Overlay) -> None:
    states = survey.states
    counts.queued, counts.forgotten = states[UrlState.QUEUED], 0
    counts.fetched, counts.failed = states[UrlState.FETCHED], states[UrlState.FAILED]
    counts.excluded, counts.requisites = states[UrlState.EXCLUDED], states[UrlState.REQUISITE]
    counts.serial = max(counts.serial, survey.known)
    counts.levels = survey.levels
    counts.store(meta)


# Hosts and sections


def _follows(counted: Host | Section, tally: Tally) -> bool:
    """Whether the numbers are those of the records, and of such as are forgotten."""
    return counted.queued == tally.queued and counted.known >= tally.known and counted.fetched >= tally.fetched


def _take(counted: Host | Section, tally: Tally) -> None:
    counted.known, counted.fetched = max(counted.known, tally.known), max(counted.fetched, tally.fetched)
    counted.queued = tally.queued


def _mend_hosts(survey: Survey, changes: Changes) -> Iterator[Problem]:
    wrong, example = 0, ""
    for key, host in survey.hosts.items():
        tally = survey.by_host.get(key, Tally())
        if _follows(host, tally):
            continue
        wrong += 1
        example = example or (
            f"{host.name} counts {host.known:,} known, {host.queued:,} queued, {host.fetched:,} fetched, and has "
            f"records of {tally.known:,}, {tally.queued:,}, {tally.fetched:,}"
        )
        if tally.queued and not host.queued:  # as if it began to wait now
            host.mark = survey.ledger.policy.dividend
        _take(host, tally)
        changes.batch.put("hosts", key, host.pack())
    if wrong:
        yield Problem(
            "db/hosts",
            f"the numbers of {wrong:,} hosts are not those of their URLs: {example}",
            "takes the numbers of the records",
        )


def _mend_accounts(survey: Survey, changes: Changes) -> Iterator[Problem]:
    """Those of hosts with the lambda page. `_mend_hosts` comes before."""
    dividend = survey.ledger.policy.dividend
    absurd = left = 0
    for key, host in survey.hosts.items():
        before = host.mark, host.rest
        if survey.has_lost_ledger:
            host.mark = dividend
        elif is_absurd(survey.owed_to(host), survey.ledger):
            absurd += 1
            host.mark = dividend
        if host.rest and not host.queued:  # the first that waits there would not be paid it (`HostsPolicy.enter`)
            left += 1
            host.rest = 0
        if before != (host.mark, host.rest):
            changes.batch.put("hosts", key, host.pack())
    if absurd:
        yield Problem("credit", f"{absurd:,} hosts are owed more than there is", "owes them nothing")
    if left:
        yield Problem(
            "credit", f"{left:,} hosts hold credit for pages that wait, and none does", "gives it to the lambda page"
        )


def _mend_sections(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    wrong = unreadable = 0
    missing = set(survey.by_section)
    for key, section in _sections(database):
        if section is None:
            unreadable += 1
            changes.batch.delete("sections", key)
            continue
        missing.discard(key)
        tally = survey.by_section.get(key, Tally())
        if not _follows(section, tally):
            wrong += 1
            _take(section, tally)
            changes.batch.put("sections", key, section.pack())
    for key, shape in _shapes(database, missing).items() if missing else ():
        section = Section(key, shape, DiskQueue(database, key, empty=True))
        _take(section, survey.by_section[key])
        changes.batch.put("sections", key, section.pack())
    if wrong or unreadable or missing:
        yield Problem(
            "db/sections",
            f"of {wrong:,} sections the numbers are not those of their URLs, {len(missing):,} are missing, "
            f"{unreadable:,} cannot be read",
            "takes the numbers of the records",
        )


def _sections(database: Database) -> Iterator[tuple[bytes, Section | None]]:
    """The sections by key; None for what is no section."""
    for key, data in database.scan("sections"):
        try:
            queue = DiskQueue(database, key, empty=True)
            yield key, Section.unpack(key, data, queue) if len(key) == _SECTION_BYTES else None
        except CorruptFile:
            yield key, None


def _shapes(database: Database, wanted: set[bytes]) -> dict[bytes, str]:
    """The shapes of sections, from a URL of each."""
    found: dict[bytes, str] = {}
    for _, record in records(database):
        key = record.host + record.section
        if key in wanted and key not in found:
            found[key] = REQUISITES if record.flags & Flag.REQUISITE else str(_shape(record))
    return found


def _shape(record: UrlRecord) -> Shape:
    shape = shape_of(record.url)
    candidates = (shape, fold(shape, wholly=False), fold(shape, wholly=True))
    return next((one for one in candidates if section_key(one) == record.section), shape)


# Seeds and credit


def _mend_seeds(database: Database, survey: Survey, changes: Changes) -> Iterator[Problem]:
    """A host of which a seed is known counts its seeds, or no trust would start there."""
    hosts = sorted(survey.seeds)
    lost = 0
    for host, row in zip(hosts, database.get_many("edges", hosts), strict=True):
        edges = edges_of(row or b"")
        if SEEDS not in edges:
            lost += 1
            changes.batch.put("edges", host, edges_row(edges, survey.seeds[host]))
    if lost:
        yield Problem("db/edges", f"the seeds of {lost:,} hosts are not counted there", "counts them again")


def _mend_credit(survey: Survey, meta: Overlay) -> Iterator[Problem]:
    """The lambda page comes to hold what no page holds."""
    ledger, held = survey.ledger, survey.held
    payees = survey.states[UrlState.QUEUED] if ledger.policy.name == "pages" else survey.waiting_hosts
    too_much = held - ledger.total
    if survey.has_lost_ledger:
        yield Problem("db/meta", "the ledger cannot be read", "adds up the credit of all pages again")
        ledger.total, ledger.spent = held, survey.history
    elif too_much:
        yield Problem(
            "credit",
            f"pages, hosts and the lambda page hold {held:,} units, and there are {ledger.total:,}: "
            f"{abs(too_much):,} too {'many' if too_much > 0 else 'few'}",
            "settles the difference with the lambda page",
        )
        _settle(ledger, too_much)
    if ledger.policy.payees != payees and not survey.has_lost_ledger:
        yield Problem(
            "credit",
            f"the lambda page pays {ledger.policy.payees:,} {ledger.policy.name}, and {payees:,} wait",
            "counts them again",
        )
    if survey.has_lost_ledger or too_much or ledger.policy.payees != payees:
        ledger.policy.payees = payees
        meta.put(LEDGER, ledger.pack())


def _settle(ledger: Ledger, too_much: int) -> None:
    ledger.reserve -= too_much
    if ledger.reserve < 0:  # pages hold more than there ever was: then there is more
        ledger.total -= ledger.reserve
        ledger.reserve = 0
