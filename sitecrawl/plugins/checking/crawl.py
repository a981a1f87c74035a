"""All of a crawl's directory: what is checked, and how it is made again.

The WARC files are what counts. A repair makes the page index of them where it is wrong, and the database of the page
index where that is wrong. So an index of an older version is made again, too; from an older format of the database
there is no way: which URLs are known and wait stands there alone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from rocksdict import AccessType, Options, Rdict

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, NothingYet, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir import database, meta
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.directory import (
    DIFFERS,
    MANIFEST,
    Manifest,
    database_to_read,
    manifest_of,
    packed,
    read_manifest,
    restore_manifest,
)
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import MANIFEST as COPY
from sitecrawl.crawldir.meta import PAGES, WORKER
from sitecrawl.frontier.urls.crawl_seen import SEEN_FILE
from sitecrawl.frontier.urls.record import NO_REFERRER
from sitecrawl.pagestore.index import Position
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.warc_store import INDEX_FILE, WARC_DIRECTORY
from sitecrawl.plugins.checking.frontier import check_frontier, check_pages, load_counts
from sitecrawl.plugins.checking.rebuilding import finish_move, rebuild, replace_database
from sitecrawl.plugins.checking.store import INDEX_AGAIN, Index, PageStoreState, Problem, check_store
from sitecrawl.plugins.checking.survey import readable
from sitecrawl.urls.fingerprint import Fingerprinter

_NO_KEY: Final = (
    "restore it from a copy, for the key in it cannot be guessed, and the database has none either; the stored pages "
    "stay readable without it"
)
_WORKER: Final = "begin this worker in a new directory; the pages that are stored here stay readable"


@dataclass(slots=True)
class CheckResult:
    """The outcome of a check."""

    directory: Path
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is no fault, and worth knowing."""
    urls: int = 0
    waiting: int = 0
    captures: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.problems


def check(directory: Path) -> CheckResult:
    """Verify the crawl in `directory`.

    Raises `StorageError` if there is no crawl, `CrawlDirectoryInUse` if it runs, `FormatMismatch` if another version
    wrote it.
    """
    _refuse_other_version(directory)
    result = CheckResult(directory)
    with _alone(directory):
        manifest = _manifest(directory, result)
        if damage := _damage(directory / "db"):
            result.problems.append(Problem("db", damage))
        elif manifest is not None:
            with database_to_read(directory) as database:
                _check(database, manifest, result)
    return result


def _manifest(directory: Path, result: CheckResult) -> Manifest | None:
    """What `crawl.json` says; None, with a problem, where it is lost, or says what the database's copy does not."""
    with file_errors(directory):
        had_database = (directory / "db").exists()  # a crawl makes it after the manifest, perhaps just now
    copy, may_have_one = _copy_of_manifest(directory)
    lost = "it is missing, and with it the key of all fingerprints"
    try:
        manifest = read_manifest(directory)
    except (CorruptFile, FormatMismatch) as error:
        manifest, lost = None, str(error)
        if isinstance(error, FormatMismatch) and copy is None and not may_have_one:
            raise
    else:
        if manifest is None and not had_database:
            manifest = manifest_of(directory)  # which says why there is none
        if manifest is not None and copy is not None and copy != packed(manifest):
            manifest, lost = None, DIFFERS
    if manifest is None and (copy is not None or may_have_one):
        result.problems.append(Problem(MANIFEST, lost, "--repair takes the copy in the database"))
    elif manifest is None:
        result.problems.append(Problem(MANIFEST, lost, _NO_KEY, repairable=False))
    return manifest


def _copy_of_manifest(directory: Path) -> tuple[bytes | None, bool]:
    """What the database has of `crawl.json`, and whether it may have it without being readable."""
    try:
        with database_to_read(directory) as database:
            return database.get("meta", COPY), False
    except StorageError as error:
        return None, isinstance(error, CorruptFile)


