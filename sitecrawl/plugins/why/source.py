"""What of a crawl speaks for an answer: its database and its pages as of the last checkpoint.

All look-ups here are by key, or are bounded: an answer costs some milliseconds in a crawl of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, InvalidUrl, StorageError
from sitecrawl.crawl.sitemaps.record import SitemapRecord
from sitecrawl.crawldir.database import Database, next_prefix
from sitecrawl.crawldir.directory import Manifest
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.crawldir.terms import terms_of
from sitecrawl.frontier.forms.classes import Classes, ClassRow
from sitecrawl.frontier.forms.learner import Learner
from sitecrawl.frontier.places import Places
from sitecrawl.frontier.scope import Scope
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.sites import pool_of
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.http.sheets import RobotsException, Sheet, Sheets
from sitecrawl.page.items import Link
from sitecrawl.page.links import read_page
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import CRAWLED, WEB, Canonicalizer, Schemes, Url

MOST: Final = 200_000
"""Rows of the queue that are gone through."""
_OF_HOSTS: Final = ("hosts", "max_pages", "max_depth", "allow", "deny")
"""What of a sheet explains why a URL is fetched or not."""


class Source:
    """See the module. `told`: the database that says what the crawl was told, where that is another one.
    `search_pages`: so many stored pages, the newest, are read to find one that links to a URL that is not known.
    """

    def __init__(
        self,
        database: Database,
        manifest: Manifest,
        pages: PageReader | None = None,
        *,
        told: Database | None = None,
        search_pages: int = 0,
    ) -> None:
        self.database = database
        self.manifest = manifest
        self.fingerprints = Fingerprinter(manifest.fingerprint_key)
        self.canonicalizer = Canonicalizer()
        self.pages = pages
        self._told = told or database
        self.terms = terms_of(self._told)
        self.search_pages = search_pages

    @property
    def leaves(self) -> Sheets:
        """Where robots.txt is not obeyed."""
        found = self.terms.exceptions if self.terms is not None else ()
        return Sheets([Sheet(one.hosts, robots=RobotsException(one.reason, one.paths)) for one in found])

    @property
    def schemes(self) -> Schemes:
        return CRAWLED if self.terms is not None and self.terms.ftp else WEB

    @property
    def counts(self) -> Counts:
        return Counts(Overlay(self.database, "meta"))

    @property
    def scope(self) -> Scope | None:
        """The spider's; None where it has another one, or nobody knows."""
        terms = self.terms
        if terms is None or not terms.scope:
            return None
        places = Places(self._told, terms.scope)
        scope = Scope(terms.scope, allow=terms.allow, deny=terms.deny, places=places)
        scope.lay(self.sheets)
        return scope

    @cached_property
    def sheets(self) -> Sheets:
        """What is otherwise for some hosts. Raises `CorruptFile`."""
        return _kept_sheets(self.terms.sheets if self.terms is not None else ())

    def max_depth(self, host: str) -> int:
        """Of the host of that name; 0 for no limit."""
        most = self.sheets.of(host).max_depth
        return most if most is not None else self.terms.max_depth if self.terms is not None else 0

    # URLs

    def canonical(self, url: Url) -> str:
        return self.canonicalizer.canonical(url)

    def key(self, url: Url) -> bytes:
        return self.fingerprints.url(self.canonical(url))

    def record(self, key: bytes) -> UrlRecord | None:
        data = self.database.get("urls", key)
        return None if data is None else UrlRecord.unpack(data)

    def name(self, key: bytes) -> str:
        """The URL with this fingerprint: of the crawl, or a sitemap's; empty for none."""
        if (record := self.record(key)) is not None:
            return record.url
        data = self.database.get("sitemaps", key)
        return "" if data is None else SitemapRecord.unpack(data).url

    def begins(self, start: bytes) -> str:
        """The URL whose fingerprint begins with `start`; empty for none."""
        rows = self.database.scan("urls", start, next_prefix(start))
        return next((UrlRecord.unpack(data).url for _, data in rows), "")

    # Hosts

    def host(self, key: bytes) -> Host | None:
        return HostTable(self.database, self.fingerprints.host).get(key)

    def host_named(self, name: str) -> Host | None:
        """The host where URLs of the host `name` are: itself, or its site's pool."""
        names = (name, pool_of(name))
        return next((host for one in names if one and (host := self.host(self.fingerprints.host(one)))), None)

    def learner(self, host: Host) -> Learner | None:
        """What was learnt of the URLs of `host`."""
        data = self.database.get("rules", host.key)
        return None if data is None else Learner.unpack(data)

    def class_row(self, name: bytes) -> ClassRow | None:
        return Classes(self.database).get(name)

    def is_given_up(self, host: Host, key: bytes) -> bool:
        return self.database.get("given_up", host.key + key) is not None

    # The queue

    def before(self, section: Section, entry: bytes) -> int:
        """How many entries of a section come before `entry`; `MOST` for as many or more."""
        rows = self.database.scan("queue", section.key, section.key + entry)
        return sum(1 for _ in islice(rows, MOST))

    # Pages

    def versions(self, url: Url) -> Sequence[Capture]:
        return [] if self.pages is None else self.pages.versions(self.canonical(url))

    def shown_with(self, part: Capture) -> Capture | None:
        """The page whose browser asked for `part`."""
        return None if self.pages is None else self.pages.shown_with(part)

    def linker(self, key: bytes) -> Capture | None:
        """A stored page that links to the URL with that fingerprint; None if none is found."""
        if self.pages is None or not self.search_pages:
            return None
        return _find_linker(self.pages, self.fingerprints, key, self.search_pages)

    def robots(self, url: Url) -> tuple[Capture, bytes] | None:
        """The last stored robots.txt for a URL, and what it said; None without one, or where it cannot be read."""
        if self.pages is None:
            return None
        found = self.pages.versions(f"{url.origin}/robots.txt")
        with suppress(StorageError):
            return next(((one, self.pages.read(one).body) for one in found), None)
        return None


def _kept_sheets(kept: Iterable[Mapping[str, Any]]) -> Sheets:
    """The sheets that `Terms.sheets` keeps, as far as they say which URLs are fetched. Raises `CorruptFile`."""
    try:
        return Sheets([_sheet(one) for one in kept])
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise CorruptFile(f"The sheets that the crawl was told cannot be read: {error}") from error


def _sheet(kept: Mapping[str, Any]) -> Sheet:
    """The sheet from JSON, with lists as tuples."""
    said: dict[str, Any] = {name: kept[name] for name in _OF_HOSTS if name in kept}
    said |= {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Sheet(**said)


def _find_linker(reader: PageReader, fingerprints: Fingerprinter, wanted: bytes, limit: int) -> Capture | None:
    """The first of the newest `limit` HTML pages that links to the URL with the fingerprint `wanted`."""
    pages = ((capture, _links_of(reader, capture)) for capture in reader.newest_pages(limit))
    return next((page for page, links in pages if links and wanted in _keys(links, fingerprints)), None)


def _links_of(reader: PageReader, capture: Capture) -> list[Link] | None:
    """Those of a stored page; None for one that cannot be read."""
    try:
        stored = reader.read(reader.rendered(capture) or capture)
        return read_page(capture.url, stored.body, stored.headers).links
    except (StorageError, CorruptFile, InvalidUrl):
        return None


def _keys(links: Iterable[Link], fingerprints: Fingerprinter) -> Iterator[bytes]:
    canonical = Canonicalizer().canonical_href
    return (fingerprints.url(canonical(link.url)) for link in links)
