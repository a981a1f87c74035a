"""What a store elsewhere has, as the crawl's database knows it: under `remote/` in its family `meta`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.meta import REMOTE
from sitecrawl.plugins.remote.store import Sent

_WARC: Final = "warc/"
"""With that begin the names of WARC files."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Of a file."""

    at: str
    """The URL that it is below."""
    state: str
    """The file's when it was sent."""
    compared: bool
    """Whether the store told a checksum."""
    noted: float
    """Unix time."""


class Confirmed:
    """The files that are below `url`."""

    def __init__(self, url: str, database: Database) -> None:
        self._url = url
        self._files = {name: row for name, row in _rows(database) if row.at == url}

    @property
    def warc_files(self) -> int:
        return sum(name.startswith(_WARC) for name in self._files)

    def has(self, name: str, state: str) -> bool:
        """Whether the file was in that state, its size or what else changes with it, when it was sent."""
        return name in self._files and self._files[name].state == state

    def note(self, batch: Batch, state: str, sent: Sent) -> None:
        """With the next batch. In memory at once: where the batch fails, there is no other in this run."""
        row = self._files[sent.name] = _Row(self._url, state, sent.is_compared, time.time())
        batch.put("meta", REMOTE + sent.name.encode(), json.dumps(asdict(row)).encode())


def _rows(database: Database) -> Iterator[tuple[str, _Row]]:
    try:
        for key, value in database.scan("meta", REMOTE, next_prefix(REMOTE)):
            yield key[len(REMOTE) :].decode(), _Row(**json.loads(value))
    except (ValueError, TypeError) as error:
        raise CorruptFile(
            f"{database.path} says of files elsewhere what cannot be read ({error}): restore it from a copy"
        ) from error
