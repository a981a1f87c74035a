"""Data passed between parts: a link, an HTTP exchange, and the page that a spider makes of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import ItemsView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sitecrawl.base.limits import AnyLimit

Headers = Sequence[tuple[bytes, bytes]]


def pairs(headers: Mapping[bytes, list[bytes]]) -> Headers:
    """Pairs of names and values of Scrapy's `Headers`, without its slow look-ups by name."""
    stored: ItemsView[bytes, list[bytes]] = dict.items(headers)  # type: ignore[arg-type]
    return [(name, value) for name, values in stored for value in values]


FOLLOW, NOFOLLOW = 10, 1
"""Weight of a link, in tenths."""


@dataclass(slots=True)
class Link:
    """One target of a page's links, or a URL found elsewhere."""

    url: str
    """Absolute and normalised, without fragment: what is fetched."""
    host: str
    """Of `url`: host name and, where it is not the scheme's own, port."""
    text: str = ""
    """The first link's text, whitespace collapsed, at most 200 characters."""
    kind: str = "a"
    """What the first link was: `a`, `area`, `frame`, `iframe`, `refresh`, `header`, or `<link>`'s relation:
    `canonical`, `alternate`, `next`, `prev`. What a page is made of has a kind of `sitecrawl.page.requisites`."""
    nofollow: bool = False
    """Whether every link to the target was `nofollow`, `ugc` or `sponsored`."""
    priority: int = 0
    """Priority as of a `scrapy.Request`, set by the spider: greater first, in every order."""
    score: float = 0.0
    """The spider's score for the order `best`: greater first."""
    key: bytes = b""
    """Fingerprint of `url` in the frontier; empty until the link is given to it."""

    @property
    def weight(self) -> int:
        return NOFOLLOW if self.nofollow else FOLLOW


class _Digested:
    """Caches the SHA-1 of a body. Not a field, so a copy computes its own."""

    __slots__ = ("_sha1",)
    body: bytes
    _sha1: bytes

    @property
    def sha1(self) -> bytes:
        """SHA-1 of `body`, for page store and duplicate search."""
        try:
            return self._sha1
        except AttributeError:
            digest = sha1(self.body)
            object.__setattr__(self, "_sha1", digest)
            return digest


@dataclass(frozen=True, slots=True)
class Exchange(_Digested):
    """One HTTP request and its response, as near to the wire as the HTTP client shows it.

    Or what came over FTP, in the same fields: its only header is a Content-Type.
    """

    url: str
    """The requested URL, without fragment."""
    started: float
    """Unix time at which the request was sent, in seconds."""
    seconds: float
    """Seconds from sending the request to the last byte of the body."""
    status: int
    request_headers: Headers
    headers: Headers
    """The response's headers; Content-Encoding still describes `body`."""
    body: bytes
    """The payload as transferred: content coding still applied, transfer coding not."""
    method: str = "GET"
    request_body: bytes = b""
    protocol: str = "HTTP/1.1"
    ip: str | None = None

    @property
    def is_resource(self) -> bool:
        """Whether it is a resource without an HTTP message: from FTP, or made by a browser."""
        return self.url.startswith(("ftp:", "urn:"))


def sha1(data: bytes) -> bytes:
    """SHA-1 of `data`, 20 bytes, by which bodies are identified everywhere, as in WARC files. Nobody can make a
    body for a given one.
    """
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _lossy_text(body: bytes) -> str:
    # A serializer sees no other field, so it knows no charset. The exact bytes are in the page store.
    return body.decode("utf-8", errors="replace")


def _addresses(links: Sequence[Link]) -> list[str]:
    return [link.url for link in links]


def _hexadecimal(number: int | None) -> str | None:
    return None if number is None else f"{number:016x}"


def _summary(exchange: Exchange | None) -> dict[str, object] | None:
    if exchange is None:
        return None
    names = ("method", "protocol", "ip", "seconds")
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in exchange.headers]
    return {**{name: getattr(exchange, name) for name in names}, "headers": headers}


