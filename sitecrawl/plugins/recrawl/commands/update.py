"""`scrapy update DIR`: one more round over a crawl, with the arguments that it had."""

from __future__ import annotations

import argparse
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import OptionError, SitecrawlError
from sitecrawl.console.commands.crawl import Command as CrawlCommand
from sitecrawl.crawldir.directory import database_to_read, manifest_of, workers_below
from sitecrawl.crawldir.terms import given_to
from sitecrawl.scheduler import NO_ROUNDS
from sitecrawl.spiders.arguments import ENDLESS
from sitecrawl.spiders.site import ONE_PROCESS, SiteSpider


class Command(CrawlCommand):
    """As `scrapy crawl` with `-a again=1`, in the directory of a crawl, by its spider, and with the arguments of its
    last run, but for those of crawls without an end. What is named here counts instead; settings are not remembered.
    Exit codes are those of `scrapy crawl`.
    """

    def syntax(self) -> str:
        return "[options] <directory>"

    def short_desc(self) -> str:
        return "Look for what is new in a crawl that exists"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("Name the directory of a crawl: scrapy update crawls/mine")
        directory = Path(args[0])
        try:
            if workers_below(directory):
                raise OptionError(f"{directory} is shared by workers: {ONE_PROCESS}")
            spider = manifest_of(directory).spider
            self._check(spider)
            with database_to_read(directory) as database:
                given = {name: text for name, text in given_to(database).items() if name not in ENDLESS}
        except SitecrawlError as error:
            self._refuse(str(error))
            return
        self.settings.set("JOBDIR", str(directory), priority="cmdline")
        opts.spargs = {**given, "again": "1", **opts.spargs}
        if str(opts.spargs["again"]) == "0":
            raise UsageError("scrapy update is one more round: it takes no -a again=0", print_help=False)
        super().run([spider], opts)

    def _check(self, spider: str) -> None:
        """Raises `OptionError` for a spider that would take the argument for its own, and do nothing."""
        loader = self.crawler_process.spider_loader
        if spider in loader.list() and not issubclass(loader.load(spider), SiteSpider):
            raise OptionError(NO_ROUNDS.format(spider))
