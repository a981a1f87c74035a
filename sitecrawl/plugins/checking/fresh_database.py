"""A crawl's database, made again from the pages that are stored.

Their URLs count as fetched. What waited is found again: the next start reads the links of all stored pages
(`rereading`). Made beside its place and then renamed:

    db           db is damaged
    db + db.new  a crash leaves db as it was, and the next attempt begins anew
    db.damaged + db.new     db has been moved away
    db.damaged + db         the new one is in its place
"""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Final

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import Manifest, packed
from sitecrawl.crawldir.durable import sync_directory
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import LINKS_READ, MANIFEST, PAGES
from sitecrawl.crawldir.opening import DAMAGED
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import KEY_BYTES
from sitecrawl.frontier.urls.link_credit import edges_row
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.pagestore.index import Position
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.plugins.checking.frontier import SEVERAL, stored_pages
from sitecrawl.plugins.checking.store import Index
from sitecrawl.urls.fingerprint import Fingerprinter

_DRAFT: Final = "db.new"
_DAMAGED: Final = f"db{DAMAGED}"
_FROM_THE_FIRST: Final = bytes(8)
_AT_ONCE: Final = 10_000
"""Writes a batch."""


def finish_move(directory: Path) -> None:
    """Where a crash came between the two renames, do the second."""
    if not (directory / "db").exists() and (directory / _DAMAGED).exists() and (directory / _DRAFT).exists():
        (directory / _DRAFT).rename(directory / "db")


def replace_database(directory: Path, manifest: Manifest, position: Position | None) -> Path:
    """Put a database that is made of the stored pages up to `position` in the place of the damaged one; returns where
    that is now.
    """
    source, draft, damaged = directory / "db", directory / _DRAFT, directory / _DAMAGED
    with file_errors(source):
        shutil.rmtree(draft, ignore_errors=True)
    with closing(Database(draft, hash_name=HASH_NAME)) as database:
        _fill(database, directory, manifest, position)
    with file_errors(source):
        source.mkdir(exist_ok=True)
        shutil.rmtree(damaged, ignore_errors=True)
        source.rename(damaged)
        draft.rename(source)
        sync_directory(directory)
    return damaged


def _fill(database: Database, directory: Path, manifest: Manifest, position: Position | None) -> None:
    fingerprints = Fingerprinter(*manifest.keying)
    hosts = HostTable(database, fingerprints.host)
    batch = database.batch()
    seeds: dict[bytes, int] = {}
    known = 0
    if position is not None and position.last_id:
        with Index(directory) as index:
            several = {url for (url,) in index.rows(SEVERAL, (position.last_id,))}
            met: set[str] = set()
            for capture in stored_pages(index, position.last_id):
                host = hosts.named(host_of(capture.url_key))
                section = hosts.section(host, capture.url)
                record = UrlRecord(
                    capture.url, UrlState.FETCHED, depth=capture.depth or 0, host=host.key,
                    section=section.key[KEY_BYTES:], rank=bytes(RANK_BYTES), flags=Flag.STORED,
                    status=capture.status, fetched=capture.fetched,
                )  # fmt: skip
                if is_again := capture.url_key in several:
                    record.flags |= Flag.AGAIN
                if not is_again or capture.url_key not in met:
                    known += 1
                    for counted in (host, section):
                        counted.known += 1
                        counted.fetched += 1
                    if not capture.depth:
                        seeds[host.key] = seeds.get(host.key, 0) + 1
                if is_again:
                    met.add(capture.url_key)
                batch.put("urls", fingerprints.url(capture.url_key), record.pack())
                hosts.changed(host, section)
                if len(batch) >= _AT_ONCE:
                    database.write(batch, sync=False)
                    batch = database.batch()
    for name, number in seeds.items():
        batch.put("edges", name, edges_row({}, number))
    meta = Overlay(database, "meta")
    counts = Counts(meta)
    counts.fetched = counts.serial = known
    counts.store(meta)
    meta.flush(batch)
    hosts.flush(batch)
    batch.put("meta", MANIFEST, packed(manifest))
    batch.put("meta", LINKS_READ, _FROM_THE_FIRST)
    if position is not None:
        batch.put("meta", PAGES, json.dumps(position._asdict()).encode())
    database.write(batch)
