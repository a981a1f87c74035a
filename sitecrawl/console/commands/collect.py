"""`scrapy collect`: the pages of many workers in one place."""

from __future__ import annotations

import argparse
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.display import counted
from sitecrawl.console.base_command import SharedCommand
from sitecrawl.crawl import configuration
from sitecrawl.pagestore.collecting import collect
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.workers import stores_below


class Command(SharedCommand):
    """Copy what the workers of a crawl have stored into one new directory: WARC files and page index, every page
    once. The workers' directories are not changed. The workers may be running: what they have stored up to their last
    checkpoints is taken.
    """

    usage = "[options] <worker's directory, or that of all> ..."
    summary = "Copy the pages of many workers into one directory"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="DIR", help="the new directory, or an empty one")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or opts.output is None:
            raise UsageError("Name the workers' directories, and where to: scrapy collect crawls/mine -o crawls/all")
        target = Path(opts.output)
        with exit_code_on_error(self):
            workers = [worker for path in map(Path, args) for worker in stores_below(path) or [path]]
            warc = configuration.warc(self.settings, configuration.sheets(self.settings), target.name)
            found = collect(workers, target, warc, self.void(workers))
            print(f"{counted(found.captures, 'capture')}, {found.pages:,} of them pages: scrapy pages -d {target}")
            if found.left_out:
                print(f"Left out: {found.left_out:,} that do not count, as other workers have stored these pages")
