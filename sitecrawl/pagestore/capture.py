"""A row of the page index: a capture, that is one response at one time.

SQLite has no checksums, and takes any value in any column, so a damaged row would come back as a row. Hence each row
has a checksum; of a sum over rows only the type can be checked.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, get_args, get_type_hints

from sitecrawl.page.directives import redirect_target
from sitecrawl.page.items import Exchange, Link, PageItem
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore.lookup import host_of, url_key
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT, CaptureKind, urn
from sitecrawl.urls.url import MAX_URL_LENGTH, site_of


class LinkCounts(NamedTuple):
    """Link counts of one page. All but the first count a canonical URL once."""

    hrefs: int | None = None
    """Links on the page, repeated ones included."""
    links: int | None = None
    """Distinct URLs that it links to."""
    host_links: int | None = None
    """Links to its own host, with the same port."""
    site_links: int | None = None
    """Links to its site: its registrable domain, if it has one."""
    worker_links: int | None = None
    """Links to sites of the storing worker; None in a single process."""


_FEW: Final = 8
"""Hosts whose links are counted one host after the other."""
NO_COUNTS = LinkCounts()
"""Counts of anything but a page of HTML whose links were read."""


@dataclass(frozen=True, slots=True)
class LinkCounter:
    """Counts the links of pages. `identity`: same value for all forms of a URL, as `Link.key`; `is_here`:
    whether a host belongs to this worker.
    """

    identity: Callable[[str], Hashable] = url_key
    is_here: Callable[[str], bool] | None = None

    def count(self, page: PageItem, host: str) -> LinkCounts:
        """Count the links of `page`, which is on `host`."""
        if page.content_type not in HTML or page.quarantined or not 200 <= page.status < 300:
            return NO_COUNTS
        hosts = self._hosts(page.links)
        site = site_of(host)
        near = sum(number for name, number in hosts.items() if name and site_of(name) == site)
        hrefs = max(page.hrefs, len(page.links))  # whoever made the page by hand may have left them out
        return LinkCounts(hrefs, sum(hosts.values()), hosts.get(host, 0), near, self._here(hosts, site))

    def _hosts(self, links: Sequence[Link]) -> dict[str, int]:
        """How many targets each host has."""
        keys = {link.key for link in links}
        if len(keys) == len(links) and b"" not in keys:
            names = [link.host for link in links]
        else:
            names = [*{link.key or self.identity(link.url): link.host for link in links}.values()]
        distinct = set(names)  # of nearly all pages so few that a `Counter` would take three times as long
        return {name: names.count(name) for name in distinct} if len(distinct) <= _FEW else Counter(names)

    def _here(self, hosts: Mapping[str, int], site: str) -> int | None:
        if self.is_here is None:
            return None
        return sum(n for name, n in hosts.items() if name and (site_of(name) == site or self.is_here(name)))


BY_URL: Final = LinkCounter()
"""Counter without fingerprints and workers."""


MAX_TITLE = 2_000
"""Characters of a title that are kept."""


class Capture(NamedTuple):
    """One response as the index has it. The fields are the columns of `pages`, in their order."""

    id: int
    """Number of the capture, from 1 without gaps."""
    url: str
    """URL as fetched."""
    url_key: str
    """The canonical URL, for look-ups."""
    host: str
    """Host, with the port if it is not the scheme's own."""
    fetched: float
    """Unix time of the request, in seconds."""
    seconds: float
    """Duration of the download."""
    method: str
    status: int
    kind: CaptureKind
    content_type: str
    """Media type, lower case, without parameters; empty if unknown."""
    charset: str | None
    size: int | None
    """Bytes of the body with content coding removed; None where no spider saw it."""
    payload_size: int
    """Bytes of the body as transferred."""
    digest: str
    """SHA-1 of the body as transferred, base32."""
    title: str | None
    depth: int | None
    referrer: str | None
    canonical: str | None
    noindex: int | None
    """1 where the page asked not to be indexed."""
    redirect_to: str | None
    warc_file: str
    warc_offset: int
    """Offset in bytes of the gzip member of the response (or revisit) record."""
    warc_length: int
    """Bytes of that member."""
    revisit_of: int | None
    """Id of the capture that holds the same body; None where this one has its own."""
    importance: float | None
    """Share of all credit, from 0 to 1; None where it was not computed."""
    language: str | None
    """Declared language, two or three letters."""
    hrefs: int | None
    """Links on the page, repeated ones included. For this and the following see `LinkCounts`."""
    links: int | None
    host_links: int | None
    site_links: int | None
    worker_links: int | None


