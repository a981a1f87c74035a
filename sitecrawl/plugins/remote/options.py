"""Which store, and how to get in: URL and storage options, checked before anything is asked of the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.base.expressions import expression
from sitecrawl.base.secret_files import some_secret_in
from sitecrawl.plugins.remote import REMOTE, REMOTE_OPTIONS

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


@dataclass(frozen=True, slots=True)
class RemoteOptions:
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


def _remote_options(url: str, storage: Mapping[str, Any]) -> RemoteOptions:
    """Raises `OptionError` for a URL or an option of no use, in words that name no secret."""
    _check(url)
    secrets: list[str] = []
    opened = dict(_opened(storage, secrets))
    return RemoteOptions(url.rstrip("/"), opened, tuple(secrets))


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


def remote(settings: BaseSettings, *places: str) -> RemoteOptions:
    """Where a crawl's files go besides its directory, `places` below SITECRAWL_REMOTE. Raises `OptionError`."""
    if not (url := REMOTE.read(settings)):
        raise OptionError("Say where to: -s SITECRAWL_REMOTE=s3://BUCKET/PREFIX")
    return remote_at(settings, "/".join((url.rstrip("/"), *map(_safe_name, places))))


def remote_at(settings: BaseSettings, url: str) -> RemoteOptions:
    """The store at `url`, with the options that the settings have for all. Raises `OptionError`."""
    try:
        storage = REMOTE_OPTIONS.read(settings)
    except (TypeError, ValueError) as error:
        raise OptionError("SITECRAWL_REMOTE_OPTIONS has to be a mapping, or the JSON of one") from error
    return _remote_options(url, storage)
