"""A crawl's pages in a store elsewhere, as they come: its WARC files, and at the end the page index.

Which files go is told by the checkpoints: a WARC file goes when the crawl's last batch stands in a later one, for
nothing cuts it then. A run with a store begins a file of its own, so what an earlier run has left may go at once, and
at the end the last file as well. What is there is noted nowhere but in the store: it is asked for each file, and one
that it has in that size is not sent again.

    URL/NAME/sitecrawl.json     whose it is (`store.claim`)
    URL/NAME/warc/FILE          as here
    URL/NAME/pages.sqlite       as of the end of the last run

NAME is the crawl directory's; of a worker of a cluster it is the crawl's, and `worker-` and the worker's name on
Redis. So what is fetched from there is a directory that `scrapy pages` and the like can read.

Files are sent one after the other, in a thread of their own. A file waits until the store has confirmed it, through
as many attempts as that takes; pauses between them grow.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple, Self

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.display import counted
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.crawl import sharing
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.directories import only_looks
from sitecrawl.crawldir.directory import WORKER_PREFIX, Manifest
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.participant import Participant
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.index import connect_read_only
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.plugins.remote import REMOTE
from sitecrawl.plugins.remote.store import Remote, RemoteError, Sent, claim, owner_of, remote

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
"""Seconds after a failed attempt; each is twice the one before."""
_SNAPSHOT: Final = f"{INDEX_FILE}.sent"
"""The copy of the index here, while it is on its way."""
_LAST_WAIT: Final = 300.0
"""Seconds for which a crawl waits at its end for what is not sent yet; the next run sends the rest."""
_LOOK: Final = 0.05
"""Seconds between two looks whether all is sent."""


class _Upload(NamedTuple):
    """A file to send."""

    name: str
    """Below the store's URL."""
    path: Path
    make: Callable[[], None] | None = None
    """Makes the file, which goes when it has been sent; None for one that is there and stays."""

    def send(self, remote: Remote) -> Sent:
        """Raises as `Remote.send` does."""
        if self.make is None:
            return remote.send(self.path, self.name)
        try:
            self.make()
            return remote.send(self.path, self.name, changes=True)
        finally:
            self.path.unlink(missing_ok=True)


