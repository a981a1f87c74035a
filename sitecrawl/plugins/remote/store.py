"""A store elsewhere, in which a file is whole or not at all.

fsspec speaks with it: S3 shows an object when its upload has ended, and compares the checksum that it is sent with;
on a disk a file is written under another name and moved. A file counts as sent when the store was asked afterwards,
and told its size. No WARC file is ever written to again under its name.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Final, NamedTuple

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError, SitecrawlError, how_to_install
from sitecrawl.base.expressions import expression
from sitecrawl.base.secret_settings import some_secret_in
from sitecrawl.crawldir.durable import replaced
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.plugins.remote import REMOTE, REMOTE_OPTIONS

_PATIENCE: Final = {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 1}}
"""Seconds that S3 has to answer; s3fs itself tries again."""
_LONGEST: Final = 300
"""Characters of what a store says that are passed on."""
_MARK: Final = "sitecrawl.json"
"""Says whose a place in a store is, so that no crawl writes over another's files."""
_MAGIC: Final = "sitecrawl remote"
_FORMAT: Final = 1
_LONGEST_MARK: Final = 1_000
OBJECTS: Final = frozenset({"s3", "s3a"})
"""An object is there when its upload has ended, and not before."""
_FILES: Final = "file"
"""A disk, perhaps one that is shared: a file is written under another name, synced, and moved."""

_SECRET: Final = expression(r"secret|pass|token|account_key|sas_|credential|connection_string", re.IGNORECASE)
"""Names of options whose values nobody may read off a command line."""
_PASSWORD: Final = expression(r"://[^@]*:[^@]*@")
"""In a URL: what a user name would have behind it, also if it has a slash, as keys of S3 do."""
_ODD: Final = expression(r"[?#\x00-\x20\x7f]|::")
"""In a URL: what chains file systems, names a version, or nobody can type."""
_NOT_IN_A_NAME: Final = expression(r"[^A-Za-z0-9._-]+")


class RemoteError(SitecrawlError):
    """A remote store that rejects a file or does not answer."""

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal
        """Whether the store said no: another attempt would hear the same, until somebody changes something."""


class Sent(NamedTuple):
    """A file that is in the store."""

    name: str
    size: int
    """Bytes."""
    is_new: bool
    """Whether it was sent now; else it was there."""


class Remote:
    """See the module. Raises `OptionError` where a package is missing or an option is of no use."""

    def __init__(self, options: _RemoteOptions) -> None:
        self.url = options.url
        self._options = options
        self._fs = self._file_system()

    def send(self, path: Path, name: str, *, changes: bool = False) -> Sent:
        """See that the file at `path` is below the URL as `name`, in the place of another. Blocks. Raises
        `RemoteError`, and `StorageError` where the file here cannot be read.

        `changes`: what is there may be an older one of the same size, and is sent again.
        """
        with file_errors(path):
            size = path.stat().st_size
        if is_new := changes or self._size_of(name) != size:
            with self._errors(name):
                self._put(path, self._options.at(name))
            if self._size_of(name) != size:
                raise RemoteError(f"{self._options.at(name)} is not what was sent: {path} is sent again")
        return Sent(name, size, is_new)

    def check(self) -> None:
        """Raises `RemoteError` where the store does not answer, or lets nobody in."""
        self._size_of(".sitecrawl")

    def read(self, name: str, limit: int) -> bytes | None:
        """A small file: None if there is none, up to `limit` bytes. Raises `RemoteError`."""
        if self._size_of(name) is None:
            return None
        with self._errors(name), self._fs.open(self._options.at(name), "rb") as file:
            return bytes(file.read(limit))

    def write(self, name: str, data: bytes) -> None:
        """A small file, as `send` does it."""
        with tempfile.TemporaryDirectory(prefix="sitecrawl-") as folder:
            path = Path(folder, name.rpartition("/")[2])
            path.write_bytes(data)
            self.send(path, name)

    def _put(self, path: Path, url: str) -> None:
        if self._options.scheme in OBJECTS:
            self._fs.put_file(str(path), url)
            return
        target = Path(url.partition("://")[2])
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source, replaced(target) as file:
            shutil.copyfileobj(source, file)

    def _size_of(self, name: str) -> int | None:
        """Bytes of an object; None if there is none."""
        with self._errors(name):
            try:
                told: Mapping[str, Any] = self._fs.info(self._options.at(name))
            except FileNotFoundError:
                return None
            return int(told["size"]) if told.get("type") == "file" else None

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
    """A name for a crawl or worker that does not reveal its secret key."""
    return blake2b(worker.encode(), key=key, digest_size=16, person=b"sitecrawl remote").hexdigest()


def claim(remote: Remote, owner: str) -> None:
    """Say that the place is `owner`'s, and see that nobody else has said so meanwhile. Raises `OptionError` if it is
    another's, `RemoteError` if the store cannot be written or does not answer.
    """
    mark = json.dumps({"magic": _MAGIC, "format": _FORMAT, "crawl": owner}).encode()
    found = remote.read(_MARK, _LONGEST_MARK)
    if found is None:
        remote.write(_MARK, mark)
        found = remote.read(_MARK, _LONGEST_MARK)
    if found != mark:
        raise OptionError(
            f"{remote.url} holds the files of another crawl, or of another version: choose another SITECRAWL_REMOTE, "
            "or another directory for this crawl"
        )


