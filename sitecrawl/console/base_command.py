"""Base classes of our commands.

They stand outside `sitecrawl.console.commands`, where every file is a command of its name.
"""

from __future__ import annotations

import argparse
import inspect
import platform
import sys
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import scrapy
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from sitecrawl import __version__
from sitecrawl.base import declared
from sitecrawl.base.display import forgive
from sitecrawl.base.errors import StorageError
from sitecrawl.console.listing import FORMATS
from sitecrawl.crawl.directories import CRAWLS
from sitecrawl.crawldir.directory import had_redis, manifest_of
from sitecrawl.pagestore.console import crawl_directory, exit_code_on_error
from sitecrawl.pagestore.workers import Reader, Void, open_pages, stores_of

if TYPE_CHECKING:
    from scrapy.crawler import CrawlerProcessBase

    from sitecrawl.cluster.outside import CrawlOnRedis


def add_version(parser: argparse.ArgumentParser) -> None:
    line = f"sitecrawl {__version__} (Scrapy {scrapy.__version__}, Python {platform.python_version()})"
    parser.add_argument("--version", action="version", version=line, help="print which version this is, and exit")


class Versioned(ScrapyCommand):
    """A command that answers `--version`, and whose output any terminal can show."""

    settings: Settings
    crawler_process: CrawlerProcessBase
    """Scrapy sets both before it runs a command."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        forgive(sys.stdout, sys.stderr)
        add_version(parser)


class DescribedCommand(Versioned):
    """A command described by attributes. Its docstring is what `--help` prints."""

    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as the base class has it
    usage = "[options]"
    summary: str
    """One line for the list of all commands."""

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return self.summary

    def long_desc(self) -> str:
        return inspect.getdoc(type(self)) or self.summary


class SharedCommand(DescribedCommand):
    """A command for crawls that many workers may share through Redis."""

    def void(self, stores: Sequence[Path]) -> Void:
        """Captures in the workers' stores that do not count, by what Redis says; empty without one."""
        try:
            with self.on_redis() as shared:
                if shared is None:
                    return {}
                from sitecrawl.cluster.copy import void_captures  # noqa: PLC0415 - Redis, as below

                return void_captures(shared, stores)
        except StorageError as error:
            print(f"scrapy: {error}. Of a page that several workers have stored the last is shown", file=sys.stderr)
            return {}

    @contextmanager
    def on_redis(self) -> Iterator[CrawlOnRedis | None]:
        """Context: the crawl on the Redis of SITECRAWL_CLUSTER; None without. Raises `StorageError`."""
        if not declared.CLUSTER.read(self.settings):
            yield None
            return
        from sitecrawl.cluster.outside import opened  # noqa: PLC0415 - Redis, for crawls that are shared
        from sitecrawl.crawl import sharing  # noqa: PLC0415

        params = sharing.redis_of(self.settings)
        if params is None:
            yield None
            return
        with opened(params, sharing.shared_name(self.settings, "generic")) as shared:
            yield shared


class ReadingCommand(SharedCommand):
    """A command that reads a crawl's directory, live or finished, and starts no crawl."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "-d", "--directory", metavar="DIR", help="the crawl's directory (default: the newest below crawls/)"
        )

    def options(self, settings: Settings, *words: str) -> argparse.Namespace:
        """Options of a call with `words`, for callers without a command line."""
        self.settings = settings
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        self.add_options(parser)
        return parser.parse_args(words)

    @staticmethod
    def directory(opts: argparse.Namespace) -> Path:
        """Directory of the crawl. Raises `StorageError` if there is none."""
        return crawl_directory(opts.directory, CRAWLS)

    @contextmanager
    def shared(self, opts: argparse.Namespace) -> Iterator[CrawlOnRedis | None]:
        """Context: the crawl on Redis, that of SITECRAWL_CLUSTER or the one in the crawl's directory, which is
        started if it does not run; None for a crawl of one process. Raises `StorageError`.
        """
        with self.on_redis() as named:
            if named is not None:
                yield named
                return
        directory = self.directory(opts)
        if not (had_redis(directory) or had_redis(directory.parent)):
            yield None
            return
        from sitecrawl.cluster.outside import opened  # noqa: PLC0415 - Redis, for crawls that are shared
        from sitecrawl.cluster.own_redis import own_redis  # noqa: PLC0415
        from sitecrawl.crawl import sharing  # noqa: PLC0415

        with own_redis(directory) as url:
            assert url is not None
            spider = manifest_of(stores_of(directory)[0]).spider
            with opened({"url": url}, sharing.shared_name(self.settings, spider)) as shared:
                yield shared

    @contextmanager
    def crawl(self, opts: argparse.Namespace, *, with_pages: bool = False) -> Iterator[Path]:
        """Context: the crawl's directory. For a `shared` crawl it is a temporary copy, on request with the workers'
        pages. Raises `StorageError`.
        """
        with self.shared(opts) as shared:
            if shared is None:
                yield self.directory(opts)
                return
            from sitecrawl.cluster.copy import copied  # noqa: PLC0415 - Redis, as above

            with copied(shared, self.stores(opts, shared) if with_pages else ()) as directory:
                yield directory

    def stores(self, opts: argparse.Namespace, shared: CrawlOnRedis) -> list[Path]:
        """The workers' directories: those named by `--directory`, or else those found here."""
        if opts.directory is not None:
            return stores_of(Path(opts.directory))
        try:
            return [store for store in stores_of(self.directory(opts)) if shared.has(store)]
        except StorageError:
            return []

    @contextmanager
    def pages(self, opts: argparse.Namespace) -> Iterator[Reader]:
        """Context: a reader of the stored pages; with SITECRAWL_CLUSTER without those that do not count. Raises
        `StorageError`.
        """
        directory = self.directory(opts)
        with open_pages(directory, self.void(stores_of(directory))) as reader:
            yield reader


class ListingCommand(ReadingCommand):
    """A command that lists rows, with the options `--limit` and `--format`."""

    formats: Sequence[str] = FORMATS
    limit: int | None = None
    """Default of `--limit`; None for all rows."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        default = "" if self.limit is None else f" (default: {self.limit})"
        parser.add_argument("--limit", type=int, metavar="N", default=self.limit, help=f"at most this many{default}")
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
