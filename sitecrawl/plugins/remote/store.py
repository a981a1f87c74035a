"""A store elsewhere, in which a file is whole or not at all.

fsspec speaks with it: S3 shows an object when its upload has ended; on a disk a file is written under another name
and moved. A file counts as sent when the store was asked afterwards, and told its size and, where it tells one, its
checksum.

S3 names an object's MD5 as its ETag; of one that came in parts the MD5 of the parts' MD5s, a dash and their number.
So the size of the parts has to be known: it depends on the file's size alone. What is encrypted with a key of KMS or
of the customer has an ETag that says nothing.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b, md5
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import OptionError, SitecrawlError
from sitecrawl.base.extras import how_to_install
from sitecrawl.crawldir.durable import replaced
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.plugins.remote.options import FILES, OBJECTS, RemoteOptions

PART: Final = 8 << 20
"""Bytes of a part; a store takes parts of 5 MiB or more, but for the last."""
_MOST_PARTS: Final = 9_000
"""S3 takes 10,000."""
_BLOCK: Final = 1 << 20
_MD5: Final = re.compile(r"[0-9a-f]{32}")
_PATIENCE: Final = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 1}}
"""Seconds that S3 has to answer; s3fs itself tries again."""
_PARTS_AT_ONCE: Final = 2
_LONGEST: Final = 300
"""Characters of what a store says that are passed on."""
_ENCRYPTED: Final = ("aws:kms", "aws:kms:dsse")
MARK: Final = "sitecrawl.json"
"""Says whose a place in a store is, so that no crawl writes over another's files."""
_MAGIC: Final = "sitecrawl remote"
_FORMAT: Final = 1
_LONGEST_MARK: Final = 1_000


