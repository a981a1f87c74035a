"""`scrapy job`: a crawl's one file, checked, and its schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy.addons import AddonManager
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.spiderloader import get_spider_loader

from sitecrawl.base.display import counted, visible
from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import configuration
from sitecrawl.crawl.directories import CRAWLS
from sitecrawl.frontier.scope import Scope
from sitecrawl.http.sheets import Sheets
from sitecrawl.page.items import Link
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.jobs.job import job_schema, read_job
from sitecrawl.spiders.arguments import SiteArguments
from sitecrawl.spiders.generic import GenericSpider
from sitecrawl.spiders.job_file import Job, with_job_file
from sitecrawl.spiders.site import SiteSpider
from sitecrawl.urls.url import CRAWLED, guess_url


class Command(DescribedCommand):
    """check: say whether a job file has mistakes, and which URLs it would follow; nothing is fetched. schema: print
    the JSON Schema of job files.
    """

    usage = "check <file> [<url> ...] | schema"
    summary = "Check job files"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        match args:
            case ["check", file, *urls]:
                with exit_code_on_error(self):
                    self._check(Path(file), urls)
            case ["schema"]:
                with exit_code_on_error(self):
                    print(json.dumps(job_schema(), indent=2))
            case _:
                raise UsageError("say one of: job check FILE [URL ...], job schema", print_help=False)

    def _check(self, file: Path, urls: list[str]) -> None:
        """Raises `OptionError`."""
        job = read_job(file)
        if job.warning:
            print(f"scrapy: {job.warning}", file=sys.stderr)
        crawler = Crawler(self._spider(job), self.settings)
        given = with_job_file(crawler, {"job": str(file)})
        spider: type[SiteSpider] = crawler.spidercls  # type: ignore[assignment]
        arguments = spider.read_arguments(_for_all(given, spider))
        for name, value in arguments.settings():
            crawler.settings.set(name, value, "spider")
        for seed in arguments.seeds:
            arguments.scope.add_seed(seed)
        AddonManager(crawler).load_settings(crawler.settings)
        directory = crawler.settings.get("JOBDIR") or CRAWLS / job.name
        number = len(arguments.seeds)
        print(visible(f"{file} is sound: spider {spider.name}, {counted(number, 'seed')}, directory {directory}"))
        sheets = configuration.sheets(crawler.settings)
        for url in urls:
            print(visible(f"{url}: {_fate(url, arguments, sheets)}"))

    def _spider(self, job: Job) -> type[SiteSpider]:
        """The one that the file is for; where it names none, the plainest."""
        if not job.spider:
            return GenericSpider
        try:
            spider = get_spider_loader(self.settings).load(job.spider)
        except KeyError:
            raise OptionError(f"{job.path} is for the spider {job.spider}, which is not in this project") from None
        if not issubclass(spider, SiteSpider):
            raise OptionError(
                f"{job.path} is for the spider {job.spider}, which is no SiteSpider: it reads no job file"
            )
        return spider


def _for_all(given: Mapping[str, Any], spider: type[SiteSpider]) -> dict[str, Any]:
    """The arguments without the spider's own; what stands for seeds in them is no link's scope."""
    own = {*spider.own_arguments, "domains"} - {"start"}
    return {name: value for name, value in given.items() if name not in own}


def _fate(text: str, arguments: SiteArguments, sheets: Sheets) -> str:
    """Whether a crawl would follow a link to a URL, and if not, why."""
    try:
        url = guess_url(text, schemes=CRAWLED)
    except InvalidUrl as error:
        return f"not followed: {error}"
    if any(seed.href == url.href for seed in arguments.seeds):
        return "it is a seed"
    link, sheet = Link(url.href, url.host), sheets.of(url.host)
    if why := arguments.scope.why_not(link):
        return f"not followed: {why}"
    why = Scope("any", allow=sheet.allow, deny=sheet.deny).why_not(link)
    return f"not followed: its sheet: {why}" if why else "it is in scope"
