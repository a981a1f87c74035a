"""`scrapy sitemaps`: the sitemaps of a crawl, what they yield, and when they are visited next."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from itertools import islice
from pathlib import Path

from scrapy.exceptions import UsageError

from sitecrawl.directory import MANIFEST, read_manifest
from sitecrawl.errors import StorageError
from sitecrawl.fingerprint import HASH_NAME, Fingerprinter
from sitecrawl.gathering.added import leave
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.printing import visible
from sitecrawl.reading_command import ReadingCommand
from sitecrawl.seeds import seeds_of
from sitecrawl.sitemap.printing import FORMATS, ordered, show, write
from sitecrawl.sitemap.record import Kind, SitemapRecord
from sitecrawl.sitemap.store import read_sitemaps
from sitecrawl.storage import Database
from sitecrawl.url import Canonicalizer, guess_url


class Command(ReadingCommand):
    def syntax(self) -> str:
        return "[options] [list | show <url> | add <url>... | export]"

    def short_desc(self) -> str:
        return "List the sitemaps of a crawl, or add some"

    def long_desc(self) -> str:
        return (
            "List the sitemaps, feeds and hub pages that a crawl has found, those that bring the most new links "
            "first; show all that is known of one; export the addresses of those that are valid; or add some, which "
            "the crawl visits at once, or when it is resumed. All of it works while the crawl runs."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", help="only this host (with :port where it is not the scheme's own)")
        parser.add_argument("--all", action="store_true", help="also addresses where there was none")
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many")
        parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        what, *urls = args or ["list"]
        self.check_limit(opts)
        wanted = {"list": not urls, "export": not urls, "show": len(urls) == 1, "add": bool(urls)}
        if not wanted.get(what, False):
            raise UsageError("name one of: list, show <url>, add <url>..., export", print_help=False)
        with exit_code_on_error(self):
            directory = self.directory(opts)
            key = _fingerprints(directory)
            if what == "add":
                _add(directory, urls)
            elif what == "show":
                _show(directory, key, urls[0])
            else:
                _list(directory, opts, format="urls" if what == "export" else opts.format)


def _fingerprints(directory: Path) -> Fingerprinter:
    manifest = read_manifest(directory)
    if manifest is None:
        raise StorageError(f"{directory} holds no crawl: it has no {MANIFEST}")
    return Fingerprinter(bytes.fromhex(manifest.key))


def _open(directory: Path) -> Database:
    return Database(directory / "db", hash_name=HASH_NAME, read_only=True)


def _list(directory: Path, opts: argparse.Namespace, *, format: str) -> None:  # noqa: A002 - as in `--format`
    with closing(_open(directory)) as database:
        records = [record for record in read_sitemaps(database) if _is_wanted(record, opts)]
    write(islice(ordered(records), opts.limit), sys.stdout, format=format)


def _is_wanted(record: SitemapRecord, opts: argparse.Namespace) -> bool:
    if opts.host is not None and record.host != opts.host:
        return False
    return opts.all or (record.kind == Kind.SITEMAP and record.successes > 0)


def _show(directory: Path, fingerprints: Fingerprinter, text: str) -> None:
    key = fingerprints.url(Canonicalizer().canonical(guess_url(text)))
    with closing(_open(directory)) as database:
        data = database.get("sitemaps", key)
    if data is None:
        raise StorageError(f"{visible(text)} is no sitemap that the crawl in {directory} knows")
    show(SitemapRecord.unpack(data), sys.stdout)


def _add(directory: Path, texts: list[str]) -> None:
    leave(directory, seeds_of(texts))
    print(
        f"Added. A crawl that gathers takes them up at once, another when it is resumed with -a watch=1: {directory}"
    )