class _Uploads:
    """See the module."""

    def __init__(self, remote: Remote, first_pause: float = _FIRST_PAUSE) -> None:
        self.remote = remote
        self.files = 0
        """Files that the store has, without those that were made."""
        self.sent = 0
        """Bytes that were sent."""
        self.failures = 0
        """Attempts that came to nothing."""
        self._first_pause = first_pause
        self._changed = threading.Condition()
        self._queue: deque[_Upload] = deque()
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="uploads", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, upload: _Upload) -> None:
        with self._changed:
            self._queue.append(upload)
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """Files that are not confirmed, the one that is being sent among them."""
        return len(self._queue)

    def __str__(self) -> str:
        waiting = f", {self.waiting:,} waiting" if self.waiting else ""
        return f"{counted(self.files, 'WARC file')} at {self.remote.url}{waiting}"

    def stop(self) -> None:
        """Begin no more uploads. One in progress may finish or fail."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _work(self) -> None:
        while (upload := self._next()) is not None:
            if self._bring(upload):
                self._queue.popleft()

    def _next(self) -> _Upload | None:
        """Wait for the oldest file; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._is_over)
            return None if self._is_over else self._queue[0]

    def _bring(self, upload: _Upload) -> bool:
        """Try until the store has it, or nobody can send it; False where all is over before."""
        pause = self._first_pause
        while not self._is_over:
            try:
                sent = upload.send(self.remote)
            except RemoteError as error:
                if pause == self._first_pause:
                    logger.warning("%s. The crawl goes on, and %d files wait to be sent", error, self.waiting)
                self.failures += 1
                with self._changed:
                    self._changed.wait_for(lambda: self._is_over, pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except (SitecrawlError, OSError) as error:  # of the file here: another attempt would meet the same
                logger.error("Not sent to %s: %s", self.remote.url, error)
                self.failures += 1
                return True
            else:
                if pause > self._first_pause:
                    logger.info("%s takes files again", self.remote.url)
                self.files += upload.make is None
                self.sent += sent.size if sent.is_new else 0
                return True
        return False


def _write_snapshot(index: Path, target: Path) -> None:
    """Copy the index as of its last commit, while the crawl may go on. Not in WAL mode, so that it can be read in a
    read-only folder. Raises `StorageError`.
    """
    with file_errors(target):
        target.unlink(missing_ok=True)
        with closing(connect_read_only(index)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")


def open_place(
    settings: BaseSettings, path: Path, manifest: Manifest, session: str = "", *, may_wait: bool = False
) -> Remote:
    """The store where the crawl in `path` goes, which says that the place is the crawl's. `session` names a worker of
    a cluster. `may_wait`: a store that does not answer now may do so later.

    Raises `OptionError` or `RemoteError`.
    """
    places = [path.resolve().name]
    if session:
        places = [sharing.shared_name(settings, manifest.spider), f"{WORKER_PREFIX}{session}"]
    opened = Remote(remote(settings, *places))
    try:
        claim(opened, owner_of(manifest.fingerprint_key, session))
    except RemoteError as error:
        if error.is_refusal or not may_wait:
            raise
        logger.warning("%s. The crawl goes on, and its files wait to be sent", error)
    return opened


def warc_files(store: WarcStore, *, with_current: bool) -> list[_Upload]:
    """The WARC files that nothing changes any more; `with_current`: the last one, too, which nobody writes to."""
    return [_Upload(f"{WARC_DIRECTORY}/{file.name}", file) for file in store.files(with_current=with_current)]


def index_of(store: WarcStore) -> list[_Upload]:
    """The page index as of the last checkpoint; none where there is nothing in it."""
    if not store.position.number:
        return []
    index, draft = store.directory / INDEX_FILE, store.directory / _SNAPSHOT
    return [_Upload(INDEX_FILE, draft, lambda: _write_snapshot(index, draft))]


class _RemoteCopy(Participant):
    """See the module: of a crawl that runs. To be made when its store has been cut back."""

    def __init__(self, remote: Remote, store: WarcStore, stats: StatsCollector) -> None:
        self._store = store
        self._stats = stats
        self._uploads = _Uploads(remote)
        self._current: str | None = None
        self._queued: set[str] = set()
        store.finish_file()
        self._queue(with_current=True)
        self._uploads.start()

    def committed(self) -> None:
        if self._store.position.warc_file != self._current:
            self._queue(with_current=False)
        self._tell()

    def _tell(self) -> None:
        uploads = self._uploads
        for name, value in {
            "files": uploads.files, "bytes": uploads.sent, "waiting": uploads.waiting, "failures": uploads.failures,
            "place": str(uploads),
        }.items():  # fmt: skip
            self._stats.set_value(f"remote/{name}", value)

    async def finish(self) -> None:
        """The crawl's last checkpoint is made: send what is left, for as long as that may take."""
        uploads = self._uploads
        self._queue(with_current=True)
        for upload in index_of(self._store):
            uploads.add(upload)
        logger.info("%d files are sent to %s before the end", uploads.waiting, uploads.remote.url)
        until = time.monotonic() + _LAST_WAIT
        while uploads.waiting and time.monotonic() < until:  # noqa: ASYNC110 - it is a thread's
            await asyncio.sleep(_LOOK)
        uploads.stop()
        self._tell()
        if uploads.waiting:
            logger.warning("%s: `scrapy upload` sends what waits, and so does the next run", uploads)

    def _queue(self, *, with_current: bool) -> None:
        self._current = self._store.position.warc_file
        for upload in warc_files(self._store, with_current=with_current):
            if upload.name not in self._queued:
                self._queued.add(upload.name)
                self._uploads.add(upload)


class RemotePipeline:
    """Stands behind `pipelines.WarcPipeline`, which opens the page store, and has nothing to do with items."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises `OptionError` or `RemoteError`."""
        crawl = Crawl.of(crawler)
        store = crawl.pages.store
        if store is None or only_looks() or not REMOTE.read(crawler.settings):  # a dry run has taken it out
            raise NotConfigured
        remote = open_place(
            crawler.settings,
            crawl.directory.path,
            crawl.directory.manifest,
            crawl.peers.session,
            may_wait=crawl.directory.resumed,
        )
        copy = _RemoteCopy(remote, store, crawl.stats)
        crawl.checkpoints.add(copy)
        crawl.checkpoints.last_acts.append(copy.finish)
        return cls()
