"""`scrapy check-crawl`: is the crawl whole, and if not, what to do."""

from __future__ import annotations

import argparse
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.checking import CheckResult, check, repair
from sitecrawl.cluster.audit import audit
from sitecrawl.cluster.connection import shown
from sitecrawl.console.base_command import DescribedCommand
from sitecrawl.crawl import configuration
from sitecrawl.crawl.configuration import CRAWLS
from sitecrawl.pagestore.console import crawl_directory, exit_code_on_error

_REDIS = ("redis://", "rediss://", "unix://")


class Command(DescribedCommand):
    """Verify a crawl's directory: files, credit, counts, queue and stored pages, each against the others. Without a
    directory it is the newest below crawls/. The crawl must not be running. With the URL of a Redis it is what a
    crawl of many workers has there, which SITECRAWL_CLUSTER_CRAWL names: its keys, records, counts and credit. Exit
    codes: 0 when the crawl is sound, 1 when it is not, 2 when it cannot be checked.
    """

    usage = "[options] [directory | redis://...]"
    summary = "Verify a crawl's directory, and repair it"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--quick", action="store_true", help="read back a sample of the stored pages, not all")
        how.add_argument("--repair", action="store_true", help="rebuild what can be rebuilt from what is there")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) > 1:
            raise UsageError(f"unknown argument {args[1]!r}")
        if args and args[0].startswith(_REDIS):
            if opts.repair or opts.quick:
                raise UsageError("what is on Redis is checked wholly, and cannot be repaired from here")
            with exit_code_on_error(self, 2):
                self.exitcode = self._check_redis(args[0])
            return
        with exit_code_on_error(self, 2):
            directory = crawl_directory(args[0] if args else None, CRAWLS)
            result = _repair(directory) if opts.repair else check(directory, quick=opts.quick)
            _tell(result, checked="sampled" if opts.quick else "read back")
            self.exitcode = 0 if result.is_sound else 1

    def _check_redis(self, url: str) -> int:
        assert self.settings is not None
        self.settings.set("SITECRAWL_CLUSTER", url, "cmdline")
        params, crawl = configuration.redis_of(self.settings), configuration.shared_name(self.settings, "generic")
        assert params is not None
        faults, has_workers = audit(params, crawl)
        for fault in faults:
            print(f"- {fault}")
        if has_workers:
            print("Note: workers are at work, so counts and credit were not checked")
        sound = "is sound" if not faults else f"has {len(faults):,} faults"
        print(f"The crawl {crawl!r} on Redis at {shown(params)} {sound}")
        return 1 if faults else 0


def _repair(directory: Path) -> CheckResult:
    before, after = repair(directory)
    if before is not after:
        print(f"Found before the repair: {len(before.problems)}")
        _list(before)
    return after


def _list(result: CheckResult) -> None:
    for problem in result.problems:
        print(f"- {problem}")
    for note in result.notes:
        print(f"Note: {note}")


def _tell(result: CheckResult, *, checked: str) -> None:
    _list(result)
    numbers = f"{result.urls:,} URLs, {result.waiting:,} of them waiting, {result.captures:,} captures {checked}"
    if result.is_sound:
        print(f"{result.directory} is sound: {numbers}")
    else:
        print(f"{result.directory}: {len(result.problems)} faults; {numbers}")
