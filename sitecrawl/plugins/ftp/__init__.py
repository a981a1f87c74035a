"""FTP servers, crawled like sites: folders are pages, files are documents (docs/ftp.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sitecrawl.base.plugins import Plugin

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitecrawl.plugins.ftp.handler import FtpDownloadHandler


class FtpLater:
    """Makes an `FtpDownloadHandler` with the first URL that needs it: Scrapy imports handlers of all schemes at the
    start.
    """

    lazy = True

    @staticmethod
    def from_crawler(crawler: Crawler) -> FtpDownloadHandler:
        from sitecrawl.plugins.ftp.handler import FtpDownloadHandler  # noqa: PLC0415 - see the class

        return FtpDownloadHandler.from_crawler(crawler)


HANDLER: Final = "sitecrawl.plugins.ftp.FtpLater"
PLUGIN = Plugin(handlers={"ftp": HANDLER}, arguments={"ftp": HANDLER})
