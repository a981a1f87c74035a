"""`scrapy cluster`: many workers on this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import localtime, strftime

from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError

from sitecrawl.cluster.address import SCHEMES
from sitecrawl.cluster.fleet import Fleet, redis_server
from sitecrawl.cluster.outside import CrawlOnRedis, opened
from sitecrawl.cluster.repair import repair
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import configuration
from sitecrawl.crawl.configuration import CRAWLS
from sitecrawl.crawldir.directory import workers_below
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.workers import WorkersReader


class Command(DescribedCommand, BaseRunSpiderCommand):
    """Start a Redis and some workers, which share one crawl, and end when it is done. With the same directory the
    same crawl goes on. `recover` is for workers' directories that are lost for good: pages that are in none of the
    remaining directories are fetched again. No worker may be running then.
    """

    usage = "[options] <spider> | recover <directory, or redis://... and the workers' directories>"
    summary = "Crawl with many workers on this machine"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--workers", type=int, default=4, metavar="N", help="how many workers (default: 4)")
        parser.add_argument("--redis", metavar="URL", help="a running Redis, instead of starting one")
        parser.add_argument("--directory", "-d", metavar="DIR", help="default: a new one below crawls/")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args[:1] == ["recover"]:
            self._recover(args[1:], opts)
            return
        if len(args) != 1:
            raise UsageError("Name one spider: scrapy cluster generic --workers 4 -a seeds=https://example.com")
        if opts.workers < 1:
            raise UsageError(f"--workers: {opts.workers} is no number of workers", print_help=False)
        directory = Path(opts.directory or CRAWLS / f"{args[0]}-cluster-{strftime('%Y%m%d-%H%M%S', localtime())}")
        with exit_code_on_error(self):
            directory.mkdir(parents=True, exist_ok=True)
            with nullcontext(opts.redis) if opts.redis else redis_server(directory) as url:
                print(f"{opts.workers} workers on {url}; their logs: {directory}/worker-*.log", file=sys.stderr)
                self.exitcode = Fleet(_command(args[0], opts, url), directory, opts.workers).run()
            with WorkersReader(directory) as reader:
                pages = sum(1 for capture in reader.pages() if capture.kind == "page")
            print(f"{pages:,} pages: scrapy pages -d {directory}", file=sys.stderr)

    def _recover(self, args: list[str], opts: argparse.Namespace) -> None:
        is_url = bool(args) and args[0].startswith(SCHEMES)
        if len(args) < 1 + is_url:
            raise UsageError(
                "Name the crawl's directory, or its Redis and those directories that are left of its workers"
            )
        named = [Path(arg) for arg in args[is_url:]]
        with exit_code_on_error(self, 2):
            workers = [worker for path in named for worker in workers_below(path) or [path]]
            url = args[0] if is_url else opts.redis
            with nullcontext(url) if url else redis_server(named[0]) as redis, self._crawl(redis) as crawl:
                found = repair(crawl, workers)
                for said in (*found.notes, *found.after):
                    print(f"- {said}")
                print(f"{found.queued:,} pages of {crawl} are stored nowhere any more, and will be fetched again")
            self.exitcode = 1 if found.after else 0

    @contextmanager
    def _crawl(self, redis: str) -> Iterator[CrawlOnRedis]:
        assert self.settings is not None
        self.settings.set("SITECRAWL_CLUSTER", redis, "cmdline")
        params = configuration.redis_of(self.settings)
        assert params is not None
        with opened(params, configuration.shared_name(self.settings, "generic")) as crawl:
            yield crawl


def _command(spider: str, opts: argparse.Namespace, redis: str) -> list[str]:
    """One worker's command line, but for its JOBDIR."""
    given = [f"{name}={value}" for name, value in opts.spargs.items()]
    arguments = [part for argument in given for part in ("-a", argument)]
    settings = [part for setting in opts.set for part in ("-s", setting)]
    level = ["-s", f"LOG_LEVEL={opts.loglevel}"] if opts.loglevel else []
    worker = [sys.executable, "-m", "scrapy", "crawl", spider, *arguments]
    return [*worker, *settings, *level, "-s", f"SITECRAWL_CLUSTER={redis}"]
