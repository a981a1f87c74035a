"""What a person looks up: why a URL was fetched, what waits of a host, the last fetches, changes by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawldir.database import next_prefix
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import Host, PolitenessOptions
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.judge.held import HeldSets
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.plugins.dashboard.meter import Meter
from sitecrawl.plugins.dashboard.tables import MAX_ROWS, Fields, Query, Row, Table, Tables
from sitecrawl.sheets.change import Change, host_named, in_words
from sitecrawl.sitemap.store import SitemapStore
from sitecrawl.urls.place import KINDS

if TYPE_CHECKING:
    from sitecrawl.plugins.why.source import Live

_KEY_AT: Final = 12 + RANK_BYTES
"""Where in a key of the queue the fingerprint begins."""
HELD_LOOKED_AT: Final = 100
"""Rows of each queue that samples of what is held back are drawn from: the crawl waits meanwhile."""
CHANGES: Final = 200
"""That are shown, the newest."""


class Looks:
    """Answers are of the last checkpoint, and take some milliseconds. `frontier` gives that of now; `paused` why
    nothing is asked for at all, empty while something is.
    """

    def __init__(
        self,
        runtime: Runtime,
        frontier: Callable[[], DiskFrontier],
        politeness: PolitenessOptions,
        meter: Meter,
        paused: Callable[[], str],
    ) -> None:
        self._runtime = runtime
        self._meter = meter
        self._frontier = frontier
        self._politeness = politeness
        self._paused = paused
        self.named: dict[str, Table] = {
            "why": self._why,
            "queue": self._queue,
            "fetches": self._fetches,
            "changes": self._changes,
            "terms": self._terms,
        }

    # Why?

    async def _why(self, fields: Fields) -> Row:
        """The answer for the field `url`. Raises `OptionError`."""
        if "why" not in plugins.found():
            raise OptionError("This needs the plug-in why, which is not here")
        from sitecrawl.plugins.why.explain import why  # noqa: PLC0415 - as it says
        from sitecrawl.plugins.why.source import Source  # noqa: PLC0415

        with self._pages() as pages:
            source = Source(self._runtime.database, self._runtime.directory.manifest, pages, live=self._live)
            return why(source, fields.get("url", "")).as_dict()

    @contextmanager
    def _pages(self) -> Iterator[PageReader | None]:
        """The stored pages; None where none are stored. Raises `StorageError`."""
        with ExitStack() as stack:
            stores = self._runtime.store is not None
            yield stack.enter_context(PageReader(self._runtime.path)) if stores else None

    def _live(self, key: bytes, name: str) -> Live | None:
        frontier = self._frontier()
        host = frontier.hosts.find(name)
        if host is None:
            return None
        from sitecrawl.plugins.why.source import Live  # noqa: PLC0415 - this is called by its `Source` alone

        return Live(
            in_flight=key in frontier.in_flight,
            rest=max(0.0, host.free_at - time.monotonic()),
            failures=host.failures,
            dead=host.is_dead(self._politeness),
            paused=self._paused(),
        )

    # What waits

    async def _queue(self, fields: Fields) -> Row:
        """URLs that wait of the host in the field `host`, section by section, each in its order, as of the last
        checkpoint; those in flight are among them. Raises `OptionError`.
        """
        query = Query.read(fields)
        name = fields.get("host", "").strip().lower()
        host = self._frontier().hosts.find(name) if name else None
        if host is None:
            raise OptionError(f"The crawl knows no host {name!r}" if name else "Name a host")
        found = list(islice(self._entries(host), query.offset, query.offset + query.limit))
        records = self._runtime.database.get_many("urls", [key for key, _ in found])
        pairs = zip(records, found, strict=True)
        rows = [_queued(UrlRecord.unpack(data), section) for data, (_, section) in pairs if data is not None]
        return {"rows": rows, "total": host.queued, "offset": query.offset, "host": host.name}

    def _entries(self, host: Host) -> Iterator[tuple[bytes, Section]]:
        """Fingerprints, and where they wait."""
        sections = sorted(host.sections.values(), key=lambda one: (one.trap.demoted, -one.worth, one.shape))
        for section in sections:
            for key, _ in self._runtime.database.scan("queue", section.key, next_prefix(section.key)):
                yield key[_KEY_AT:], section

    # What was fetched, and what was changed

    async def _fetches(self, _: Fields) -> Row:
        """The newest first."""
        return {"rows": [*reversed(self._meter.last)], "total": len(self._meter.last)}

    async def _changes(self, _: Fields) -> Row:
        """The newest first. On a cluster every worker has heard of all changes."""
        found = self._runtime.changes.all
        return {"rows": [_changed(change) for change in reversed(found[-CHANGES:])], "total": len(found)}

    async def _terms(self, fields: Fields) -> Row:
        """What holds for the host in the field `host`, or for the crawl. Of an option that has one of a few values,
        `choices` has all of them. Raises `OptionError`.
        """
        host = host_named(fields.get("host", ""))
        return {"host": host, "values": self._runtime.changes.values(host), "choices": {"scope": KINDS}}


def _changed(change: Change) -> Row:
    return {
        "at": change.at,
        "option": change.option,
        "host": change.host,
        "before": in_words(change.option, change.before),
        "after": in_words(change.option, change.after),
        "by": change.by,
    }


def _queued(record: UrlRecord, section: Section) -> Row:
    return {
        "url": record.url,
        "shape": section.shape,
        "held": section.trap.demoted,
        "depth": record.depth,
        "attempts": record.attempts,
    }


def tables_of(
    runtime: Runtime, meter: Meter, paused: Callable[[], str], max_rows: int = MAX_ROWS
) -> dict[str, Table]:
    """All tables of what this process has, by their names. `paused` says why nothing is asked for at all, empty while
    something is; `max_rows` are those of one answer.
    """

    def frontier() -> DiskFrontier:
        return runtime.local

    def sitemaps() -> SitemapStore | None:
        return getattr(getattr(runtime.crawler.spider, "sitemaps", None), "store", None)

    politeness = configuration.politeness(runtime.crawler.settings)
    held = HeldSets(runtime.database, looked_at=HELD_LOOKED_AT)
    lists = Tables(frontier, politeness, meter, sitemaps, held=held, refusals=runtime.refusals.run, max_rows=max_rows)
    return {**lists.named, **Looks(runtime, frontier, politeness, meter, paused).named}
