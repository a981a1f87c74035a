"""A crawl's pages in a store elsewhere, as they come: its WARC files, and at the end the page index.

Which files go is told by the checkpoints: a WARC file goes when the crawl's last batch stands in a later one, for
nothing cuts it then. A run with a store begins a file of its own, so what an earlier run has left may go at once, and
at the end the last file as well. What the store has confirmed is noted in the next batch. A kill in between costs the
note, and the next run asks the store, which has the file: it is not sent again.

    URL/NAME/sitecrawl.json     whose it is (`store.claim`)
    URL/NAME/warc/FILE          as here
    URL/NAME/pages.sqlite       as of the end of the last run

What is confirmed stands in the crawl's database, under `remote/` in its family `meta`.

NAME is the crawl directory's; of a worker of a cluster it is the crawl's, and `worker-` and the worker's name on
Redis. So what is fetched from there is a directory that `scrapy pages` and the like can read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.display import size
from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl import sharing
from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.directory import WORKER_PREFIX, Manifest
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import REMOTE
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.reader import files_at
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.index import connect_read_only
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.plugins.remote.options import RemoteOptions, remote
from sitecrawl.plugins.remote.store import Remote, RemoteError, Sent, claim, owner_of
from sitecrawl.plugins.remote.uploads import Upload, Uploads

logger = logging.getLogger(__name__)

_SNAPSHOT: Final = f"{INDEX_FILE}.sent"
"""The copy of the index here, while it is on its way."""
_WARC: Final = "warc/"
"""With that begin the names of WARC files."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Of a file."""

    at: str
    """The URL that it is below."""
    state: str
    """The file's when it was sent."""
    noted: float
    """Unix time."""


class Confirmed:
    """The files that are below `url`."""

    def __init__(self, url: str, database: Database) -> None:
        self._url = url
        self._files = {name: row for name, row in _rows(database) if row.at == url}

    @property
    def warc_files(self) -> int:
        return sum(name.startswith(_WARC) for name in self._files)

    def has(self, name: str, state: str) -> bool:
        """Whether the file was in that state, its size or what else changes with it, when it was sent."""
        return name in self._files and self._files[name].state == state

    def note(self, batch: Batch, state: str, sent: Sent) -> None:
        """With the next batch. In memory at once: where the batch fails, there is no other in this run."""
        row = self._files[sent.name] = _Row(self._url, state, time.time())
        batch.put("meta", REMOTE + sent.name.encode(), json.dumps(asdict(row)).encode())


def _rows(database: Database) -> Iterator[tuple[str, _Row]]:
    try:
        for key, value in database.scan("meta", REMOTE, next_prefix(REMOTE)):
            yield key[len(REMOTE) :].decode(), _Row(**json.loads(value))
    except (ValueError, TypeError) as error:
        raise CorruptFile(
            f"{database.path} says of files elsewhere what cannot be read ({error}): restore it from a copy"
        ) from error


