"""What the frontier's families say of one another: queue, requests, counts, hosts, sections and credit against the
records of the URLs; and what is stored by them against what the page store holds: nothing lost, nothing twice.

A record with the flag `STORED` has a capture, and a page that is stored has a record that is done. Both are looked up
in batches; nothing but counters is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.plugins.checking.store import Index, Problem
from sitecrawl.plugins.checking.survey import Survey, Tally, readable, records
from sitecrawl.urls.fingerprint import Fingerprinter


def check_frontier(database: Database) -> Iterator[Problem]:
    """Compare all families with one scan of the records. Raises `StorageError`."""
    survey = Survey(database)
    if survey.unreadable:
        yield Problem("db/urls", f"{survey.unreadable:,} records of URLs cannot be read")
    missing = survey.by_host.keys() - survey.hosts.keys()
    if missing or survey.unreadable_hosts:
        yield Problem(
            "db/hosts",
            f"{len(missing):,} hosts that URLs belong to are missing, {survey.unreadable_hosts:,} cannot be read",
        )
    yield from _check_requests(database, survey)
    yield from _check_queue(database, survey)
    yield from _check_counts(database, survey)
    yield from _check_hosts(survey)
    yield from _check_sections(database, survey)
    yield from _check_credit(survey)


def load_counts(database: Database) -> Counts | None:
    """The crawl's totals; None if they cannot be read."""
    try:
        return Counts(Overlay(database, "meta"))
    except CorruptFile:
        return None


def _check_requests(database: Database, survey: Survey) -> Iterator[Problem]:
    good = stray = 0
    for keys in batches(key for key, _ in database.scan("requests")):
        for record in readable(database, keys):
            belongs = record is not None and record.state == UrlState.QUEUED and bool(record.flags & Flag.REQUEST)
            good += belongs
            stray += not belongs
    if missing := survey.requests - good:
        yield Problem("db/requests", f"the requests of {missing:,} queued URLs are missing")
    if stray:
        yield Problem("db/requests", f"{stray:,} stored requests belong to no queued URL")


def _check_queue(database: Database, survey: Survey) -> Iterator[Problem]:
    good = stale = 0
    for entries in batches(key for key, _ in database.scan("queue")):
        keys = [entry[-16:] for entry in entries]
        for entry, key, record in zip(entries, keys, readable(database, keys), strict=True):
            stands = (
                record is not None
                and record.state == UrlState.QUEUED
                and entry == record.host + record.section + record.rank + key
            )
            good += stands
            stale += not stands
    queued = survey.states[UrlState.QUEUED]
    if good != queued or stale:
        yield Problem(
            "db/queue",
            f"{queued - good:,} of {queued:,} queued URLs are not in the queue, {stale:,} entries of the queue stand "
            "for none, or under another rank",
        )


def _check_counts(database: Database, survey: Survey) -> Iterator[Problem]:
    counts = load_counts(database)
    if counts is None:
        yield Problem("db/meta", "the crawl's counts cannot be read")
        return
    states = survey.states
    ended = {
        UrlState.FETCHED: counts.fetched,
        UrlState.FAILED: counts.failed,
        UrlState.EXCLUDED: counts.excluded,
        UrlState.REQUISITE: counts.requisites,
    }
    forgotten = sum(number - states[state] for state, number in ended.items())
    if (
        counts.queued != states[UrlState.QUEUED]
        or forgotten != counts.forgotten
        or any(number < states[state] for state, number in ended.items())
    ):
        counted = ", ".join(f"{states[state]:,} {state.name.lower()}" for state in UrlState)
        yield Problem(
            "db/meta",
            f"the crawl counts {counts.queued:,} URLs queued, {counts.fetched:,} fetched, {counts.failed:,} failed, "
            f"{counts.excluded:,} excluded, {counts.requisites:,} requisites and {counts.forgotten:,} of these "
            f"forgotten; the records are {counted}",
        )
    if {level: number for level, number in counts.levels.items() if number} != survey.levels:
        yield Problem("db/meta", "the counts of the levels are not those of the queued URLs")


def _follows(counted: Host | Section, tally: Tally) -> bool:
    """Whether the counters agree with the records, allowing for records that were forgotten."""
    return counted.queued == tally.queued and counted.known >= tally.known and counted.fetched >= tally.fetched


