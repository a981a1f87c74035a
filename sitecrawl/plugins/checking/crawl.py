"""All of a crawl's directory: what is checked, and in which order it is mended.

The records of URLs are the ground that everything else stands on. So the database has to be readable first, then its
families agree, then the page store with itself, then the two with one another.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, StorageError
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import (
    DIFFERS,
    MANIFEST,
    Manifest,
    database_to_read,
    is_copy,
    manifest_of,
    read_manifest,
    restore_manifest,
)
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.crawldir.meta import MANIFEST as COPY
from sitecrawl.crawldir.meta import PAGES, WORKER
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore.index import Position
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.checking.changes import Changes
from sitecrawl.plugins.checking.frontier import mend_frontier
from sitecrawl.plugins.checking.numbers import load_counts
from sitecrawl.plugins.checking.pages import Known, mend_pages
from sitecrawl.plugins.checking.problems import Problem
from sitecrawl.plugins.checking.rebuilding import rebuild
from sitecrawl.plugins.checking.salvage import finish_move, is_readable, salvage
from sitecrawl.plugins.checking.seen import check_seen, drop_filter
from sitecrawl.plugins.checking.session import check_session, mend_session
from sitecrawl.plugins.checking.store import Index, PageStoreState, check_store
from sitecrawl.plugins.checking.survey import Survey
from sitecrawl.urls.fingerprint import HASH_NAME

_KEEPS: Final = "keeps what can be read, and makes the rest again as far as records and stored pages tell"
_NO_KEY: Final = (
    "restore it from a copy, for the key in it cannot be guessed, and the database has none either; the stored pages "
    "stay readable without it"
)
_ROUNDS: Final = 3
"""Repairs in a row: mending one thing may show another that was hidden behind it."""


class LostKey(CorruptFile):
    """The key of the fingerprints stands nowhere any more."""


@dataclass(slots=True)
class CheckResult:
    """What a check has found."""

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


def check(directory: Path, *, quick: bool = False) -> CheckResult:
    """Verify the crawl in `directory`; `quick` reads back a sample of the stored pages instead of all.

    Raises `StorageError` if there is no crawl, `CrawlDirectoryInUse` if it runs, `FormatMismatch` if another version
    wrote it.
    """
    result = CheckResult(directory)
    with _alone(directory):
        result.problems += check_session(directory)
        manifest = _manifest(directory, result)
        path = directory / "db"
        if damage := is_readable(path):
            result.problems.append(Problem("db", damage, _KEEPS))
        elif manifest is not None:
            with database_to_read(directory) as database:
                _check(database, manifest, result, quick=quick)
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
        if manifest is not None and copy is not None and not is_copy(copy, manifest):
            manifest, lost = None, DIFFERS
    if manifest is None:
        result.problems.append(Problem(MANIFEST, lost, "takes the copy in the database"))
    return manifest


def _copy_of_manifest(directory: Path) -> tuple[bytes | None, bool]:
    """What the database has of `crawl.json`, and whether it may turn out to have it when it is mended."""
    try:
        with database_to_read(directory) as database:
            return database.get("meta", COPY), False
    except StorageError as error:
        return None, isinstance(error, CorruptFile)


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


def _check(database: Database, manifest: Manifest, result: CheckResult, *, quick: bool) -> None:
    """All checks of a database that can be read, and of what stands beside it."""
    directory, survey = result.directory, Survey(database)
    result.urls, result.waiting = survey.known, survey.states[UrlState.QUEUED]
    result.problems += mend_frontier(database, survey, dry=True)
    counts = load_counts(Overlay(database, "meta"))
    is_worker = database.get("meta", WORKER) is not None
    if is_worker:
        result.notes.append("the frontier of this crawl is on Redis: only what this worker stores was checked")
    elif counts is not None:
        result.problems += check_seen(directory, database, counts.serial, result.notes)
    state = PageStoreState.of(directory, database, manifest.fingerprint_key)
    if state.fault:
        result.problems.append(Problem("db/meta", state.fault, "keeps all the pages that are stored"))
    result.problems += check_store(state, result.notes, quick=quick)
    try:
        index = Index(directory)
    except StorageError:
        return  # there is none, or `check_store` has said what is wrong with it
    with index:
        result.captures = last = (state.position or Position()).last_id
        if is_worker:
            return
        forgotten = counts.forgotten if counts is not None else 0
        changes = Changes(database, dry=True)
        try:
            result.problems += mend_pages(
                database, index, manifest.fingerprinter(), changes,
                last_id=last, forgotten=forgotten, is_behind=bool(state.fault),
            )  # fmt: skip
        except CorruptFile as error:
            result.problems.append(Problem(INDEX_FILE, str(error), "makes the index again"))


def repair(directory: Path) -> tuple[CheckResult, CheckResult]:
    """Rebuild what can be rebuilt. Returns what was found before, and what is left. Raises as `check` does.

    It can be stopped at any time, also by a crash, and begun again.
    """
    with file_errors(directory):
        finish_move(directory)
    before = after = check(directory)
    for _ in range(_ROUNDS):
        if all(not problem.repairable for problem in after.problems):
            break
        try:
            _mend(directory, before)
        except LostKey as error:
            return before, replace(after, problems=[Problem(MANIFEST, str(error), _NO_KEY, repairable=False)])
        except CorruptFile as error:
            left = Problem(
                "db", str(error), "start in a new directory; the stored pages stay readable", repairable=False
            )
            return before, replace(after, problems=[left])
        after = check(directory)
    return before, after


def _mend(directory: Path, result: CheckResult) -> None:
    mend_session(directory)
    if is_readable(directory / "db"):
        damaged = salvage(directory)
        result.notes.append(f"the damaged database is kept as {damaged}: delete it when the crawl is as it should be")
    drop_filter(directory)
    with closing(Database(directory / "db", hash_name=HASH_NAME)) as database:
        manifest = _restored_manifest(directory, database)
        list(mend_frontier(database, Survey(database), dry=False))
        _mend_pages(directory, database, manifest)
        list(mend_frontier(database, Survey(database), dry=False))


def _restored_manifest(directory: Path, database: Database) -> Manifest:
    """Raises `LostKey` if it is lost, and its copy too."""
    restore_manifest(directory, database)
    try:
        manifest = read_manifest(directory)
    except StorageError as error:
        raise LostKey(str(error)) from error
    if manifest is None:
        raise LostKey(f"{directory / MANIFEST} is missing")
    return manifest


def _mend_pages(directory: Path, database: Database, manifest: Manifest) -> None:
    """Page store and records."""
    fingerprints = manifest.fingerprinter()
    counts = load_counts(Overlay(database, "meta"))
    state = PageStoreState.of(directory, database, manifest.fingerprint_key)
    position = state.position
    changes = Changes(database, dry=False)
    if any(problem.repairable for problem in check_store(state, [], quick=False)):
        whole = replace(state, position=position or Position())
        position = rebuild(whole, referrer=Known(database, fingerprints).referrer)
    if position is None:
        return
    if database.get("meta", WORKER) is None:
        forgotten = counts.forgotten if counts is not None else 0
        with Index(directory) as index:
            steps = mend_pages(
                database, index, fingerprints, changes,
                last_id=position.last_id, forgotten=forgotten, is_behind=bool(state.fault),
            )  # fmt: skip
            list(steps)
    changes.batch.put("meta", PAGES, json.dumps(position._asdict()).encode())  # last: it says what `state.fault` was
    changes.end()
