"""What travels between the parts: a link, an HTTP exchange, and the page that a spider makes of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import ItemsView, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sitecrawl.base.limits import AnyLimit

Headers = Sequence[tuple[bytes, bytes]]


def pairs(headers: Mapping[bytes, list[bytes]]) -> Headers:
    """Scrapy's `Headers`, each value with its name, past the methods that look every name up again."""
    stored: ItemsView[bytes, list[bytes]] = dict.items(headers)  # type: ignore[arg-type]
    return [(name, value) for name, values in stored for value in values]


FOLLOW, NOFOLLOW = 10, 1
"""What a link counts, in tenths."""


@dataclass(slots=True)
class Link:
    """One target that a page links to, however often it does; or a URL that someone found elsewhere."""

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
    """As of a `scrapy.Request`, for the spider to set: the greatest is fetched first, whatever the crawl's order."""
    score: float = 0.0
    """The spider's own, for the order `best`, in which the greatest is fetched first."""
    key: bytes = b""
    """The fingerprint of `url`, by which the frontier knows it: empty until the link is handed over."""

    @property
    def weight(self) -> int:
        return NOFOLLOW if self.nofollow else FOLLOW


class _Digested:
    """Has a body whose SHA-1 is taken once. No field: what is made again of its fields takes it anew."""

    __slots__ = ("_sha1",)
    body: bytes
    _sha1: bytes

    @property
    def sha1(self) -> bytes:
        """Of `body`: the page store and the search for duplicates both want it."""
        try:
            return self._sha1
        except AttributeError:
            digest = sha1(self.body)
            object.__setattr__(self, "_sha1", digest)
            return digest


@dataclass(frozen=True, slots=True)
class Exchange(_Digested):
    """One HTTP request and what came back, as near to the wire as the HTTP client shows it.

    Or what came over FTP, told in the same words: of headers it has a Content-Type.
    """

    url: str
    """The URL that was asked for, without fragment."""
    started: float
    """Unix time at which the request was sent, in seconds."""
    seconds: float
    """From sending the request to the last byte of the body."""
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
        """Whether it is the thing itself, without a message around it: of FTP, or what a browser made."""
        return self.url.startswith(("ftp:", "urn:"))


def sha1(data: bytes) -> bytes:
    """20 bytes. WARC files have it, so bodies are known by it everywhere. Nobody can make a body for a given one."""
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
    """The body that came, where a page has another: what a browser made of that."""

    size: int
    """Without content coding."""
    charset: str | None


class _Sampled:
    """What is no field of an item, and so in no feed."""

    __slots__ = ("sample",)
    sample: bytes | None
    """Of an HTML page's text (`sitecrawl.page.shingles`), by which what it says is known again. Empty for what has no
    text; None where it was not taken."""

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
    """What it declares to be written in, in two or three letters, such as `en`; None where it says nothing."""
    title: str | None = None
    canonical: str | None = None
    """What the page itself calls its address (`rel=canonical`): absolute, normalised."""
    base: str = field(default="", repr=False)
    """What relative links are relative to."""
    noindex: bool = False
    nofollow: bool = False
    """The page's author stands by none of its links."""
    size: int = 0
    """Length of `body` in bytes."""
    body: bytes = field(default=b"", repr=False, metadata={"serializer": _lossy_text})
    """The body with content coding removed."""
    sent: Sent | None = field(default=None, repr=False)
    """What came, where `body` is what a browser made of it (`SITECRAWL_RENDER`); None of all other pages."""
    quarantined: str = ""
    """Why nothing could be read off it, in a process that did not survive it: then it has neither body nor links, and
    its bytes are in `exchange` alone. Empty for all other pages."""
    text_hash: int | None = field(default=None, repr=False, metadata={"serializer": _hexadecimal})
    """The SimHash of an HTML page's text (`sitecrawl.page.simhash`): pages that differ in few bits are near
    duplicates. None for what has no text."""
    links: list[Link] = field(default_factory=list, repr=False, metadata={"serializer": _addresses})
    """In the order in which they stand: headers first, one a target. None of an error."""
    hrefs: int = 0
    """How many links there are if each counts as often as it stands there."""
    requisites: list[Link] = field(default_factory=list, repr=False, metadata={"serializer": _addresses})
    """What it is made of, in the order in which it stands, one a target; nothing unless it is wanted
    (`SITECRAWL_REQUISITES`). Of a style sheet what that names."""
    key: bytes = field(default=b"", repr=False, metadata={"serializer": bytes.hex})
    """The URL's fingerprint in the frontier; empty where a spider made the item by hand."""
    exchange: Exchange | None = field(default=None, repr=False, metadata={"serializer": _summary})
    """The exchange as it went over the wire; None where a spider made the item by hand."""

    @property
    def sha1(self) -> bytes:
        """Of `body`. What came without a content coding has its exchange's."""
        exchange = self.exchange
        return exchange.sha1 if exchange is not None and exchange.body is self.body else sha1(self.body)

    @property
    def text(self) -> str:
        """The body as text; what does not decode becomes U+FFFD."""
        return self.body.decode(self.charset or "utf-8", errors="replace")


@dataclass(slots=True)
class Reading:
    """A page that was read, and the limits that it went beyond."""

    page: PageItem
    met: Counter[AnyLimit] = field(default_factory=Counter)
