"""Entries of a sitemap with their dates and URLs, and facts about it as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, Flag, auto
from typing import Final

from sitecrawl.base.limits import SITEMAP_ENTRIES, SITEMAP_SIZE
from sitecrawl.urls.url import Url, parse, parse_or_none

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


_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?").fullmatch
_MAX_LENGTH = 64


def unix_time(text: str) -> float | None:
    """Unix seconds of a W3C date (ISO 8601) or a mail date (RFC 822); None for what is neither.

    What names no zone is UTC, what names no day the first one.
    """
    text = text.strip()
    if not text or len(text) > _MAX_LENGTH or not text.isascii():
        return None
    try:
        return _seconds(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    try:
        if match := _YEAR_OR_MONTH(text):
            return _seconds(datetime(int(match[1]), int(match[2] or 1), 1, tzinfo=UTC))
        return _seconds(parsedate_to_datetime(text))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_WEB: Final = ("http://", "https://", "HTTP://", "HTTPS://")


class Resolver:
    """Makes URLs of texts in a sitemap at `base`; without `base` only of absolute ones."""

    def __init__(self, base: str | None) -> None:
        self._base = base
        self._bare: tuple[str, ...] = ("www.",)
        if base is not None:
            self._bare += (parse(base).host + "/",)

    def rebase(self, base: str) -> None:
        """Make later URLs relative to `base`, which may be relative itself."""
        if base and (url := self.url(base)) is not None:
            self._base = url.href

    def url(self, text: str, *, absolute: bool = False) -> Url | None:
        """The http(s) URL of `text`; None for others. `absolute`: no relative one."""
        if text.startswith(_WEB):
            return parse_or_none(text)
        if absolute or not text or self._base is None:
            return None
        if text.startswith(self._bare):  # a relative URL by the letter, an absolute one by intention
            return parse_or_none(f"{self._base.partition(':')[0]}://{text}")
        return parse_or_none(text, self._base)
