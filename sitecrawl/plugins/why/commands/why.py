"""`scrapy why URL`: why a URL was fetched, waits, or is not known."""

from __future__ import annotations

import argparse
import json

from scrapy.exceptions import UsageError

from sitecrawl.base.display import visible
from sitecrawl.console.base_command import ReadingCommand
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.why.explain import why
from sitecrawl.plugins.why.why_source import SEARCHED, source_of


class Command(ReadingCommand):
    """Say why a URL was fetched, waits, was left out, or is not known; with the evidence, and what would help. Works
    while the crawl runs.
    """

    usage = "[options] <url>"
    summary = "Say why a URL was fetched, or was not"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--search-pages",
            type=int,
            metavar="N",
            default=SEARCHED,
            help=f"how many stored pages to search for links to an unknown URL (default: {SEARCHED:,})",
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("exactly one URL is needed")
        with exit_code_on_error(self), source_of(self, opts, opts.search_pages) as source:
            answer = why(source, args[0])
            if opts.json:
                print(json.dumps(answer.as_dict()))
            else:
                print("\n".join(visible(line) for line in answer.lines()))
