"""The handler of ftp, imported with the first URL that needs it: Scrapy imports those of all schemes at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitecrawl.extensions.ftp_handler import FtpDownloadHandler


class FtpLater:
    """Makes an `FtpDownloadHandler`."""

    lazy = True

    @staticmethod
    def from_crawler(crawler: Crawler) -> FtpDownloadHandler:
        from sitecrawl.extensions.ftp_handler import FtpDownloadHandler  # noqa: PLC0415 - see the module

        return FtpDownloadHandler.from_crawler(crawler)
