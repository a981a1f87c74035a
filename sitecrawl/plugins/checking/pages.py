"""What the frontier says is stored, against what the page store holds: nothing lost, nothing twice.

A record with the flag `STORED` has a capture, and a page that is stored has a record that is done. Both are looked up
in batches; nothing but counters is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sitecrawl.base.batches import batches
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.frontier.hosts.host import KEY_BYTES
from sitecrawl.frontier.urls.record import NO_REFERRER, RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.lookup import host_of, url_key
from sitecrawl.plugins.checking.changes import Changes
from sitecrawl.plugins.checking.frontier import entry_of
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.plugins.checking.store import Index
from sitecrawl.plugins.checking.survey import Survey, readable, records
from sitecrawl.urls.fingerprint import Fingerprinter

_SEVERAL = """
SELECT url_key FROM pages WHERE kind = 'page' AND method = 'GET' AND id <= ? GROUP BY url_key HAVING count(*) > 1
"""
_TWICE = f"SELECT count(*), min(url_key) FROM ({_SEVERAL})"  # noqa: S608 - no value goes into it


_PAGES: Final = frozenset({"page", "quarantined"})
_AS_FETCHED: Final = "notes them as fetched, so that they are not stored twice, and has their links read again"


def mend_pages(
    database: Database,
    index: Index,
    fingerprints: Fingerprinter,
    changes: Changes,
    *,
    last_id: int,
    forgotten: int,
    is_behind: bool,
) -> Iterator[Problem]:
    """`last_id`: the newest capture that counts. `forgotten`: how many URLs have no record any more by intention.
    `is_behind`: the database has lost its end, and with it which URLs were asked for again.

    Puts what mends the records into `changes`; what is wrong with the page store itself, `rebuild` mends before.
    """
    unknown = waiting = again = 0
    for _, _, record in captures_with_records(database, index, fingerprints, last_id):
        unknown += record is None
        waiting += is_too_early(record)
        again += record is not None and bool(record.flags & Flag.AGAIN)
    unknown = unknown if unknown > forgotten else 0
    ((twice, example),) = index.rows(_TWICE, (last_id,))
    are_again = is_behind and twice > forgotten + again
    if unknown or waiting or are_again:
        _note_as_fetched(
            database, index, fingerprints, changes, last_id, are_unknown=bool(unknown), are_again=are_again
        )
    if unknown or waiting:
        changes.batch.put("meta", LINKS_READ, bytes(8))
    if unknown:
        yield Problem("db/urls", f"{unknown:,} stored pages are of URLs that the frontier does not know", _AS_FETCHED)
    if waiting:
        yield Problem(
            "db/urls", f"{waiting:,} pages are stored, and their URLs still wait to be fetched", _AS_FETCHED
        )
    if lost := _queue_lost(database, index, changes, last_id):
        yield Problem("pages.sqlite", f"{lost:,} URLs count as stored, and are not", "queues them again")
    if are_again:
        yield Problem("db/urls", f"{twice:,} pages were fetched again, and the frontier does not know it", "notes it")
    elif twice > forgotten + again:
        yield Problem(
            "pages.sqlite",
            f"{twice:,} pages are stored more than once, such as {example}",
            "nothing is lost by it: readers take the newest",
            repairable=False,
        )


def captures_with_records(
    database: Database, index: Index, fingerprints: Fingerprinter, last_id: int
) -> Iterator[tuple[bytes, Capture, UrlRecord | None]]:
    """Every page that came by GET, read or quarantined, with the fingerprint of its URL and its record."""
    wanted = (one for one in index.captures(last=last_id) if one.method == "GET" and one.kind in _PAGES)
    for batch in batches(wanted):
        keys = [fingerprints.url(capture.url_key) for capture in batch]
        yield from zip(keys, batch, readable(database, keys), strict=True)


def is_too_early(record: UrlRecord | None) -> bool:
    """Whether the URL of a stored page is to be fetched; what was asked for again may be."""
    return record is not None and record.state == UrlState.QUEUED and not record.flags & Flag.AGAIN


def without_capture(database: Database, index: Index, last_id: int) -> Iterator[tuple[bytes, UrlRecord]]:
    """The records that count as stored, and are not."""
    stored = ((key, record) for key, record in records(database) if record.flags & Flag.STORED)
    for batch in batches(stored, 500):
        urls = [url_key(record.url) for _, record in batch]
        marks = ", ".join("?" * len(urls))
        query = f"SELECT DISTINCT url_key FROM pages WHERE url_key IN ({marks}) AND id <= ?"  # noqa: S608 - only marks
        there = {url for (url,) in index.rows(query, (*urls, last_id))}
        for (key, record), url in zip(batch, urls, strict=True):
            if url not in there and record.state != UrlState.QUEUED:
                yield key, record


# Repair


@dataclass(frozen=True, slots=True)
class Known:
    """What the frontier knows of a URL that was fetched by GET: for rows that are made again from a WARC file."""

    database: Database
    fingerprints: Fingerprinter

    def referrer(self, url: str) -> str | None:
        """The URL of the page where it was found."""
        (record,) = readable(self.database, [self.fingerprints.url(url_key(url))])
        if record is None or record.referrer == NO_REFERRER:
            return None
        (referrer,) = readable(self.database, [record.referrer])
        return None if referrer is None else referrer.url


def _note_as_fetched(
    database: Database,
    index: Index,
    fingerprints: Fingerprinter,
    changes: Changes,
    last_id: int,
    *,
    are_unknown: bool,
    are_again: bool,
) -> None:
    """Let the records of stored pages say so, and make them where there are none and `are_unknown`; with `are_again`
    let those of pages that are stored more than once say that they were asked for again.
    """
    hosts = HostTable(database, fingerprints.host)
    several = {url for (url,) in index.rows(_SEVERAL, (last_id,))}
    for key, capture, record in captures_with_records(database, index, fingerprints, last_id):
        fetched = record
        if record is not None and is_too_early(record):
            changes.batch.delete("queue", entry_of(key, record))
        elif record is None and are_unknown:
            host = hosts.named(host_of(capture.url_key))
            section = hosts.section(host, capture.url).key[KEY_BYTES:]
            fetched = UrlRecord(
                capture.url, depth=capture.depth or 0, host=host.key, section=section, rank=bytes(RANK_BYTES)
            )
        elif record is None or record.flags & Flag.AGAIN or not (are_again and capture.url_key in several):
            continue
        assert fetched is not None
        fetched.state, fetched.credit = UrlState.FETCHED, 0  # which the lambda page gets
        fetched.flags = fetched.flags & ~(Flag.REQUEST | Flag.AWAITED) | Flag.STORED
        if capture.url_key in several:
            fetched.flags |= Flag.AGAIN
        fetched.status, fetched.fetched = capture.status, capture.fetched
        changes.batch.put("urls", key, fetched.pack())
        changes.part()


def _queue_lost(database: Database, index: Index, changes: Changes, last_id: int) -> int:
    """Let what counts as stored and is not wait again; returns how many URLs that are.

    What they say and lead to is known: it is no page that repeats others, and no evidence for a rule of URLs.
    """
    lost, survey = 0, None
    for key, record in without_capture(database, index, last_id):
        survey = survey or Survey(database)
        record.state = UrlState.QUEUED
        record.flags = record.flags & ~Flag.STORED | Flag.AGAIN
        record.mark = survey.dividend_of(record)
        changes.batch.put("urls", key, record.pack())
        changes.batch.put("queue", entry_of(key, record), b"")
        changes.part()
        lost += 1
    return lost
