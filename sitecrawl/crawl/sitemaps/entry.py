"""Entries of a sitemap, and facts about it as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from typing import Final

from sitecrawl.base.limits import SITEMAP_ENTRIES, SITEMAP_SIZE
from sitecrawl.urls.url import Url

PROTOCOL_BYTES: Final = 50 << 20
"""Unpacked bytes that a sitemap may have (sitemaps.org, "Sitemap file location")."""
PROTOCOL_ENTRIES: Final = 50_000


class Form(Enum):
    """Format of a sitemap."""

    UNKNOWN = "unknown"
    """No sitemap: it lists no pages."""
    URLSET = "urlset"
    INDEX = "index"
    RSS = "rss"
    """RSS 0.9 to 2.0, RDF included."""
    ATOM = "atom"
    TEXT = "text"
    JSON = "json"
    """JSON Feed."""
    HTML = "html"

    @property
    def is_feed(self) -> bool:
        """Whether it lists only the newest pages, so that the site may have a sitemap as well."""
        return self in {Form.RSS, Form.ATOM, Form.JSON}


class Problem(Flag):
    """Problems of a sitemap that was read nevertheless."""

    NONE = 0
    LARGE = auto()
    """More than `PROTOCOL_BYTES`."""
    LONG = auto()
    """More than `PROTOCOL_ENTRIES`."""
    CUT = auto()
    """Cut at the hard limits."""
    TORN = auto()
    """It ends within an entry, or its gzip stream or its JSON is damaged."""
    ENTITIES = auto()
    """It declares entities. They are not expanded, and URLs with them are skipped."""


@dataclass(slots=True)
class Entry:
    """One URL that a sitemap lists."""

    url: Url
    is_sitemap: bool = False
    """Whether it is a sitemap itself, and no page."""
    lastmod: float | None = None
    """Date of the last change or publication by the sitemap: Unix time in seconds."""
    changefreq: str | None = None
    """`always` to `never`, as the sitemap says."""
    alternates: list[Url] = field(default_factory=list)
    """The same page in other languages or for other devices."""
    media: list[Url] = field(default_factory=list)
    """Images and videos on the page."""


@dataclass(slots=True)
class ParseReport:
    """Facts about a whole sitemap, filled in while it is read."""

    form: Form = Form.UNKNOWN
    size: int = 0
    """Unpacked bytes."""
    entries: int = 0
    skipped: int = 0
    """Entries without a valid URL."""
    wrong: str = ""
    """Text of the first invalid URL."""
    problems: Problem = Problem.NONE

    def skip(self, text: str) -> None:
        """Count an entry with the invalid URL `text`."""
        self.skipped += 1
        self.wrong = self.wrong or text


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits on reading."""

    max_bytes: int = SITEMAP_SIZE.value
    """Unpacked: ten times the protocol's."""
    max_entries: int = SITEMAP_ENTRIES.value
    """A hundred times the protocol's."""
