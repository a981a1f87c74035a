"""A sitemap's record, and its form on disk (docs/formats/database.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, Final

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.sitemaps.entry import Form, Problem
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.urls.url import site_of

NEVER: Final = float("inf")
MAX_NEWS: Final = 20
"""Visits whose new links are remembered one by one."""


class SitemapKind(IntEnum):
    """What is expected at an address."""

    SITEMAP = 0
    """Pages, and other sitemaps."""
    ROBOTS = 1
    """`Sitemap:` lines."""
    FRONT = 2
    """Links that are called a site map."""
    MISSING = 3
    """Nothing: how the host answers an address that cannot exist."""


class SitemapState(IntEnum):
    OPEN = 0
    """Not visited yet."""
    VALID = 1
    """It lists something, or did when it last could be read."""
    INVALID = 2
    """There is no sitemap."""
    MOVED = 3
    """It is at another address, which has its own record."""


@dataclass(slots=True)
class SitemapRecord:
    """One address at which new links are looked for. Times are Unix seconds."""

    url: str
    host: str
    """Of `url`, with its port where that is not the scheme's own."""
    kind: SitemapKind = SitemapKind.SITEMAP
    how: How = How.HAND
    parent: str = ""
    """What named it."""
    vouchers: list[str] = field(default_factory=list)
    """Hosts whose robots.txt names it, or the index that it is part of."""
    found: float = 0.0
    state: SitemapState = SitemapState.OPEN
    form: Form = Form.UNKNOWN
    problems: Problem = Problem.NONE
    visits: int = 0
    successes: int = 0
    """Visits that brought a sitemap, or a 304."""
    unchanged: int = 0
    """Of these, those that found it unchanged."""
    failures: int = 0
    """Failures in a row."""
    visited: float = 0.0
    """The last visit's end; 0 before any."""
    latency: float = 0.0
    """Seconds that a visit takes, as a mean in which the last one counts a quarter."""
    etag: str = ""
    modified: str = ""
    """The last Last-Modified header."""
    digest: bytes = b""
    """BLAKE2b-128 of the last body: a server that knows no ETag may send the same again."""
    lastmod: float = 0.0
    """When it last changed, as its index says; 0 if that does not."""
    entries: int = 0
    """Entries at the last successful visit, like the next three fields."""
    alien: int = 0
    """Entries that it has no authority for."""
    skipped: int = 0
    """Entries that are no URL."""
    newest: float = 0.0
    """The newest `lastmod` of an entry; 0 without any."""
    new: int = 0
    """Links that were new, over all visits."""
    news: list[tuple[float, int]] = field(default_factory=list)
    """Time and number of new links of each of the last visits."""
    judged: int = 0
    """Pages fetched that were first seen in it."""
    good: int = 0
    """Good ones among these."""
    right: float = 0.0
    """How often its dates and frequencies proved true; what is old counts less."""
    wrong: float = 0.0
    gain: float = 0.0
    """New links of the visits after the first; what is old counts less."""
    watched: float = 0.0
    """Seconds over which these came."""
    claimed: float = 0.0
    """New links a second by its own dates and frequencies."""
    next_visit: float = NEVER
    status: int = 0
    """The last answer's; 0 before any, and where none came."""
    final: str = ""
    """The last answer's address."""
    text_hash: int = 0
    """SimHash of the last answer's text, where that was a page."""
    origin: str = ""
    """What redirected here; asked again when this fails."""
    hops: int = 0
    """Redirects that led here."""
    unfinished: int = 0
    """Links that were new, of a visit that is not over."""
    listed: bytes = b""
    """Where many workers share a crawl: four bytes for each of the first links of the last visit that brought it."""
    left: int = 0
    """Sitemaps that it names, left out for want of budget."""

    @property
    def site(self) -> str:
        """Site whose budget pays for it: that of the first voucher, or its own."""
        return site_of(self.vouchers[0] if self.vouchers else self.host)

    @property
    def is_guess(self) -> bool:
        """Whether it is a guessed address at which no sitemap was found."""
        return self.kind == SitemapKind.MISSING or (self.how == How.USUAL and self.state != SitemapState.VALID)

    @property
    def spam_share(self) -> float:
        """Share of its entries without authority."""
        return self.alien / (self.entries + self.alien) if self.alien else 0.0

    @property
    def good_share(self) -> float:
        """Share of good pages; 1 if none was fetched."""
        return (self.good + 1) / (self.judged + 1)

    @property
    def success_rate(self) -> float:
        return self.successes / self.visits if self.visits else 0.0

    def pack(self) -> bytes:
        """A MessagePack map of what differs from a new record."""
        values = {name: getattr(self, name) for name in _NAMES}
        changed = {name: _plain(value) for name, value in values.items() if value != _NEW[name]}
        packed: bytes = msgpack.packb(changed)
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> SitemapRecord:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            found = msgpack.unpackb(data)
            for name, make in _MAKERS.items():
                if name in found:
                    found[name] = make(found[name])
            return cls(**found)
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"A sitemap record of {len(data)} bytes cannot be read: {error}") from error


def _news(pairs: Any) -> list[tuple[float, int]]:
    return [(at, count) for at, count in pairs]


_NAMES: Final = tuple(f.name for f in fields(SitemapRecord))
_NEW: Final = {name: getattr(SitemapRecord("", ""), name) for name in _NAMES}
_MAKERS: Final = {
    "kind": SitemapKind,
    "how": How,
    "state": SitemapState,
    "form": Form,
    "problems": Problem,
    "news": _news,
}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, (SitemapKind, How, SitemapState, Form, Problem)) else value
