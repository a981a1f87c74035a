"""What the frontier says is stored, against what the page store holds: nothing lost, nothing twice.

A record with the flag `STORED` has a capture, and a page that is stored has a record that is done. Both are looked up
in batches; nothing but counters is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sitecrawl.base.batches import batches
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.record import Flag, UrlState
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.plugins.checking.store import Index
from sitecrawl.plugins.checking.survey import readable, records
from sitecrawl.urls.fingerprint import Fingerprinter

SEVERAL: Final = """
SELECT url_key FROM pages WHERE kind = 'page' AND method = 'GET' AND id <= ? GROUP BY url_key HAVING count(*) > 1
"""
"""The URLs of which several pages are stored, up to a capture."""
_TWICE = f"SELECT count(*), min(url_key) FROM ({SEVERAL})"  # noqa: S608 - no value goes into it
_PAGES: Final = frozenset({"page", "quarantined"})


def check_pages(
    database: Database, index: Index, fingerprints: Fingerprinter, *, last_id: int, forgotten: int
) -> Iterator[Problem]:
    """`last_id`: the newest capture that counts. `forgotten`: how many URLs have no record any more by intention."""
    unknown = waiting = again = 0
    for batch in batches(stored_pages(index, last_id)):
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


def stored_pages(index: Index, last_id: int) -> Iterator[Capture]:
    """Every page that came by GET, read or quarantined."""
    return (one for one in index.captures(last=last_id) if one.method == "GET" and one.kind in _PAGES)


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
