"""Scrapy's feeds in a crawl's checkpoints."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

from sitecrawl.base.errors import StorageError
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant


class FeedFiles(Participant):
    """Flushes feeds in local files at every checkpoint, before the pages they come from count as done: after a `kill
    -9` a feed may repeat an item, but lacks none.

    A crash still loses items that Scrapy gathers in a temporary file to send to S3 or FTP at the end.
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
