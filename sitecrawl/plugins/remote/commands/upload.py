"""`scrapy upload`: what a store elsewhere lacks of a crawl that does not run."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.display import counted, size, visible
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.crawl import configuration
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import database_to_read, manifest_of
from sitecrawl.crawldir.meta import PAGES, WORKER
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.workers import stores_of
from sitecrawl.plugins.remote.copy import index_of, open_place, warc_files
from sitecrawl.plugins.remote.store import Sent


class Command(ReadingCommand):
    """Send the WARC files and the page index that the store in SITECRAWL_REMOTE does not have yet. A running crawl
    does this itself.
    """

    summary = "Send a crawl's files to S3 or another store"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        with exit_code_on_error(self):
            directory = self.directory(opts)
            for path in stores_of(directory) or [directory]:
                print(self._upload(path))

    def _upload(self, path: Path) -> str:
        """Says what was done. Raises `SitecrawlError`."""
        manifest = manifest_of(path)
        with database_to_read(path):
            pass  # opened for writing, one that is missing would be made
        with closing(Database(path / "db", hash_name=HASH_NAME)) as database:
            worker = database.get("meta", WORKER)
            session = "" if worker is None else worker.hex()
            remote = open_place(self.settings, path, manifest, session)
            position = database.get("meta", PAGES)
            warc = configuration.warc(
                self.settings, configuration.sheets(self.settings), path.name, manifest.fingerprint_key
            )
            with closing(WarcStore(path, warc)) as store:
                store.recover(json.loads(position) if position else None)
                store.finish_file()
                files = [one.send(remote) for one in warc_files(store, with_current=True)]
                done = [*files, *(one.send(remote) for one in index_of(store))]
        return visible(f"{counted(len(files), 'WARC file')} at {remote.url}; {_sum_of(done)} now")


def _sum_of(done: list[Sent]) -> str:
    new = [one for one in done if one.is_new]
    return f"{counted(len(new), 'file')} sent, {size(sum(one.size for one in new))}"
