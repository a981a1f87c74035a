"""The bases of our commands, and of those that read a crawl.

They stand outside `sitecrawl.commands`, where every command class becomes a command named after its file.
"""

from __future__ import annotations

import argparse
import inspect
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.reader import ClusterReader
from sitecrawl.console.listing import FORMATS
from sitecrawl.crawl import configuration
from sitecrawl.crawl.configuration import CRAWLS
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore.console import crawl_directory, exit_code_on_error


class DescribedCommand(ScrapyCommand):
    """A command whose attributes say what Scrapy asks for in methods. Its docstring is what `--help` prints."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as the base class has it
    usage = "[options]"
    summary: str
    """What the list of all commands says of it."""

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.summary

    def long_desc(self) -> str:
        return inspect.getdoc(type(self)) or self.summary


class ReadingCommand(DescribedCommand):
    """A command that looks at a crawl's directory, live or finished, and starts no crawl."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-d", "--directory", metavar="DIR", help="the crawl's directory (default: the newest below crawls/)"
        )

    @staticmethod
    def directory(opts: argparse.Namespace) -> Path:
        """The crawl that is meant. Raises `StorageError` if there is none."""
        return crawl_directory(opts.directory, CRAWLS)

    def frontier(self, opts: argparse.Namespace) -> FrontierReader | ClusterReader:
        """The frontier that is meant: on a Redis, if SITECRAWL_CLUSTER names one. Raises `StorageError`."""
        assert self.settings is not None
        params = configuration.redis_of(self.settings)
        if params is None:
            return FrontierReader(self.directory(opts))
        crawl = configuration.shared_name(self.settings, "generic")
        try:
            directory = self.directory(opts)
        except StorageError:
            directory = None  # no page store here: what waits is in Redis all the same
        return ClusterReader(params, crawl, directory)


class ListingCommand(ReadingCommand):
    """A command that lists rows: all that are asked for with `--limit`, in the format of `--format`."""

    formats: Sequence[str] = FORMATS
    limit: int | None = None
    """How many rows there are where `--limit` does not say it; None for all."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        default = "" if self.limit is None else f" (default: {self.limit})"
        parser.add_argument("--limit", type=int, metavar="N", default=self.limit, help=f"at most so many{default}")
        parser.add_argument("--format", choices=self.formats, default="table", help="default: table")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown argument {args[0]!r}")
        self.check_limit(opts)
        with exit_code_on_error(self):
            self.list(opts)

    @staticmethod
    def check_limit(opts: argparse.Namespace) -> None:
        """Raises `UsageError` if `--limit` leaves nothing to show."""
        if opts.limit is not None and opts.limit < 1:
            raise UsageError(f"--limit: {opts.limit} is no number of lines", print_help=False)

    @abstractmethod
    def list(self, opts: argparse.Namespace) -> None:
        """Write the rows to stdout."""
