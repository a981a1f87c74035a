"""`scrapy check-crawl`: is the crawl whole, and if not, what to do."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.display import counted
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.address import SCHEMES
from sitecrawl.cluster.outside import opened
from sitecrawl.cluster.own_redis import own_redis
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import sharing
from sitecrawl.crawl.directories import CRAWLS
from sitecrawl.crawldir.directory import had_redis, manifest_of, workers_below
from sitecrawl.pagestore.console import crawl_directory, exit_code_on_error
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair, upgrade
from sitecrawl.plugins.checking.redis_check import check as check_redis


class Command(DescribedCommand):
    """Check a crawl's directory: files, credit, counts, queue and stored pages, each against the others. Without a
    directory it is the newest below crawls/. The crawl must not be running. With --repair, page index and database
    are made again from the WARC files; with --upgrade a page index of an older format is. With the URL of a Redis,
    check the crawl of many workers that SITECRAWL_CLUSTER_CRAWL names: its keys, and each partition like a crawl's
    directory. If the workers' directories follow, all of them or the one above them, what they have stored is
    checked, too. So is the directory of a crawl whose workers have a Redis of their own. Exit codes: 0 if the crawl
    is sound, 1 if it is not, 2 if it cannot be checked.
    """

    usage = "[options] [directory | redis://... [worker's directory ...]]"
    summary = "Check a crawl's directory, and repair it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--repair", action="store_true", help="make index and database again from the WARC files")
        how.add_argument("--upgrade", action="store_true", help="bring an older crawl to the formats of this version")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args and args[0].startswith(SCHEMES):
            with exit_code_on_error(self, 2):
                self.exitcode = self._on_redis(args[0], args[1:], "generic", opts)
            return
        if len(args) > 1:
            raise UsageError(f"unknown argument {args[1]!r}")
        with exit_code_on_error(self, 2):
            directory = crawl_directory(args[0] if args else None, CRAWLS)
            if had_redis(directory):
                self._by_many(directory, opts)
            else:
                self._alone(directory, opts)

    def _alone(self, directory: Path, opts: argparse.Namespace) -> None:
        result = upgrade(directory) if opts.upgrade else _repaired(directory) if opts.repair else check(directory)
        _list(result.problems, result.notes)
        numbers = (
            f"{counted(result.urls, 'URL')}, {result.waiting:,} of them waiting, "
            f"{counted(result.captures, 'capture')} read back"
        )
        if result.is_sound:
            print(f"{directory} is sound: {numbers}")
        else:
            print(f"{directory}: {counted(len(result.problems), 'fault')}; {numbers}")
        self.exitcode = 0 if result.is_sound else 1

    def _by_many(self, directory: Path, opts: argparse.Namespace) -> None:
        """What is in the directories of its workers, and on its Redis."""
        workers = workers_below(directory)
        if not workers:
            raise StorageError(f"{directory} holds no crawl: no worker has begun")
        with own_redis(directory) as url:
            assert url is not None
            self.exitcode = self._on_redis(url, [str(directory)], manifest_of(workers[0]).spider, opts)

    def _on_redis(self, url: str, named: list[str], spider: str, opts: argparse.Namespace) -> int:
        if opts.repair or opts.upgrade:
            raise UsageError("what is on Redis is only checked: restore it from a copy, or begin a new crawl")
        self.settings.set("SITECRAWL_CLUSTER", url, "cmdline")
        params, name = sharing.redis_of(self.settings), sharing.shared_name(self.settings, spider)
        assert params is not None
        directories = [worker for path in map(Path, named) for worker in workers_below(path) or [path]]
        with opened(params, name) as crawl:
            checked = check_redis(crawl, directories)
            _list(checked.faults, checked.notes)
            verdict = f"has {counted(len(checked.faults), 'fault')}" if checked.faults else "is sound"
            print(f"T{str(crawl)[1:]} {verdict}")
        return 1 if checked.faults else 0


def _repaired(directory: Path) -> CheckResult:
    before, after = repair(directory)
    if before is not after:
        print(f"Found before the repair: {len(before.problems)}")
        _list(before.problems, before.notes)
    return after


def _list(problems: Sequence[object], notes: Sequence[str]) -> None:
    for problem in problems:
        print(f"- {problem}")
    for note in notes:
        print(f"Note: {note}")
