"""Whose a place in a store is: `sitecrawl.json` says it, so that no crawl writes over another's files."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Final

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.remote.store import Remote

MARK: Final = "sitecrawl.json"
_MAGIC: Final = "sitecrawl remote"
_FORMAT: Final = 1
_LONGEST: Final = 1_000


def owner_of(key: bytes, worker: str = "") -> str:
    """The name of a crawl, or of a worker of one, that does not tell its secret key."""
    return blake2b(worker.encode(), key=key, digest_size=16, person=b"sitecrawl remote").hexdigest()


def claim(remote: Remote, owner: str) -> None:
    """Say that the place is `owner`'s, and see that nobody else has said so meanwhile. Raises `OptionError` if it is
    another's, `RemoteError` if the store cannot be written or does not answer.
    """
    mark = json.dumps({"magic": _MAGIC, "format": _FORMAT, "crawl": owner}).encode()
    found = remote.read(MARK, _LONGEST)
    if found is None:
        remote.write(MARK, mark)
        found = remote.read(MARK, _LONGEST)
    if found != mark:
        raise OptionError(
            f"{remote.url} holds the files of another crawl, or of another version: choose another SITECRAWL_REMOTE, "
            "or another directory for this crawl"
        )