def _check_hosts(survey: Survey) -> Iterator[Problem]:
    none = Tally()
    wrong = [host for key, host in survey.hosts.items() if not _follows(host, survey.by_host.get(key, none))]
    if wrong:
        names = ", ".join(sorted(host.name for host in wrong)[:3])
        yield Problem("db/hosts", f"the numbers of {len(wrong):,} hosts are not those of their URLs: {names}")


def _check_sections(database: Database, survey: Survey) -> Iterator[Problem]:
    wrong = unreadable = 0
    missing = set(survey.by_section)
    for key, data in database.scan("sections"):
        missing.discard(key)
        try:
            section = Section.unpack(key, data, DiskQueue(database, key, empty=True))
        except CorruptFile:
            unreadable += 1
        else:
            wrong += not _follows(section, survey.by_section.get(key, Tally()))
    if wrong or unreadable or missing:
        yield Problem(
            "db/sections",
            f"of {wrong:,} sections the numbers are not those of their URLs, {len(missing):,} are missing, "
            f"{unreadable:,} cannot be read",
        )


def _check_credit(survey: Survey) -> Iterator[Problem]:
    ledger = survey.ledger
    if survey.has_lost_ledger:
        yield Problem("db/meta", "the ledger cannot be read")
        return
    if too_much := survey.held - ledger.total:
        yield Problem(
            "credit",
            f"pages, hosts and the lambda page hold {survey.held:,} units, and there are {ledger.total:,}: "
            f"{abs(too_much):,} too {'many' if too_much > 0 else 'few'}",
        )
    waiting_hosts = sum(tally.queued > 0 for tally in survey.by_host.values())
    payees = survey.states[UrlState.QUEUED] if ledger.policy.name == "pages" else waiting_hosts
    if ledger.policy.payees != payees:
        yield Problem(
            "credit", f"the lambda page pays {ledger.policy.payees:,} {ledger.policy.name}, and {payees:,} wait"
        )


SEVERAL: Final = """
SELECT url_key FROM pages WHERE kind = 'page' AND method = 'GET' AND id <= ? GROUP BY url_key HAVING count(*) > 1
"""
"""The URLs of which several pages are stored, up to a capture."""
_TWICE = f"SELECT count(*), min(url_key) FROM ({SEVERAL})"  # noqa: S608 - no value goes into it


def check_pages(
    database: Database, index: Index, fingerprints: Fingerprinter, *, last_id: int, forgotten: int
) -> Iterator[Problem]:
    """`last_id`: the newest capture that counts. `forgotten`: how many URLs have no record any more by intention."""
    unknown = waiting = again = 0
    for batch in batches(index.stored_pages(last_id)):
        keys = [fingerprints.url(capture.url_key) for capture in batch]
        for record in readable(database, keys):
            if record is None:
                unknown += 1
                continue
            is_again = bool(record.flags & Flag.AGAIN)
            again += is_again
            waiting += record.state == UrlState.QUEUED and not is_again
    if unknown > forgotten:
        yield Problem("db/urls", f"{unknown:,} stored pages are of URLs that the frontier does not know")
    if waiting:
        yield Problem("db/urls", f"{waiting:,} pages are stored, and their URLs still wait to be fetched")
    if lost := sum(_lost(database, index, last_id)):
        yield Problem("db/urls", f"{lost:,} URLs count as stored, and are not")
    ((twice, example),) = index.rows(_TWICE, (last_id,))
    if twice > forgotten + again:
        remedy = "nothing is lost by it: readers take the newest"
        what = f"{twice:,} pages are stored more than once, such as {example}"
        yield Problem("pages.sqlite", what, remedy, repairable=False)


def _lost(database: Database, index: Index, last_id: int) -> Iterator[int]:
    """How many records of each batch count as stored, and are not."""
    stored = (
        record for _, record in records(database) if record.flags & Flag.STORED and record.state != UrlState.QUEUED
    )
    for batch in batches(stored, 500):
        urls = [url_key(record.url) for record in batch]
        marks = ", ".join("?" * len(urls))
        query = f"SELECT DISTINCT url_key FROM pages WHERE url_key IN ({marks}) AND id <= ?"  # noqa: S608 - only marks
        there = {url for (url,) in index.rows(query, (*urls, last_id))}
        yield sum(url not in there for url in urls)
