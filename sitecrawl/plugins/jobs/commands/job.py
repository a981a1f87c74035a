"""`scrapy job`: a crawl's one file, to begin with, explained, and by its schema."""

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

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.address import SCHEMES, shown
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import configuration
from sitecrawl.crawl.directories import CRAWLS
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.jobs.commented import commented
from sitecrawl.plugins.jobs.explained import Plan, lines, lines_of_url
from sitecrawl.plugins.jobs.reading import Job, job_schema, read_job
from sitecrawl.spiders.generic import GenericSpider
from sitecrawl.spiders.job_file import with_job_file
from sitecrawl.spiders.site import SiteSpider


class Command(DescribedCommand):
    """init: write a job file with every key and comments. check: say what a job will do, and what it will do with
    URLs; nothing is fetched. schema: print the JSON Schema of job files.
    """

    usage = "init [<file>] | check [--json] <file> [<url> ...] | schema"
    summary = "Write, check and explain job files"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="for check: print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        match args:
            case ["init", *rest] if len(rest) < 2:
                with exit_code_on_error(self):
                    _init(rest)
            case ["check", file, *urls]:
                with exit_code_on_error(self):
                    self._check(Path(file), urls, as_json=opts.json)
            case ["schema"]:
                with exit_code_on_error(self):
                    print(json.dumps(job_schema(), indent=2))
            case _:
                raise UsageError(
                    "say one of: job init [FILE], job check FILE [URL ...], job schema", print_help=False
                )

    def _check(self, file: Path, urls: list[str], *, as_json: bool) -> None:
        plan = self._plan(file)
        facts, found = plan.facts(), [plan.of_url(url) for url in urls]
        if as_json:
            print(json.dumps({**facts, "urls": found}))
            return
        told = [*lines(facts), *(line for one in found for line in ("", *lines_of_url(one)))]
        print("\n".join(visible(line) for line in told))

    def _plan(self, file: Path) -> Plan:
        """What a crawl by `file` would be told in this project. Raises `OptionError`."""
        assert self.settings is not None
        job = read_job(file)
        if job.warning:
            print(f"scrapy: {job.warning}", file=sys.stderr)
        crawler = Crawler(self._spider(job), self.settings)
        given = with_job_file(crawler, {"job": str(file)})
        seeds = given.get("seeds", "")
        elsewhere = seeds if isinstance(seeds, str) and seeds.startswith(SCHEMES) else ""
        if elsewhere:
            del given["seeds"]
        spider: type[SiteSpider] = crawler.spidercls  # type: ignore[assignment]
        arguments = spider.read_arguments(_for_all(given, spider), has_queue=bool(elsewhere))
        for name, value in arguments.settings():
            crawler.settings.set(name, value, "spider")
        for seed in arguments.seeds:
            arguments.scope.add_seed(seed)
        AddonManager(crawler).load_settings(crawler.settings)
        directory = Path(crawler.settings.get("JOBDIR") or CRAWLS / job.name)
        where = _redis(elsewhere) if elsewhere else ""
        sheets = configuration.sheets(crawler.settings)
        return Plan(spider.name, directory, crawler.settings, sheets, arguments.scope, arguments.seeds, where)

    def _spider(self, job: Job) -> type[SiteSpider]:
        """The one that the file is for; where it names none, the plainest."""
        if not job.spider:
            return GenericSpider
        assert self.settings is not None
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


def _redis(text: str) -> str:
    address, _, key = text.partition("#")
    return f"{shown({'url': address})}#{key}, which is read when the crawl begins"


def _init(rest: list[str]) -> None:
    """Raises `OptionError`."""
    if not rest:
        print(commented(), end="")
        return
    path = Path(rest[0])
    if path.suffix.lower() != ".toml":
        raise OptionError(f"{path} is no name of a job file: end it with .toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(commented())
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror}") from error
    print(f"{path} is written: name your seeds in it, then scrapy crawl generic -a job={path}", file=sys.stderr)
