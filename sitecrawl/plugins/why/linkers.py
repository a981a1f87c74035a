"""Which stored pages link to a URL: the frontier knows only the page where it was first found, if it knows it.

The links of pages are not kept, so they are read off the stored pages once more: newest first, at most so many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sitecrawl.base.errors import CorruptFile, InvalidUrl, StorageError
from sitecrawl.page.items import Link
from sitecrawl.page.links import read_page
from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer


def find_linker(reader: PageReader, fingerprints: Fingerprinter, wanted: bytes, limit: int) -> Capture | None:
    """The first of the newest `limit` HTML pages that is found to link to the URL with the fingerprint `wanted`."""
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
