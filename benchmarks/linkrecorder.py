"""Writes down which links a crawl asks the seen set about, for `url_cache.py --recorded`.

    PYTHONPATH=benchmarks scrapy crawl generic -a seeds=https://example.com \\
        -s SPIDER_MIDDLEWARES='{"linkrecorder.LinkRecorder": 960}' -s RECORD_LINKS=links.bin

It costs a crawl about 5 us a link.

The file: 16 bytes `sitecrawl links\\1`, then 8 bytes a link, in the order of the questions, little-endian: the first
half of the canonical URL's fingerprint (a CityHash64), its lowest bit replaced by 1 if the link leads to another host
than its page's. A crawl that is resumed appends. A crash costs the links in memory, and leaves half a record at most,
which reading leaves out.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from sitecrawl.base.errors import FormatMismatch, OptionError
from sitecrawl.crawl.build import Crawl
from sitecrawl.page.items import PageItem
from sitecrawl.urls.url import Url, parse

MAGIC: Final = b"sitecrawl links\1"
_RECORD: Final = 8
_BUFFERED: Final = 4096
"""Links."""


class LinkRecorder(BaseSpiderMiddleware):
    """Spider middleware; the setting RECORD_LINKS is the path of the file. Stands before `LinksMiddleware`."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._links = array("Q")
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise OptionError(f"RECORD_LINKS: {path} cannot be written: {error.strerror}") from error
        if self._file.tell() == 0:
            self._file.write(MAGIC)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LinkRecorder:
        recorder = cls(crawler, Path(crawler.settings["RECORD_LINKS"]))
        crawler.signals.connect(recorder.close, signal=signals.spider_closed)
        return recorder

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if isinstance(item, PageItem):
            self._record(item)
        return item

    def _record(self, page: PageItem) -> None:
        admits = getattr(self.crawler.spider, "admits", None)
        fingerprint, canonical = self._crawl.keys.fingerprints.url, self._crawl.keys.canonicalizer.canonical
        host = parse(page.url, max_length=sys.maxsize).host
        for link in page.links:
            if admits is None or admits(link):
                key = int.from_bytes(fingerprint(canonical(Url(link.url, link.host)))[:_RECORD], "little")
                self._links.append(key & ~1 | (link.host != host))
        if len(self._links) >= _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        if sys.byteorder == "big":
            self._links.byteswap()
        self._links.tofile(self._file)
        del self._links[:]

    def close(self) -> None:
        self._flush()
        self._file.close()


def read_recorded(path: Path) -> Iterator[tuple[int, bool]]:
    """The links of a file: a number for the URL, and whether the link leads to another host.

    Raises `FormatMismatch` for a file that no `LinkRecorder` wrote.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise FormatMismatch(f"{path} is no recording of links")
        while data := file.read(_RECORD * _BUFFERED):
            links = array("Q", data[: len(data) // _RECORD * _RECORD])
            if sys.byteorder == "big":
                links.byteswap()
            for link in links:
                yield link >> 1, bool(link & 1)