class Elsewhere:
    """See `elsewhere` of `sitecrawl.base.plugins.Plugin`."""

    @staticmethod
    def check(url: str, settings: BaseSettings) -> None:
        """Raises `OptionError`."""
        _remote_at(settings, url.rpartition("/")[0])

    @staticmethod
    @contextmanager
    def output(url: str, settings: BaseSettings) -> Iterator[str]:
        """A file in a passing folder. When all went well it is sent, after whatever else was written there. Raises
        `SitecrawlError`.
        """
        place, _, base = url.rpartition("/")
        if not base:
            raise OptionError("The URL of an output has to end with the name of a file")
        remote = Remote(_remote_at(settings, place))
        remote.check()
        with file_errors(Path(gettempdir())), TemporaryDirectory(prefix="sitecrawl-") as folder:
            yield str(Path(folder, base))
            for path in sorted(Path(folder).iterdir(), key=lambda path: path.name == base):
                remote.send(path, path.name, changes=True)


@dataclass(frozen=True, slots=True)
class _RemoteOptions:
    """Get it by `_remote_options`, or from settings by `remote`."""

    url: str
    """Where files go, without a slash at its end."""
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What fsspec's file system takes."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that no message may have."""

    @property
    def scheme(self) -> str:
        return self.url.partition("://")[0]

    def at(self, *names: str) -> str:
        """The URL of something below this one."""
        return "/".join((self.url, *names))


def _remote_options(url: str, storage: Mapping[str, Any]) -> _RemoteOptions:
    """Raises `OptionError` for a URL or an option of no use, in words that name no secret."""
    _check(url)
    secrets: list[str] = []
    opened = dict(_opened(storage, secrets))
    return _RemoteOptions(url.rstrip("/"), opened, tuple(secrets))


def _safe_name(name: str) -> str:
    """A directory's name, made safe for a URL."""
    return _NOT_IN_A_NAME.sub("-", name).strip(".") or "crawl"


def _check(url: str) -> None:
    scheme, _, rest = url.partition("://")
    if scheme not in OBJECTS | {_FILES}:
        raise OptionError(f"A store elsewhere is a URL with one of the schemes file, s3, s3a, and not {scheme!r}")
    if _PASSWORD.search(url):
        raise OptionError(
            f"The {scheme} URL of a store elsewhere has a password in it, which logs would keep: "
            "take it out, and name a file of it in SITECRAWL_REMOTE_OPTIONS"
        )
    if _ODD.search(url):
        raise OptionError(f"The {scheme} URL of a store elsewhere has a space, a ?, a # or a :: in it: take that out")
    if not rest.strip("/"):
        raise OptionError(f"The URL {url!r} names no place in the store")
    if scheme == _FILES and not rest.startswith("/"):
        raise OptionError(f"The URL {url!r} has to begin with {scheme}:/// and a whole path")


def _opened(storage: Mapping[str, Any], secrets: list[str]) -> Iterator[tuple[str, Any]]:
    """The options with the texts of files in the places of `@FILE`; `secrets` gets these."""
    for name, value in storage.items():
        if isinstance(value, Mapping):
            yield name, dict(_opened(value, secrets))
        elif isinstance(value, str) and value.startswith("@"):
            secrets.append(some_secret_in(value[1:], f"SITECRAWL_REMOTE_OPTIONS: {name}"))
            yield name, secrets[-1]
        elif isinstance(value, str) and value and _SECRET.search(name):
            raise OptionError(
                f"SITECRAWL_REMOTE_OPTIONS: {name} is a secret, which others can read off a command line: "
                "write it into a file, and name that as @FILE"
            )
        elif isinstance(value, str) and _PASSWORD.search(value):
            raise OptionError(
                f"SITECRAWL_REMOTE_OPTIONS: {name} has a password in its URL, which logs would keep: write the URL "
                "into a file, and name that as @FILE"
            )
        else:
            yield name, value


def remote(settings: BaseSettings, *places: str) -> _RemoteOptions:
    """Where a crawl's files go besides its directory, `places` below SITECRAWL_REMOTE. Raises `OptionError`."""
    if not (url := REMOTE.read(settings)):
        raise OptionError("Say where to: -s SITECRAWL_REMOTE=s3://BUCKET/PREFIX")
    return _remote_at(settings, "/".join((url.rstrip("/"), *map(_safe_name, places))))


def _remote_at(settings: BaseSettings, url: str) -> _RemoteOptions:
    """The store at `url`, with the options that the settings have for all. Raises `OptionError`."""
    try:
        storage = REMOTE_OPTIONS.read(settings)
    except (TypeError, ValueError) as error:
        raise OptionError("SITECRAWL_REMOTE_OPTIONS has to be a mapping, or the JSON of one") from error
    return _remote_options(url, storage)
