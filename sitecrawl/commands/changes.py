"""`scrapy changes`: what is new, changed, gone and moved."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.change_rows import CHANGES, ROUNDS, WITH_DIFFS
from sitecrawl.console.listing import write
from sitecrawl.console.texts import pages_with_texts
from sitecrawl.crawldir.database import Database
from sitecrawl.export.changes import changes
from sitecrawl.pagestore.printing import parse_since
from sitecrawl.recrawl.rounds import Round, read_rounds, span_of
from sitecrawl.urls.fingerprint import HASH_NAME


class Command(ListingCommand):
    """List the pages that are new, changed, gone or moved: by the last round (`-a again=1`), by another with --round,
    or since a time. Works while the crawl runs.
    """

    summary = "List pages that are new, changed, gone or moved"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--since", metavar="TIME", help="since then, in all: 2026-11-21, 12h, 7d")
        parser.add_argument("--round", type=int, metavar="N", help="by this round (default: the last one)")
        parser.add_argument("--rounds", action="store_true", help="list the rounds, and how many changes each found")
        parser.add_argument("--diff", action="store_true", help="also what has changed in the main text")

    def list(self, opts: argparse.Namespace) -> None:
        if sum((bool(opts.since), opts.round is not None, opts.rounds)) > 1:
            raise UsageError("--since, --round and --rounds are three questions: ask one", print_help=False)
        if opts.rounds:
            if opts.format == "urls":
                raise UsageError("a round has no URL: choose another --format", print_help=False)
            write(islice(self._rounds(opts), opts.limit), ROUNDS, sys.stdout, format=opts.format)
            return
        try:
            since = parse_since(opts.since, datetime.now(UTC)) if opts.since else None
        except OptionError as error:
            raise UsageError(f"--since: {error}", print_help=False) from error
        rounds = self._rounds(opts) if since is None else []
        with self.pages(opts) as reader, pages_with_texts(reader) as pages:
            if since is None:
                span = span_of(rounds, opts.round)
                spans = {name: span for name, _ in pages.stores}
            else:
                spans = {name: (store.last_before(since), store.last_id) for name, store in pages.stores}
            found = islice(changes(pages, spans), opts.limit)
            write(found, WITH_DIFFS if opts.diff else CHANGES, sys.stdout, format=opts.format)

    def _rounds(self, opts: argparse.Namespace) -> Sequence[Round]:
        """Raises `StorageError` where there was none."""
        directory = Path(self.directory(opts))
        found: Sequence[Round] = ()
        if (directory / "db").is_dir():
            with closing(Database(directory / "db", hash_name=HASH_NAME, read_only=True)) as database:
                found = read_rounds(database)
        if not found:
            raise StorageError(
                f"{directory} has had no further round: begin one with -a again=1, or name a time with --since"
            )
        return found
