"""A store elsewhere, in which a file is whole or not at all.

fsspec speaks with it, so what holds for one store holds for all whose schemes `options` names: an object store shows
an object when its upload has ended; elsewhere a file is written under another name and moved. A file counts as sent
when the store was asked afterwards, and told its size and, where it tells one, its checksum.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.crawldir.durable import replaced
from sitecrawl.plugins.remote.checksums import Checksums, agree, checksums_of, part_size
from sitecrawl.plugins.remote.errors import RemoteError
from sitecrawl.plugins.remote.options import LOCAL, WHOLE, RemoteOptions

_S3: Final = frozenset({"s3", "s3a"})
_PATIENCE: Final = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 1}}
"""Seconds that S3 has to answer; s3fs itself tries again."""
_PARTS_AT_ONCE: Final = 2
_LONGEST: Final = 300
"""Characters of what a store says that are passed on."""
_ENCRYPTED: Final = ("aws:kms", "aws:kms:dsse")
_PACKAGES: Final = {"gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
                    "sftp": "paramiko", "ssh": "paramiko"}  # fmt: skip
"""What else has to be installed, besides the extra."""


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
        scheme = self._options.scheme
        if scheme in _S3:
            self._fs.put_file(str(path), url, chunksize=part_size(size), max_concurrency=_PARTS_AT_ONCE)
        elif scheme in WHOLE:
            self._fs.put_file(str(path), url)
        elif scheme in LOCAL:
            target = Path(url.partition("://")[2])
            target.parent.mkdir(parents=True, exist_ok=True)
            with path.open("rb") as source, replaced(target) as file:
                shutil.copyfileobj(source, file)
        else:
            folder, _, base = self._fs._strip_protocol(url).rpartition("/")  # noqa: SLF001 - part of every fsspec system
            self._fs.makedirs(folder, exist_ok=True)
            self._fs.put_file(str(path), f"{folder}/.{base}.part")
            self._fs.mv(f"{folder}/.{base}.part", f"{folder}/{base}")

    def _compare(self, name: str, own: Checksums) -> bool | None:
        """Whether the store has the file: False if it has another or none, None if its size is all that it tells."""
        told = self._told(name)
        if told is None:
            return False
        if self._options.scheme in LOCAL and told.get("size") == own.size:
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
        if self._options.scheme not in _S3:
            return False
        with self._errors(name):
            bucket, key, _ = self._fs.split_path(self._options.at(name))
            head = self._fs.call_s3("head_object", Bucket=bucket, Key=key)
        return head.get("ServerSideEncryption") in _ENCRYPTED or "SSECustomerAlgorithm" in head

    def _file_system(self) -> Any:
        scheme = self._options.scheme
        storage = dict(self._options.storage)
        if scheme in _S3:
            storage["config_kwargs"] = {**_PATIENCE, **storage.get("config_kwargs", {})}
        try:
            import fsspec  # noqa: PLC0415 - an extra

            kind = fsspec.get_filesystem_class(scheme)
        except ImportError as error:
            more = f", and pip install {_PACKAGES[scheme]}" if scheme in _PACKAGES else ""
            raise OptionError(f"{self.url} needs {how_to_install('remote')}{more}") from error
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
