"""`scrapy check-crawl`: is the crawl whole, and if not, what to do."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.address import SCHEMES
from sitecrawl.cluster.outside import opened
from sitecrawl.cluster.own_redis import own_redis
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import sharing
from sitecrawl.crawl.directories import CRAWLS
from sitecrawl.crawldir.directory import had_redis, manifest_of, workers_below
from sitecrawl.pagestore.console import crawl_directory, exit_code_on_error
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair
from sitecrawl.plugins.checking.redis_check import check as check_redis
from sitecrawl.plugins.checking.redis_repair import repair as repair_redis


class Command(DescribedCommand):
    """Check a crawl's directory: files, credit, counts, queue and stored pages, each against the others. Without a
    directory it is the newest below crawls/. The crawl must not be running. With the URL of a Redis, check the crawl
    of many workers that SITECRAWL_CLUSTER_CRAWL names: its keys, and each partition like a crawl's directory. If the
    workers' directories follow, all of them or the one above them, what they have stored is checked, too. So is the
    directory of a crawl whose workers have a Redis of their own. With --repair, pages that are in none of the
    directories are fetched again. Exit codes: 0 if the crawl is sound, 1 if it is not, 2 if it cannot be checked.
    """

    usage = "[options] [directory | redis://... [worker's directory ...]]"
    summary = "Check a crawl's directory, and repair it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--quick", action="store_true", help="read back only a sample of the stored pages")
        how.add_argument("--repair", action="store_true", help="rebuild what can be rebuilt")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args and args[0].startswith(SCHEMES):
            if opts.quick:
                raise UsageError("what is on Redis is checked wholly")
            with exit_code_on_error(self, 2):
                self.exitcode = self._on_redis(args[0], args[1:], "generic", repairs=opts.repair)
            return
        if len(args) > 1:
            raise UsageError(f"unknown argument {args[1]!r}")
        with exit_code_on_error(self, 2):
            directory = crawl_directory(args[0] if args else None, CRAWLS)
            if had_redis(directory):
                self._by_many(directory, opts)
                return
            result = _repair(directory) if opts.repair else check(directory, quick=opts.quick)
            _tell(result, checked="sampled" if opts.quick else "read back")
            self.exitcode = 0 if result.is_sound else 1

    def _by_many(self, directory: Path, opts: argparse.Namespace) -> None:
        """What is in the directories of its workers, and on its Redis."""
        if opts.quick:
            raise UsageError("what is on Redis is checked wholly")
        workers = workers_below(directory)
        if not workers:
            raise StorageError(f"{directory} holds no crawl: no worker has begun")
        with own_redis(directory) as url:
            assert url is not None
            self.exitcode = self._on_redis(url, [str(directory)], manifest_of(workers[0]).spider, repairs=opts.repair)

    def _on_redis(self, url: str, named: list[str], spider: str, *, repairs: bool) -> int:
        assert self.settings is not None
        self.settings.set("SITECRAWL_CLUSTER", url, "cmdline")
        params, name = sharing.redis_of(self.settings), sharing.shared_name(self.settings, spider)
        assert params is not None
        directories = [worker for path in map(Path, named) for worker in workers_below(path) or [path]]
        with opened(params, name) as crawl:
            if repairs:
                found = repair_redis(crawl, directories)
                if found.before:
                    print(f"Found before the repair: {len(found.before)}")
                _list(found.before, found.notes)
                if found.queued:
                    print(f"{found.queued:,} pages are stored nowhere any more, and will be fetched again")
                faults: Sequence[str] = found.after
            else:
                checked = check_redis(crawl, directories)
                faults = checked.faults
                _list([], checked.notes)
            _list(faults, [])
            print(f"T{str(crawl)[1:]} {f'has {len(faults):,} faults' if faults else 'is sound'}")
        return 1 if faults else 0


def _repair(directory: Path) -> CheckResult:
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


def _tell(result: CheckResult, *, checked: str) -> None:
    _list(result.problems, result.notes)
    numbers = f"{result.urls:,} URLs, {result.waiting:,} of them waiting, {result.captures:,} captures {checked}"
    if result.is_sound:
        print(f"{result.directory} is sound: {numbers}")
    else:
        print(f"{result.directory}: {len(result.problems)} faults; {numbers}")
