"""`scrapy search`: pages by their words."""

from __future__ import annotations

import argparse
import sys

from scrapy.exceptions import UsageError

from sitecrawl.base.display import counted
from sitecrawl.base.errors import OptionError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import in_store, write
from sitecrawl.crawl.configuration import robots_agent
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.export.fulltext import HITS, SearchIndex, query_of
from sitecrawl.plugins.export.pages import pages_with_texts


class Command(ListingCommand):
    """Find the stored pages that contain all of the words, the best first. "Words in quotation marks" have to stand
    next to one another; begin* finds words that begin so. The first search builds an index of the crawl's pages, and
    each further one adds what was stored since. Works while the crawl runs.
    """

    usage = "[options] <words>"
    summary = "Search the texts of stored pages"
    limit = 10

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--no-update", action="store_true", help="search only what is in the index, and add nothing"
        )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        opts.words = " ".join(args)
        self.check_limit(opts)
        try:
            query_of(opts.words)
        except OptionError as error:
            raise UsageError(str(error), print_help=False) from error
        with exit_code_on_error(self):
            self.list(opts)

    def list(self, opts: argparse.Namespace) -> None:
        use, agent = USE.read(self.settings), robots_agent(self.settings)
        with (
            self.pages(opts) as reader,
            SearchIndex(reader.directory) as index,
            pages_with_texts(reader, agent=agent) as pages,
        ):
            if not opts.no_update:
                index.update(pages)
            hits = index.find(opts.words, opts.limit, importance=pages.importance_of)
            had, hits = len(hits), [hit for hit in hits if not pages.refuse(hit.url, use)]
            write(hits, HITS, sys.stdout, format=opts.format)
            if use:
                print(f"scrapy: left out, for they refuse {use}: {counted(pages.refused, 'page')}", file=sys.stderr)
            if not had:
                print(f"scrapy: no page has all of these words: {in_store(reader)}", file=sys.stderr)