def _damage(path: Path) -> str:
    """Why the database cannot be read to its end; empty if it can. Raises what is no damage."""
    has_pages = (path.parent / INDEX_FILE).exists() or any((path.parent / WARC_DIRECTORY).glob("*"))
    try:
        with closing(Database(path, hash_name=HASH_NAME, read_only=True)) as database:
            for family in FAMILIES:
                for _ in database.scan(family):
                    pass
    except CorruptFile as error:
        return str(error)
    except NothingYet:
        if has_pages:  # a crawl makes its database first
            return "it is missing or empty, and there is a page store beside it"
        raise
    return ""


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """No crawl runs on the directory, and none begins: holds the lock that RocksDB would take."""
    lock = directory / "db" / "LOCK"
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        yield  # RocksDB never got as far as its lock
        return
    except OSError as error:
        raise StorageError(f"{lock} cannot be opened ({error.strerror}): check it as the user who crawls") from error
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno not in {errno.EAGAIN, errno.EACCES}:
            raise StorageError(
                f"{lock} cannot be locked ({error.strerror}): check a copy on a file system with locks"
            ) from error
        raise CrawlDirectoryInUse(
            f"{directory} is being crawled: stop the crawl with Ctrl-C, or wait until it ends, and check it then"
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def _check(database: Database, manifest: Manifest, result: CheckResult) -> None:
    """All checks of a database that can be read, and of what stands beside it."""
    directory = result.directory
    counts = load_counts(database)
    is_worker = database.get("meta", WORKER) is not None
    if is_worker:
        result.notes.append("the frontier of this crawl is on Redis: only what this worker stores was checked")
    else:
        result.problems += check_frontier(database)
    if counts is not None:
        result.urls, result.waiting = counts.known - counts.forgotten, counts.queued
    state = PageStoreState.of(directory, database, manifest.fingerprint_key)
    if state.fault:
        result.problems.append(Problem("db/meta", state.fault))
    result.problems += check_store(state, result.notes)
    try:
        index = Index(directory)
    except StorageError:
        return  # there is none, or `check_store` has said what is wrong with it
    with index:
        result.captures = last = (state.position or Position()).last_id
        if is_worker:
            return
        forgotten = counts.forgotten if counts is not None else 0
        try:
            result.problems += check_pages(
                database, index, Fingerprinter(manifest.fingerprint_key), last_id=last, forgotten=forgotten
            )
        except CorruptFile as error:
            result.problems.append(Problem(INDEX_FILE, str(error), INDEX_AGAIN))


def repair(directory: Path) -> tuple[CheckResult, CheckResult]:
    """Make again what is wrong. Returns what was found before, and what is left. Raises as `check` does.

    It can be stopped at any time, also by a crash, and begun again.
    """
    with file_errors(directory):
        finish_move(directory)
    before = check(directory)
    if all(not problem.repairable for problem in before.problems):
        return before, before
    try:
        with _alone(directory):
            _mend(directory, before)
    except _CannotMend as error:
        return before, replace(before, problems=[error.problem])
    return before, check(directory)


class _CannotMend(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _mend(directory: Path, before: CheckResult) -> None:
    (directory / SEEN_FILE).unlink(missing_ok=True)  # the next start fills it again
    manifest = _restored_manifest(directory)
    is_damaged = bool(_damage(directory / "db"))
    position = _mended_store(directory, manifest, is_damaged=is_damaged)
    after = CheckResult(directory)
    if not is_damaged:
        with database_to_read(directory) as database:
            _check(database, manifest, after)
            is_worker = database.get("meta", WORKER) is not None
        if not any(problem.repairable for problem in after.problems):
            return
        if is_worker:
            raise _CannotMend(Problem("db", str(after.problems[0]), _WORKER, repairable=False))
    damaged = replace_database(directory, manifest, position)
    before.notes.append(f"the damaged database is kept as {damaged}: delete it when the crawl is as it should be")


def _restored_manifest(directory: Path) -> Manifest:
    try:
        with database_to_read(directory) as database:
            restore_manifest(directory, database)
    except StorageError:
        pass  # `_mend` makes the database again
    try:
        return manifest_of(directory)
    except StorageError as error:
        raise _CannotMend(Problem(MANIFEST, str(error), _NO_KEY, repairable=False)) from error


def _mended_store(directory: Path, manifest: Manifest, *, is_damaged: bool) -> Position | None:
    """Make the page index again where it is wrong; returns up to where the page store counts. `is_damaged`: the
    database is.
    """
    if is_damaged:
        state = PageStoreState.without_database(directory, manifest.fingerprint_key)
        if not any(problem.repairable for problem in check_store(state, [])):
            return state.position
        return rebuild(state, referrer=lambda _: None)
    with database_to_read(directory) as database:
        state = PageStoreState.of(directory, database, manifest.fingerprint_key)
        if not any(problem.repairable for problem in check_store(state, [])):
            return state.position
        whole = replace(state, position=state.position or Position())
        position = rebuild(whole, referrer=partial(_referrer_of, database, Fingerprinter(manifest.fingerprint_key)))
    with closing(Database(directory / "db", hash_name=HASH_NAME)) as database:
        batch = database.batch()
        batch.put("meta", PAGES, json.dumps(position._asdict()).encode())
        database.write(batch)
    return position


def _referrer_of(database: Database, fingerprints: Fingerprinter, url: str) -> str | None:
    """Where the frontier found a URL that was fetched by GET: no WARC record has that."""
    (record,) = readable(database, [fingerprints.url(url_key(url))])
    if record is None or record.referrer == NO_REFERRER:
        return None
    (referrer,) = readable(database, [record.referrer])
    return None if referrer is None else referrer.url


def _refuse_other_version(path: Path) -> None:
    """Raise `FormatMismatch` for the crawl of another version: to a repair it would be a damaged one of this."""
    found = None
    with contextlib.suppress(Exception):  # what is damaged is none of another version
        found = _format_of(path / "db")
    if found is not None and found != database.FORMAT:
        raise FormatMismatch(
            f"{path} is a crawl of another version: its database has format {found.decode()} (here "
            f"{database.FORMAT.decode()}). Nothing leads from there to here: go on with that version, or begin in a "
            "new directory. Any program for WARC files reads its pages"
        )


def upgrade(path: Path) -> CheckResult:
    """Bring the crawl in `path` to the formats of this version, and check it. It can be stopped and begun again.

    Raises `FormatMismatch` where there is no way, otherwise as `check` does.
    """
    _refuse_other_version(path)
    try:
        PageReader(path).close()
    except FormatMismatch:
        for ending in ("", "-wal", "-shm"):
            (path / (INDEX_FILE + ending)).unlink(missing_ok=True)
        return repair(path)[1]
    except StorageError:
        pass  # `check` says what is wrong
    return check(path)


def _format_of(path: Path) -> bytes | None:
    tables = {name: Options(raw_mode=True) for name in Rdict.list_cf(str(path))}
    rdict = Rdict(str(path), Options(raw_mode=True), tables, access_type=AccessType.read_only())
    try:
        return rdict.get_column_family("meta").get(meta.FORMAT)
    finally:
        rdict.close()
