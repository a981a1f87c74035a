"""`scrapy settings`: what a crawl has, also what add-ons set; without options, all settings of ours."""

from __future__ import annotations

import argparse
import re
from typing import Final

from scrapy import Spider
from scrapy.addons import AddonManager
from scrapy.commands import settings
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError

from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.secret_settings import masked
from sitecrawl.console.base_command import Versioned

_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")


class Command(Versioned, settings.Command):
    """Scrapy's reads the settings before add-ons have touched them, of which a crawl never hears."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        crawler = Crawler(Spider, self.settings)
        try:
            AddonManager(crawler).load_settings(crawler.settings)
        except SitecrawlError as error:
            raise UsageError(str(error), print_help=False) from error
        self.settings = crawler.settings
        if any((opts.get, opts.getbool, opts.getint, opts.getfloat, opts.getlist)):
            super().run(args, opts)
        else:
            for name, setting in SETTINGS.items():
                print(masked(f"{name}={self.settings.get(name)}"))
                print("   ", _LINK.sub(r"\1", setting.what), f"({setting.unit})")
