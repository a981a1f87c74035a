"""Directories as workers leave them: pages that are stored, and parcels of which Redis has yet to hear."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pagestore_helpers import STARTED, exchange, page

from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.parcel import Parcel
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.urls.fingerprint import HASH_NAME


def worker_directory(path: Path, pages: dict[str, float], *unsent: Parcel, key: bytes = bytes(16)) -> Path:
    """A worker has stored `pages`, each fetched so many seconds after the crawl began, and was killed."""
    directory = CrawlDirectory(path, "test", key=key)
    with closing(Database(directory.database, hash_name=HASH_NAME)) as database, closing(WarcStore(path)) as store:
        for url, seconds in pages.items():
            found = exchange(url, body=f"{path.name}: {url}".encode(), started=STARTED + seconds)
            store.put(found, page(found))
        journal = Journal(database)
        for parcel in unsent:
            journal.add(parcel)
        batch = database.batch()
        store.prepare(batch)
        journal.flush(batch)
        database.write(batch)
    return path


def kinds(path: Path) -> dict[str, str]:
    """What the captures of a worker count as, by URL."""
    with PageReader(path) as reader:
        return {capture.url: str(capture.kind) for capture in reader.captures()}
