"""What a crawl was told, and how its last run ended: in its database, for whoever asks why it did what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import TERMS


class RobotsLeave(NamedTuple):
    """Where the robots.txt of hosts is not obeyed, and by whose leave, as the sheet says that names it."""

    hosts: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(self.hosts)} below {', '.join(self.paths)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Terms:
    """Those of the last run. Nothing here decides anything: a run is told anew."""

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
    """Of both, 0 for no limit."""
    order: str = ""
    agent: str = ""
    """By which robots.txt knows the crawl."""
    robots: bool = False
    """Whether robots.txt is obeyed."""
    ftp: bool = False
    """Whether FTP servers are crawled, too."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """What else decides, by names that users know: plain values, and `{"digest": ...}` in the place of secrets."""
    sheets: tuple[Mapping[str, Any], ...] = ()
    """What is otherwise for some hosts, the same way: see `sitecrawl.sheets.kept`."""
    since: tuple[str, ...] = ()
    """What of all that was otherwise in the run before, in words."""
    exceptions: tuple[RobotsLeave, ...] = ()
    """Where robots.txt is not obeyed; of several for a host the last counts."""

    def pack(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpack(cls, data: bytes) -> Terms:
        """Raises `CorruptFile`."""
        try:
            fields = json.loads(data)
            lists = {name: tuple(fields.get(name, ())) for name in ("allow", "deny", "sheets", "since")}
            given = fields.get("exceptions", ())
            leaves = tuple(RobotsLeave(tuple(names), tuple(paths), why) for names, paths, why in given)
            return cls(**{**fields, **lists, "exceptions": leaves})
        except (ValueError, TypeError, LookupError) as error:
            raise CorruptFile(f"What the crawl was told cannot be read: {error}") from error


def terms_of(database: Database) -> Terms | None:
    """Those of the crawl in `database`; None where no run has got so far. Raises `CorruptFile`."""
    data = database.get("meta", TERMS)
    return None if data is None else Terms.unpack(data)
