"""Scrapy's feeds in a crawl's checkpoints."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant


class FeedFiles(Participant):
    """Hands what feeds into local files hold in memory to the operating system at every checkpoint, before the pages
    that it comes from are done: after a `kill -9` a feed may have an item twice, and lacks none.

    What Scrapy gathers in a passing file first, to send it to S3 or FTP at the end, a crash still costs.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def prepare(self, batch: Batch) -> None:
        exporter = self._crawler.get_extension(FeedExporter)
        for slot in exporter.slots if exporter is not None else ():
            if slot.file is not None and not slot.file.closed:
                try:
                    slot.file.flush()
                except OSError as error:
                    raise StorageError(f"The feed {slot.uri} cannot be written: {error.strerror or error}") from error
