"""The page store of a crawl: WARC files and a SQLite index (docs/page-store.md)."""

from sitecrawl.pagestore.capture import Capture
from sitecrawl.pagestore.reader import PageFilter, PageReader, StoredPage
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.pagestore.warc_store import WarcStore

__all__ = ["Capture", "PageFilter", "PageReader", "StoredPage", "WarcOptions", "WarcStore"]
