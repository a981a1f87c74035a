"""`scrapy settings`: what a crawl has, also what add-ons set."""

from __future__ import annotations

import argparse

from scrapy import Spider
from scrapy.addons import AddonManager
from scrapy.commands import settings
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.console.version import Versioned


class Command(Versioned, settings.Command):
    """Scrapy's reads the settings before add-ons have touched them, of which a crawl never hears."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        crawler = Crawler(Spider, self.settings)
        try:
            AddonManager(crawler).load_settings(crawler.settings)
        except SitecrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        self.settings = crawler.settings
        super().run(args, opts)
