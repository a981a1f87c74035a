"""Which stored pages link to dead ones: the frontier knows only the page where a URL was first found.

The links of pages are not kept, so they are read off the stored pages once more: newest first, at most so many.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

from sitecrawl.base.errors import CorruptFile, InvalidUrl, StorageError
from sitecrawl.page.links import read_page
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer, Url

LINKERS: Final = 10
"""Pages that are named for one dead link."""


class Linkers(NamedTuple):
    """What the search has found."""

    pages: dict[bytes, list[str]]
    """Pages that link there, by the target's fingerprint."""
    searched: int
    """Pages whose links were read."""
    unreadable: int


def find_linkers(reader: PageReader, fingerprints: Fingerprinter, wanted: Container[bytes], limit: int) -> Linkers:
    """Look through the newest `limit` HTML pages for links to the URLs with the fingerprints `wanted`."""
    canonical = Canonicalizer().canonical
    pages: dict[bytes, list[str]] = {}
    searched = unreadable = 0
    for capture in reader.newest_pages(limit):
        try:
            stored = reader.read(capture)
            page = read_page(capture.url, stored.body, stored.headers)
        except (StorageError, CorruptFile, InvalidUrl):
            unreadable += 1
            continue
        searched += 1
        for link in page.links:
            key = fingerprints.url(canonical(Url(link.url, link.host)))
            if key in wanted:
                named = pages.setdefault(key, [])
                if len(named) < LINKERS and capture.url not in named:
                    named.append(capture.url)
    return Linkers(pages, searched, unreadable)
