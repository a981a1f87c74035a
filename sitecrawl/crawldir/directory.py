"""A crawl's directory, and the file that says whose it is.

    crawl.json     who made it: magic, format, hash, spider, time, the key of the fingerprints
    db/            frontier and seen set (sitecrawl.crawldir.database)
    warc/, pages.sqlite   the page store (sitecrawl.pagestore)
    session/cookies.txt   cookies that are kept, for its owner alone (sitecrawl.http.cookies)

`crawl.json` is written first, atomically; a directory without it is either empty, not ours, or has lost it. The
database has a copy.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.base.hashing import HASH_NAME, check_key, new_key
from sitecrawl.crawldir import meta
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.durable import sync_directory, write_atomically
from sitecrawl.crawldir.faults import file_errors

_MAGIC: Final = "sitecrawl crawl"
FORMAT: Final = 2
MANIFEST: Final = "crawl.json"
DIFFERS: Final = "it is not as it was when the crawl began"
WORKER_PREFIX: Final = "worker-"
"""Prefix of the directories of a shared crawl's workers."""
_DRAFT: Final = "crawl.json.new"
"""The manifest while it is written: all that a crash leaves of a crawl that had hardly begun."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Content of `crawl.json`."""

    spider: str
    created: float
    """Unix time, in seconds."""
    key: str
    """The fingerprints' secret key, 16 bytes in hexadecimal."""
    magic: str = _MAGIC
    format: int = FORMAT
    hash: str = HASH_NAME

    @property
    def fingerprint_key(self) -> bytes:
        """The key as bytes. Raises `ValueError`."""
        return bytes.fromhex(self.key)


class CrawlDirectory:
    """The directory of one crawl of `spider`: made if it is empty or missing, resumed otherwise.

    `key`: that of the fingerprints on a cluster; by default a new crawl gets a random one. `created`: Unix time at
    which the crawl began, if this is a copy; by default now.

    Raises `FormatMismatch` for a directory that belongs to something else, `CorruptFile` for one whose manifest
    cannot be read, `StorageError` where the file system says no.
    """

    def __init__(
        self,
        path: Path,
        spider: str,
        *,
        key: bytes | None = None,
        created: float | None = None,
    ) -> None:
        self.path = path
        self._created = time.time() if created is None else created
        self._key = key or new_key()
        manifest = read_manifest(path)
        self.resumed = manifest is not None
        self.manifest = manifest or self._create(spider)
        if self.manifest.spider != spider:
            raise FormatMismatch(
                f"{path} holds a crawl of the spider {self.manifest.spider!r}, not of {spider!r}: "
                "choose another JOBDIR, or run that spider"
            )
        if key is not None and self.manifest.fingerprint_key != key:
            raise FormatMismatch(f"{path} belongs to another crawl than that on Redis: choose another JOBDIR")

    @property
    def database(self) -> Path:
        return self.path / "db"

    def _create(self, spider: str) -> Manifest:
        """Write a new manifest; of two processes that begin at once, one writes and both get the same."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            foreign = sorted(entry.name for entry in self.path.iterdir() if entry.name != _DRAFT)
            if foreign and not (self.path / MANIFEST).exists():
                lost = f", or, if it was one, let `scrapy check-crawl --repair {self.path}` make that again"
                raise FormatMismatch(
                    f"{self.path} is not a crawl of sitecrawl: it holds {', '.join(foreign[:3])} and no {MANIFEST}. "
                    f"Choose an empty or a new directory as JOBDIR{lost if 'db' in foreign else ''}"
                )
            with (self.path / _DRAFT).open("ab") as draft:
                fcntl.lockf(draft, fcntl.LOCK_EX)
                manifest = read_manifest(self.path)
                if manifest is None:
                    manifest = Manifest(spider, self._created, self._key.hex())
                    _write(draft, packed(manifest))
                    (self.path / _DRAFT).replace(self.path / MANIFEST)
                    sync_directory(self.path)  # its key cannot be made again, and the database is durable at once
            (self.path / _DRAFT).unlink(missing_ok=True)  # opened when the other's was in place already
        except OSError as error:
            raise _unusable(self.path, error) from error
        return manifest


def keep_copy(database: Database, directory: CrawlDirectory) -> None:
    """Store a copy of the manifest in `database`. Raises `CorruptFile` if it has another one."""
    copy, manifest = database.get("meta", meta.MANIFEST), packed(directory.manifest)
    if copy is None:
        batch = database.batch()
        batch.put("meta", meta.MANIFEST, manifest)
        database.write(batch)
    elif copy != manifest:
        raise _damaged(directory.path / MANIFEST, DIFFERS)


def restore_manifest(path: Path, database: Database) -> None:
    """Restore the manifest in `path` from the database's copy, if there is one. Raises `StorageError`."""
    data = database.get("meta", meta.MANIFEST)
    if data is not None:
        with file_errors(path / MANIFEST):
            write_atomically(path / MANIFEST, [data])


def packed(manifest: Manifest) -> bytes:
    """The text of `crawl.json`, of which the database has a copy."""
    return json.dumps(asdict(manifest), indent=2).encode()


def workers_below(path: Path) -> list[Path]:
    """The directories of a shared crawl's workers; none where `path` is a crawl itself. Raises `StorageError`."""
    try:
        return sorted(file.parent for file in path.glob(f"{WORKER_PREFIX}*/{MANIFEST}"))
    except OSError as error:
        raise _unusable(path, error) from error


def had_redis(path: Path) -> bool:
    """Whether workers on this machine had a Redis of their own in `path` (`cluster.own_redis`)."""
    try:
        return (path / "redis" / "lock").is_file()
    except OSError:  # such as a name that is too long
        return False


def database_to_read(path: Path) -> closing[Database]:
    """The database of the crawl in the directory `path`, for a `with`. Raises `StorageError`."""
    return closing(Database(path / "db", hash_name=HASH_NAME, read_only=True))


def manifest_of(path: Path) -> Manifest:
    """The manifest of the crawl in `path`. Raises `StorageError` where there is none."""
    manifest = read_manifest(path)
    if manifest is None and (workers := workers_below(path)):
        raise StorageError(
            f"{path} is shared by {len(workers)} workers: name the directory of one, such as {workers[0]}"
        )
    if manifest is None:
        raise StorageError(f"{path} holds no crawl: it has no {MANIFEST}")
    return manifest


def read_manifest(path: Path) -> Manifest | None:
    """The manifest of the crawl in `path`; None where there is none."""
    file = path / MANIFEST
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(file, error) from error
    if not isinstance(data, dict) or data.get("magic") != _MAGIC:
        raise FormatMismatch(f"{file} was not written by sitecrawl: choose another directory")
    if data.get("format") != FORMAT or data.get("hash") != HASH_NAME:
        raise FormatMismatch(
            f"{file} has format {data.get('format')} and hash {data.get('hash')!r}; this version knows format "
            f"{FORMAT} and hash {HASH_NAME!r}: use the version that wrote it"
        )
    try:
        manifest = Manifest(**data)
        check_key(manifest.fingerprint_key)
    except (TypeError, ValueError) as error:
        raise _damaged(file, error) from error
    return manifest


def _damaged(file: Path, reason: object) -> CorruptFile:
    return CorruptFile(
        f"{file} cannot be read ({reason}): `scrapy check-crawl --repair {file.parent}` takes the database's copy"
    )


def _unusable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be used as a crawl's directory ({error.strerror or error}): "
        "choose a directory that can be written as JOBDIR"
    )


def _write(file: BinaryIO, content: bytes) -> None:
    """Replace the content of `file` durably."""
    file.truncate(0)  # what a crash left
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
