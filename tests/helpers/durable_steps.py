"""The durable steps of the product by name, and what has to run for a process to come to each.

`failpoints.all_points` finds them in the source; a test holds these lists against it. Within a list they stand in
the order in which processes are killed at them, each going on with what the one before it has left.
"""

from __future__ import annotations

from typing import Final

BEGINNING = (
    "crawldir.directory._write: fsync",
    "crawldir.directory.CrawlDirectory._create: replace",
    "crawldir.directory.CrawlDirectory._create: directory",
    "crawldir.database.Database._check_format: batch",
    "crawldir.directory.keep_copy: batch",
    "pagestore.index._create: unlink",
    "pagestore.index._create: script",
    "pagestore.index._create: replace",
    "pagestore.index._create: directory",
    "plugins.remote.store.Remote._put: fsync",
    "plugins.remote.store.Remote._put: replace",
    "plugins.remote.store.Remote._put: directory",
)
BEGUN = "crawldir.directory.CrawlDirectory._create: unlink"
WORK = (
    "pagestore.files.WarcFiles._roll: directory",
    "pagestore.files.WarcFiles.append: append",
    "pagestore.files.WarcFiles.cut: unlink",
    "pagestore.files.WarcFiles.cut: fsync",
    "pagestore.files.WarcFiles.cut: directory",
    "pagestore.index.PageIndex.cut: commit",
    "pagestore.files.WarcFiles.sync: fsync",
    "pagestore.index.PageIndex.commit: commit",
    "http.cookies.CookieStore.write: fsync",
    "http.cookies.CookieStore.write: replace",
    "http.cookies.CookieStore.write: directory",
    "crawl.checkpoints.Checkpoints.write: batch",
    "plugins.remote.store.Remote.send: put",
)
END = (
    "frontier.seen.bloom.ScalableBloom.save: fsync",
    "frontier.seen.bloom.ScalableBloom.save: replace",
    "frontier.seen.bloom.ScalableBloom.save: directory",
    "frontier.urls.crawl_seen.CrawlSeen.save: batch",
    "plugins.remote.copy._write_snapshot: unlink",
    "plugins.remote.copy._Upload.send: unlink",
)


def _replaced(place: str) -> tuple[str, ...]:
    """The steps of a file that takes another one's place."""
    return f"{place}: fsync", f"{place}: replace", f"{place}: directory"


REPAIRS = {
    "a manifest that is lost": tuple((step,) for step in _replaced("crawldir.directory.restore_manifest")),
    "a page store that is damaged": (
        (
            "plugins.checking.crawl._mend: unlink",
            "plugins.checking.rebuilding._copy: fsync",
            "plugins.checking.rebuilding.rebuild: replace",
            "plugins.checking.rebuilding.rebuild: unlink",
            "plugins.checking.rebuilding.rebuild: directory",
        ),
        ("plugins.checking.rebuilding.rebuild: unlink 2",),
        ("plugins.checking.rebuilding.rebuild: replace 2",),
        ("plugins.checking.rebuilding.rebuild: directory 2",),
        ("plugins.checking.crawl._mended_store: batch",),
    ),
    "a database that is damaged": (
        (
            "plugins.checking.rebuilding.replace_database: rmtree",
            "plugins.checking.rebuilding._fill: batch 2",
            "plugins.checking.rebuilding.replace_database: rmtree 2",
            "plugins.checking.rebuilding.replace_database: rename",
            "plugins.checking.rebuilding.replace_database: rename 2",
            "plugins.checking.rebuilding.finish_move: rename",
        ),
        ("plugins.checking.rebuilding.replace_database: directory",),
    ),
}
"""By the damage that is repaired: some steps come only where none of the others has been taken."""
EXPORTS = _replaced("plugins.export.commands.export._file")
MARKS = _replaced("plugins.export.changes._write_marks")
EARLIER = _replaced("pagestore.earlier.write_list")
REPORT = _replaced("plugins.report.commands.report.Command._write")
UPLOAD = "plugins.remote.store.Remote.send: put"
INDEX = ("plugins.export.fulltext._make: commit", "plugins.export.fulltext.SearchIndex._transaction: commit")
SEARCH = "plugins.export.fulltext.SearchIndex.update: script"
FOLDER = "plugins.keyword.spider._PageFolder.save: replace"
SEEN = (
    *((step, 1) for step in _replaced("frontier.seen.store.SeenStore._create_key")),
    ("frontier.seen.exact.RocksSet._write: batch", 1),
    ("frontier.seen.exact.RocksSet._write: batch", 3),
    ("frontier.seen.exact.RocksSet._roll_back: batch", 1),
    *((step, 1) for step in _replaced("frontier.seen.exact.RocksSet.flush")),
)
"""With the number of times that a process comes there until it is killed."""


def _asked(place: str) -> tuple[str, ...]:
    """A step on Redis that does not happen, and one that does and of which nobody hears."""
    return f"{place}: step", f"{place}: answer"


_STORE: Final = "cluster.partition_store.PartitionStore"
WORKER = (
    "cluster.join.begin: eval",
    "cluster.join.begin: answer",
    *_asked("cluster.run.Run.beat"),
    *_asked(f"{_STORE}.lease"),
    "cluster.partitions.Partitions.reading: batch",
    "frontier.moving.Move.commit: batch",
    *_asked(f"{_STORE}.commit"),
    *_asked(f"{_STORE}.deliver"),
    *_asked(f"{_STORE}.put_part"),
    *_asked(f"{_STORE}.compact"),
    "cluster.holdings.Holdings.keep_tokens: batch",
)
WORKERS_END = (*_asked(f"{_STORE}.release"),)
TAKEN_AGAIN = ("frontier.moving.write_rows: batch", "cluster.partitions.Partitions._forget: batch")
"""Where another worker has left partitions with rows."""
ELSEWHERE: Final = {
    "frontier.forms.rule_orders._write: batch": "whole_crawls/test_sessions.py",
}
"""Points of tests that have what it takes to come there, and their files."""
LEFT_OUT: Final = {
    **dict.fromkeys(
        (*_asked("plugins.dashboard.cluster.Board.tell"),),
        "what workers tell one another for the dashboard goes by itself after some seconds",
    ),
    **dict.fromkeys(
        (
            "plugins.checking.rebuilding._fill: batch",
            "plugins.checking.redis_check._Check._forget_copies: batch",
            "cluster.copy.Copying._clear: batch",
        ),
        "it is in a folder for the time being, which nobody reads again",
    ),
    **dict.fromkeys(
        ("cluster.leases.Renewal._load: eval", "cluster.leases.Renewal._load: answer"),
        "a lease that is not renewed is over by itself, and one that is lasts no longer than without the kill",
    ),
    "plugins.checking.crawl.upgrade: unlink": "an index that is missing is made again by the same command",
    "plugins.export.folder.FolderWriter.write: replace": "each file is whole, and the next export writes all again",
    "plugins.keyword.spider._PageFolder.save: unlink": "it comes behind a write that has failed",
}
"""Points at which no process is killed, and why."""