class Sent(NamedTuple):
    """The body as sent, if the page's body was made from it by a browser."""

    size: int
    """Size in bytes without content coding."""
    charset: str | None


class _Sampled:
    """Attributes of an item that are no fields, so that feeds lack them."""

    __slots__ = ("sample",)
    sample: bytes | None
    """Sample of an HTML page's text (`sitecrawl.page.shingles`) by which repeated text is recognised. Empty
    without text; None if not taken."""

    def __post_init__(self) -> None:
        self.sample = b""

    def says(self, sample: bytes | None) -> None:
        self.sample = sample


@dataclass(slots=True)
class PageItem(_Sampled):
    """A URL-page pair: one response that reached a spider, with the facts that were read off it.

    `serializer` is how Scrapy's feed exports write a field that is no plain value.
    """

    url: str
    """The URL as it was fetched."""
    status: int = 0
    fetched: float = 0.0
    """Unix time of the request, in seconds."""
    depth: int = 0
    """Links from the nearest seed; a seed has 0."""
    referrer: str | None = None
    """The page on which the URL was first found; None for a seed."""
    content_type: str = ""
    """The media type, lower case, without parameters."""
    charset: str | None = None
    """WHATWG name of the encoding in which `body` is text; None for what is not text."""
    language: str | None = None
    """Declared language in two or three letters, such as `en`; None if not declared."""
    title: str | None = None
    canonical: str | None = None
    """The page's own canonical address (`rel=canonical`): absolute, normalised."""
    base: str = field(default="", repr=False)
    """Base URL of relative links."""
    noindex: bool = False
    nofollow: bool = False
    """Whether the page declares all its links `nofollow`."""
    size: int = 0
    """Length of `body` in bytes."""
    body: bytes = field(default=b"", repr=False, metadata={"serializer": _lossy_text})
    """The body with content coding removed."""
    sent: Sent | None = field(default=None, repr=False)
    """The body as sent, if `body` was made by a browser (`SITECRAWL_RENDER`); else None."""
    quarantined: str = ""
    """Why reading it broke its process; then it has neither body nor links, and only `exchange` has its bytes.
    Else empty."""
    text_hash: int | None = field(default=None, repr=False, metadata={"serializer": _hexadecimal})
    """The SimHash of an HTML page's text (`sitecrawl.page.simhash`): pages that differ in few bits are near
    duplicates. None for what has no text."""
    links: list[Link] = field(default_factory=list, repr=False, metadata={"serializer": _addresses})
    """Links in document order, headers first, one a target. Errors have none."""
    hrefs: int = 0
    """Number of links, repeated ones included."""
    requisites: list[Link] = field(default_factory=list, repr=False, metadata={"serializer": _addresses})
    """Requisites in document order, one a target; empty unless wanted (`SITECRAWL_REQUISITES`). Of a style
    sheet, those it names."""
    key: bytes = field(default=b"", repr=False, metadata={"serializer": bytes.hex})
    """The URL's fingerprint in the frontier; empty if a spider made the item by hand."""
    exchange: Exchange | None = field(default=None, repr=False, metadata={"serializer": _summary})
    """The exchange; None if a spider made the item by hand."""

    @property
    def sha1(self) -> bytes:
        """SHA-1 of `body`; the exchange's if there was no content coding."""
        exchange = self.exchange
        return exchange.sha1 if exchange is not None and exchange.body is self.body else sha1(self.body)

    @property
    def text(self) -> str:
        """The body as text; invalid bytes become U+FFFD."""
        return self.body.decode(self.charset or "utf-8", errors="replace")


@dataclass(slots=True)
class Reading:
    """A page as read, and the limits that it exceeded."""

    page: PageItem
    met: Counter[AnyLimit] = field(default_factory=Counter)
