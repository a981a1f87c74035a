"""Arguments and settings of a crawl's last run, and how it ended: kept in its database.

`Terms` is for `scrapy why`, `Given` for whoever runs the crawl again without naming its arguments. Both are JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.secret_settings import masked
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import ARGUMENTS, TERMS
from sitecrawl.crawldir.participant import Participant


class RobotsLeave(NamedTuple):
    """Permission of a sheet not to obey the robots.txt of hosts, with its reason."""

    hosts: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(self.hosts)} below {', '.join(self.paths)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of the last run. They decide nothing: each run gets its own."""

    begun: float = 0.0
    """Unix time, in seconds."""
    ended: float = 0.0
    """The same; 0 while it runs, and where it was killed."""
    reason: str = ""
    """Scrapy's finish reason; empty before the end."""
    scope: str = ""
    """The kind of the spider's scope; empty for a spider that has another one of its own, or none."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_pages: int = 0
    max_depth: int = 0
    """0 means no limit, for both."""
    order: str = ""
    agent: str = ""
    """Name of the crawler in robots.txt."""
    robots: bool = False
    """Whether robots.txt is obeyed."""
    ftp: bool = False
    """Whether FTP servers are crawled, too."""
    frontier: str = ""
    """Class of the project's own frontier; empty for ours."""
    sheets: tuple[Mapping[str, Any], ...] = ()
    """Of each sheet, what decides which URLs are fetched."""
    exceptions: tuple[RobotsLeave, ...] = ()
    """Exceptions from robots.txt; the last one for a host counts."""

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data: bytes) -> Terms:
        """Raises `CorruptFile`."""
        try:
            fields = json.loads(data)
            lists = {name: tuple(fields.get(name, ())) for name in ("allow", "deny", "sheets")}
            given = fields.get("exceptions", ())
            leaves = tuple(RobotsLeave(tuple(names), tuple(paths), why) for names, paths, why in given)
            return cls(**{**fields, **lists, "exceptions": leaves})
        except (ValueError, TypeError, LookupError) as error:
            raise CorruptFile(f"What the crawl was told cannot be read ({error}): its next run writes it") from error


def terms_of(database: Database) -> Terms | None:
    """Terms of the crawl in `database`; None before the first. Raises `CorruptFile`."""
    data = database.get("meta", TERMS)
    return None if data is None else Terms.unpack(data)


class Given(Participant):
    """Stores `arguments` as they were typed, without those that have a password."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        kept = {name: text for name, text in arguments.items() if isinstance(text, str)}
        self._arguments = {name: text for name, text in kept.items() if masked(f"{name}={text}") == f"{name}={text}"}
        self._is_new = True

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", ARGUMENTS, json.dumps(self._arguments).encode())

    def committed(self) -> None:
        self._is_new = False


def given_to(database: Database) -> dict[str, str]:
    """Arguments of the last run; empty if there was none. Raises `CorruptFile`."""
    data = database.get("meta", ARGUMENTS)
    if data is None:
        return {}
    try:
        return {str(name): str(text) for name, text in json.loads(data).items()}
    except (ValueError, AttributeError) as error:
        raise CorruptFile(f"The arguments of the crawl in {database.path} cannot be read: {error}") from error
