"""`scrapy sitemaps`: the sitemaps of a crawl, what they yield, and when they are visited next."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final

from scrapy.exceptions import UsageError

from sitecrawl.base.display import one_line, visible
from sitecrawl.base.errors import StorageError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import Layout, write
from sitecrawl.crawl.sitemaps.entry import Problem
from sitecrawl.crawl.sitemaps.record import DAY, NEVER, SitemapKind, SitemapRecord
from sitecrawl.crawl.sitemaps.store import read_sitemaps
from sitecrawl.crawldir.directory import database_to_read, manifest_of, workers_below
from sitecrawl.pagestore.console import exit_code_on_error
from sitecrawl.pagestore.lookup import candidate_keys
from sitecrawl.urls.fingerprint import Fingerprinter

_TIMES: Final = frozenset({"found", "visited", "lastmod", "newest", "next_visit"})
_HIDDEN: Final = frozenset({"digest", "text_hash", "gain", "watched", "listed"})


def _facts(record: SitemapRecord) -> dict[str, Any]:
    """Facts by name; times as ISO 8601, None for never."""
    found = {f.name: _plain(f.name, getattr(record, f.name)) for f in fields(record) if f.name not in _HIDDEN}
    return found | {
        "success_rate": round(record.success_rate, 3),
        "good_share": round(record.good_share, 3),
        "spam_share": round(record.spam_share, 3),
        "trust": round(record.trust, 3),
        "links_a_day": round(record.rate * DAY, 3),
    }


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return _time_of(value)
    if name == "news":
        return [[_time_of(at), count] for at, count in value]
    if isinstance(value, Problem):
        return [str(problem.name).lower() for problem in Problem if problem in value]
    return value.name.lower() if isinstance(value, Enum) else value


def _time_of(at: float) -> str | None:
    """Unix seconds in ISO 8601; None for never."""
    if not 0 < at < NEVER:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, part)) if isinstance(part, list) else str(part) for part in value) or "-"
    return "-" if value is None or value == "" else str(value)


def _row(record: SitemapRecord) -> str:
    following = (_time_of(record.next_visit) or "-")[:16]
    return (
        f"{record.state.name.lower():<8} {record.form.value:<7} {record.how.value:<6} "
        f"{record.entries:>9,} {record.new:>9,} {record.good_share:>5.0%} {record.spam_share:>5.0%}  "
        f"{following:<16}  {one_line(record.url)}"
    )


_SITEMAPS: Final = Layout(
    f"{'state':<8} {'form':<7} {'how':<6} {'entries':>9} {'new':>9} {'good':>5} {'spam':>5}  next visit        url",
    _row,
    tuple(_facts(SitemapRecord("", ""))),
    _facts,
)


class Command(ListingCommand):
    """List the sitemaps, feeds and hub pages that a crawl has found; those that bring the most new links come first.
    `show` prints all that is known about one. Works while the crawl runs.
    """

    usage = "[options] [list | show <url>]"
    summary = "List the sitemaps of a crawl"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", help="only this host (with :port if it is not the scheme's own)")
        parser.add_argument("--all", action="store_true", help="also addresses without a sitemap")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        what, *urls = args or ["list"]
        self.check_limit(opts)
        wanted = {"list": not urls, "show": len(urls) == 1}
        if not wanted.get(what, False):
            raise UsageError("name one of: list, show <url>", print_help=False)
        with exit_code_on_error(self):
            if what == "show":
                with self.crawl(opts) as directory:
                    _show(directory, urls[0])
            else:
                self.list(opts)

    def list(self, opts: argparse.Namespace) -> None:
        found: dict[str, SitemapRecord] = {}
        with self.crawl(opts) as directory:
            for place in _places(directory):
                with database_to_read(place) as database:
                    for record in read_sitemaps(database):
                        found[record.url] = max(found.get(record.url, record), record, key=_knowledge)
        records = [record for record in found.values() if _is_wanted(record, opts)]
        records.sort(key=lambda record: (-record.rate, record.url))
        write(records[: opts.limit], _SITEMAPS, sys.stdout, format=opts.format)


def _places(directory: Path) -> list[Path]:
    """Directories with sitemaps: the crawl's, or its workers'."""
    places = workers_below(directory) or [directory]
    for place in places:
        manifest_of(place)
    return places


def _knowledge(record: SitemapRecord) -> tuple[int, float]:
    """Order of the workers' records of one sitemap: only one worker reads it."""
    return record.visits, record.visited


def _is_wanted(record: SitemapRecord, opts: argparse.Namespace) -> bool:
    if opts.host is not None and record.host != opts.host:
        return False
    return opts.all or (record.kind == SitemapKind.SITEMAP and record.successes > 0)


def _show(directory: Path, text: str) -> None:
    places = _places(directory)
    keys = [Fingerprinter(manifest_of(places[0]).fingerprint_key).url(key) for key in candidate_keys(text)]
    found = []
    for place in places:
        with database_to_read(place) as database:
            found += [SitemapRecord.unpack(data) for data in database.get_many("sitemaps", keys) if data is not None]
    if not found:
        raise StorageError(f"{visible(text)} is no sitemap that the crawl in {directory} knows")
    for name, value in _facts(max(found, key=_knowledge)).items():
        print(f"{name.replace('_', ' '):<14} {one_line(_words(value))}")