class Place(NamedTuple):
    """Place of a response's record."""

    warc_file: str
    warc_offset: int
    warc_length: int
    digest: str
    revisit_of: int | None


def describe(
    number: int,
    exchange: Exchange,
    page: PageItem | None,
    place: Place,
    kind: CaptureKind | None = None,
    *,
    counter: LinkCounter = BY_URL,
) -> Capture:
    """The row of an exchange. `page`: what a spider read, if one did; `kind` if that does not follow from it."""
    key = url_key(exchange.url)
    host = clean_text(host_of(key))
    sent = page.sent or page if page else None
    # By position, in the order of the fields: with thirty names the call costs more than what it is given.
    return Capture(
        number,
        clean_text(exchange.url),
        clean_text(key),
        host,
        exchange.started,
        exchange.seconds,
        exchange.method,
        exchange.status,
        kind or kind_of(exchange, page),
        clean_text(page.content_type if page else _media_type(exchange))[:255],
        sent.charset if sent else None,
        sent.size if page and sent and not page.quarantined else None,
        len(exchange.body),
        place.digest,
        clean_text(page.title)[:MAX_TITLE] if page and page.title is not None else None,
        page.depth if page else None,
        address(page.referrer) if page else None,
        address(page.canonical) if page else None,
        int(page.noindex) if page else None,
        address(_redirect_to(exchange)),
        place.warc_file,
        place.warc_offset,
        place.warc_length,
        place.revisit_of,
        None,
        page.language if page else None,
        *(counter.count(page, host) if page else NO_COUNTS),
    )


def _redirect_to(exchange: Exchange) -> str | None:
    target = redirect_target(exchange.headers, exchange.url) if 300 <= exchange.status < 400 else None
    return target.href if target is not None else None


def _media_type(exchange: Exchange) -> str:
    return _header(exchange, b"content-type").partition(";")[0].strip().lower()


def _header(exchange: Exchange, name: bytes) -> str:
    """The first header of that lower-case name; empty if there is none."""
    for candidate, value in exchange.headers:
        if candidate.lower() == name:
            return value.decode("utf-8", "replace")
    return ""


def kind_of(exchange: Exchange, page: PageItem | None) -> CaptureKind:
    for kind in (RENDERED, SCREENSHOT):
        if exchange.url.startswith(urn(kind, "")):
            return kind
    if page is None and url_key(exchange.url).partition("://")[2].partition("/")[2] == "robots.txt":
        return "robots"
    if page is not None and page.quarantined:
        return "quarantined"
    if 300 <= exchange.status < 400 and _header(exchange, b"location").strip():
        return "redirect"
    if exchange.status >= 400:
        return "error"
    return "other" if page is None else "page"


def clean_text(value: str) -> str:
    """`value` without lone surrogates and NUL, which SQLite or its readers cannot handle."""
    if value.isascii() and "\0" not in value:
        return value
    return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def address(url: str | None) -> str | None:
    # A URL that is cut short leads nowhere, so one that is too long is left out.
    return clean_text(url) if url is not None and len(url) <= MAX_URL_LENGTH else None


Check = Callable[[object], bool]
_LARGEST: Final = 1 << 53
"""Floats are exact up to it; nothing counted or measured here comes near it."""
_END_OF_TIME: Final = 253_402_300_800
"""The year 10,000, which `datetime` has not."""


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < _LARGEST


def is_time(value: object) -> bool:
    """Whether it is a Unix time within the calendar."""
    return is_number(value) and value < _END_OF_TIME  # type: ignore[operator]


def or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


_REALS: Final = [at for at, kind in enumerate(get_type_hints(Capture).values()) if float in (kind, *get_args(kind))]
"""Their positions in a row."""
_as_json: Final = json.JSONEncoder().encode


def checksum(capture: Capture) -> int:
    """CRC-32 of a row of `pages`, with values as columns of their types return them. Raises `TypeError` for a
    BLOB.
    """
    values = [*capture]
    for at in _REALS:
        if isinstance(value := values[at], int):
            values[at] = float(value)
    return zlib.crc32(_as_json(values).encode())


def whole_row(row: Sequence[Any]) -> Capture | None:
    """The capture of a row of `pages` with its checksum last; None if the checksum does not match."""
    capture = Capture._make(row[:-1])
    try:
        return capture if checksum(capture) == row[-1] else None
    except (TypeError, OverflowError):
        return None