def write_snapshot(index: Path, target: Path) -> None:
    """Of the last commit; the crawl may write on meanwhile. Not in WAL mode: a folder that cannot be written to will
    do for who reads it. Raises `StorageError`.
    """
    with file_errors(target):
        target.unlink(missing_ok=True)
        with closing(connect_read_only(index)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")


@dataclass(frozen=True, slots=True)
class RemoteFigures:
    """How things stand with a store elsewhere."""

    url: str
    files: int
    """WARC files that it has, over all runs."""
    sent: int
    """Bytes that were sent in this run."""
    waiting: int
    """Files that are not confirmed."""
    failures: int
    """Attempts of this run that came to nothing."""

    def __str__(self) -> str:
        waiting = f", {self.waiting:,} waiting" if self.waiting else ""
        return f"{files_at(self.url, self.files)}{waiting}"


def place_of(settings: BaseSettings, path: Path, manifest: Manifest, session: str = "") -> RemoteOptions:
    """Where the crawl in `path` goes; `session` names a worker of a cluster. Raises `OptionError`."""
    if session:
        return remote(settings, sharing.shared_name(settings, manifest.spider), f"{WORKER_PREFIX}{session}")
    return remote(settings, path.resolve().name)


def open_place(options: RemoteOptions, manifest: Manifest, session: str = "", *, may_wait: bool = False) -> Remote:
    """The store, which says that the place is the crawl's. `may_wait`: one that does not answer now may do so later.

    Raises `OptionError` or `RemoteError`.
    """
    remote = Remote(options)
    try:
        claim(remote, owner_of(manifest.fingerprint_key, session))
    except RemoteError as error:
        if error.is_refusal or not may_wait:
            raise
        logger.warning("%s. The crawl goes on, and its files wait to be sent", error)
    return remote


class Wanted:
    """What of a page store the store elsewhere lacks. The state of a WARC file is its size, of the index its end."""

    def __init__(self, store: WarcStore, confirmed: Confirmed) -> None:
        self._store = store
        self._confirmed = confirmed

    def warc_files(self, *, with_current: bool) -> list[Upload]:
        files = self._store.files(with_current=with_current)
        uploads = [Upload(f"{WARC_DIRECTORY}/{file.name}", file) for file in files]
        return [one for one in uploads if not self._confirmed.has(one.name, str(one.path.stat().st_size))]

    def index(self) -> list[Upload]:
        """As of the last checkpoint; none where the store has that, or there is nothing in it."""
        index = self._store.directory / INDEX_FILE
        if not self._store.position.number or self._confirmed.has(INDEX_FILE, self._index_state):
            return []
        draft = self._store.directory / _SNAPSHOT
        return [Upload(INDEX_FILE, draft, lambda: write_snapshot(index, draft))]

    def note(self, batch: Batch, sent: Sent) -> None:
        state = self._index_state if sent.name == INDEX_FILE else str(sent.size)
        self._confirmed.note(batch, state, sent)

    @property
    def _index_state(self) -> str:
        return f"{self._store.position.number}:{self._store.position.last_id}"


class RemoteCopy(Participant):
    """See the module: of a crawl that runs. To be made when its store has been cut back."""

    def __init__(
        self, remote: Remote, store: WarcStore, database: Database, stats: StatsCollector, wait: float
    ) -> None:
        self._store = store
        self._database = database
        self._stats = stats
        self._wait = wait
        self._confirmed = Confirmed(remote.url, database)
        self._wanted = Wanted(store, self._confirmed)
        self._uploads = Uploads(remote)
        self._sent = 0
        self._current: str | None = None
        self._queued: set[str] = set()
        store.finish_file()
        self._queue(with_current=True)
        self._uploads.start()

    def figures(self) -> RemoteFigures:
        return RemoteFigures(
            self._uploads.remote.url,
            self._confirmed.warc_files,
            self._sent,
            self._uploads.waiting,
            self._uploads.failures,
        )

    def prepare(self, batch: Batch) -> None:
        for sent in self._uploads.take():
            self._sent += sent.size if sent.is_new else 0
            self._wanted.note(batch, sent)

    def committed(self) -> None:
        if self._store.position.warc_file != self._current:
            self._queue(with_current=False)
        self._tell()

    def _tell(self) -> None:
        figures = self.figures()
        for name, value in {
            "files": figures.files, "bytes": figures.sent, "waiting": figures.waiting, "failures": figures.failures,
            "place": str(figures),
        }.items():  # fmt: skip
            self._stats.set_value(f"remote/{name}", value)

    async def finish(self) -> None:
        """The crawl's last checkpoint is made: send what is left, for as long as that may take, and note it."""
        self._queue(with_current=True)
        for upload in self._wanted.index():
            self._uploads.add(upload)
        if self._uploads.waiting:
            logger.info("%d files are sent to %s before the end", self._uploads.waiting, self._uploads.remote.url)
        await self._idle()
        self._uploads.stop()
        batch = self._database.batch()
        self.prepare(batch)
        self._database.write(batch)
        self._tell()
        if self._uploads.waiting:
            logger.warning("%s: `scrapy upload` sends what waits, and so does the next run", self.figures())

    async def _idle(self) -> None:
        """Nothing waits, or there is no more time."""
        loop, idle = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # somebody has ended the process' work at once, and the loop is closed
                loop.call_soon_threadsafe(idle.set)

        self._uploads.on_idle(tell)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait):
                await idle.wait()

    def _queue(self, *, with_current: bool) -> None:
        self._current = self._store.position.warc_file
        for upload in self._wanted.warc_files(with_current=with_current):
            if upload.name not in self._queued:
                self._queued.add(upload.name)
                self._uploads.add(upload)


def send_all(remote: Remote, store: WarcStore, database: Database) -> tuple[list[Sent], RemoteFigures]:
    """All that the store elsewhere lacks of a crawl that does not run. Raises `RemoteError` or `StorageError`; what
    was confirmed before that is noted.
    """
    confirmed = Confirmed(remote.url, database)
    wanted = Wanted(store, confirmed)
    store.finish_file()
    done = []
    for upload in [*wanted.warc_files(with_current=True), *wanted.index()]:
        sent = upload.send(remote)
        batch = database.batch()
        wanted.note(batch, sent)
        database.write(batch)
        done.append(sent)
    new = sum(one.size for one in done if one.is_new)
    return done, RemoteFigures(remote.url, confirmed.warc_files, new, waiting=0, failures=0)


def sum_of(done: list[Sent]) -> str:
    """What `send_all` has done, in words."""
    new = [one for one in done if one.is_new]
    return f"{len(new):,} files sent, {size(sum(one.size for one in new))}"