class RemoteError(SitecrawlError):
    """A store elsewhere that does not take a file, or does not answer."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal
        """Whether the store said no: another attempt would hear the same, until somebody changes something."""


class Checksums(NamedTuple):
    """Of a file here."""

    size: int
    md5: str
    """In hexadecimal."""
    in_parts: str
    """The ETag of the same in parts of `part_size`."""


def part_size(size: int) -> int:
    """Of the parts in which a file of `size` bytes is sent."""
    return max(PART, ceil(size / _MOST_PARTS))


def checksums_of(path: Path) -> Checksums:
    """Read in blocks. Raises `StorageError`."""
    with file_errors(path), path.open("rb") as file:
        size = path.stat().st_size
        whole, parts, part = md5(usedforsecurity=False), b"", part_size(size)
        number = length = 0
        while True:
            piece, length = md5(usedforsecurity=False), 0
            while length < part and (block := file.read(min(_BLOCK, part - length))):
                whole.update(block)
                piece.update(block)
                length += len(block)
            if not length:
                break
            parts, number = parts + piece.digest(), number + 1
    return Checksums(size, whole.hexdigest(), f"{md5(parts, usedforsecurity=False).hexdigest()}-{number}")


def agree(told: Mapping[str, Any], own: Checksums) -> bool | None:
    """Whether what a store tells of an object is so of the file; None where it tells no checksum that we know."""
    if told.get("size") != own.size:
        return False
    etag = str(told.get("ETag") or "").strip('"')
    if _MD5.match(etag):
        return etag in {own.md5, own.in_parts}
    return None


class Sent(NamedTuple):
    """A file that is in the store."""

    name: str
    size: int
    """Bytes."""
    is_new: bool
    """Whether it was sent now; else it was there."""
    is_compared: bool
    """Whether the store told a checksum; else the size is all that is known."""


class Remote:
    """See the module. Raises `OptionError` where a package is missing or an option is of no use."""

    def __init__(self, options: RemoteOptions) -> None:
        self.url = options.url
        self._options = options
        self._fs = self._file_system()

    def send(self, path: Path, name: str, *, changes: bool = False) -> Sent:
        """See that the file at `path` is below the URL as `name`, in the place of another. Blocks. Raises
        `RemoteError`, and `StorageError` where the file here cannot be read.

        `changes`: what is there may be an older one of the same size, which counts as another unless a checksum says
        that it is the same.
        """
        own = checksums_of(path)
        compared = self._compare(name, own)
        if is_new := compared is False or (changes and compared is None):
            with self._errors(name):
                self._put(path, self._options.at(name), own.size)
            compared = self._compare(name, own)
        if compared is False:
            raise RemoteError(f"{self._options.at(name)} is not what was sent: {path} is sent again")
        return Sent(name, own.size, is_new, compared is not None)

    def check(self) -> None:
        """Raises `RemoteError` where the store does not answer, or lets nobody in."""
        self._told(".sitecrawl")

    def read(self, name: str, limit: int) -> bytes | None:
        """A small file: None if there is none, up to `limit` bytes. Raises `RemoteError`."""
        if self._told(name) is None:
            return None
        with self._errors(name), self._fs.open(self._options.at(name), "rb") as file:
            return bytes(file.read(limit))

    def write(self, name: str, data: bytes) -> None:
        """A small file, as `send` does it."""
        with tempfile.TemporaryDirectory(prefix="sitecrawl-") as folder:
            path = Path(folder, name.rpartition("/")[2])
            path.write_bytes(data)
            self.send(path, name)

    def _put(self, path: Path, url: str, size: int) -> None:
        if self._options.scheme in OBJECTS:
            self._fs.put_file(str(path), url, chunksize=part_size(size), max_concurrency=_PARTS_AT_ONCE)
            return
        target = Path(url.partition("://")[2])
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source, replaced(target) as file:
            shutil.copyfileobj(source, file)

    def _compare(self, name: str, own: Checksums) -> bool | None:
        """Whether the store has the file: False if it has another or none, None if its size is all that it tells."""
        told = self._told(name)
        if told is None:
            return False
        if self._options.scheme == FILES and told.get("size") == own.size:
            with self._errors(name):
                return checksums_of(Path(self._options.at(name).partition("://")[2])) == own
        found = agree(told, own)
        if found is False and told.get("size") == own.size and self._is_encrypted(name):
            return None
        return found

    def _told(self, name: str) -> Mapping[str, Any] | None:
        """What the store says of an object; None if there is none."""
        with self._errors(name):
            try:
                told: Mapping[str, Any] = self._fs.info(self._options.at(name))
            except FileNotFoundError:
                return None
            return told if told.get("type") == "file" else None

    def _is_encrypted(self, name: str) -> bool:
        """Whether an ETag says nothing: with a key that is not the store's own it is no MD5."""
        if self._options.scheme == FILES:
            return False
        with self._errors(name):
            bucket, key, _ = self._fs.split_path(self._options.at(name))
            head = self._fs.call_s3("head_object", Bucket=bucket, Key=key)
        return head.get("ServerSideEncryption") in _ENCRYPTED or "SSECustomerAlgorithm" in head

    def _file_system(self) -> Any:
        scheme = self._options.scheme
        storage = dict(self._options.storage)
        if scheme in OBJECTS:
            storage["config_kwargs"] = {**_PATIENCE, **storage.get("config_kwargs", {})}
        try:
            import fsspec  # noqa: PLC0415 - an extra

            kind = fsspec.get_filesystem_class(scheme)
        except ImportError as error:
            raise OptionError(f"{self.url} needs {how_to_install('remote')}") from error
        address = {name: value for name, value in kind._get_kwargs_from_urls(self.url).items() if value}  # noqa: SLF001 - fsspec's own way from a URL to options
        try:
            return kind(**address | storage, skip_instance_cache=True, use_listings_cache=False)
        except Exception as error:
            reason = self._clean(error)
            raise OptionError(f"SITECRAWL_REMOTE_OPTIONS are of no use for {self.url}: {reason}") from error

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """Every store has errors of its own."""
        try:
            yield
        except Exception as error:
            raise self._error(name, error) from error

    def _error(self, name: str, error: Exception) -> RemoteError:
        url, kind = self._options.at(name), type(error).__name__
        if isinstance(error, FileNotFoundError):
            return RemoteError(f"{url} cannot be written, its bucket or folder is missing", is_refusal=True)
        if isinstance(error, PermissionError) or kind in {"NoCredentialsError", "PartialCredentialsError"}:
            said = self._clean(error)
            return RemoteError(f"{url} may not be written or read ({said}): look at the credentials", is_refusal=True)
        if isinstance(error, TypeError | ValueError):  # a store takes its options when it is first asked
            said = self._clean(error)
            return RemoteError(f"SITECRAWL_REMOTE_OPTIONS are of no use for {url}: {said}", is_refusal=True)
        return RemoteError(f"{url} cannot be reached or written: {kind}: {self._clean(error)}")

    def _clean(self, error: Exception) -> str:
        """What it says, on one line and without secrets."""
        said = " ".join(str(error).split())
        for secret in self._options.secrets:
            said = said.replace(secret, "...")
        return said[:_LONGEST]


def owner_of(key: bytes, worker: str = "") -> str:
    """The name of a crawl, or of a worker of one, that does not tell its secret key."""
    return blake2b(worker.encode(), key=key, digest_size=16, person=b"sitecrawl remote").hexdigest()


def claim(remote: Remote, owner: str) -> None:
    """Say that the place is `owner`'s, and see that nobody else has said so meanwhile. Raises `OptionError` if it is
    another's, `RemoteError` if the store cannot be written or does not answer.
    """
    mark = json.dumps({"magic": _MAGIC, "format": _FORMAT, "crawl": owner}).encode()
    found = remote.read(MARK, _LONGEST_MARK)
    if found is None:
        remote.write(MARK, mark)
        found = remote.read(MARK, _LONGEST_MARK)
    if found != mark:
        raise OptionError(
            f"{remote.url} holds the files of another crawl, or of another version: choose another SITECRAWL_REMOTE, "
            "or another directory for this crawl"
        )
