"""What is shown to whoever looks: the tables of this process, and the site that has them.

Imported when somebody looks, or another worker may ask: web server, templates and tables take longer to import than
all of the crawl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from sitecrawl.crawl import configuration
from sitecrawl.frontier.judge.held import HeldSets
from sitecrawl.plugins.dashboard.backend import Backend
from sitecrawl.plugins.dashboard.changed import ChangedTables
from sitecrawl.plugins.dashboard.looks import Looks
from sitecrawl.plugins.dashboard.tables import MAX_ROWS, Table, Tables
from sitecrawl.plugins.dashboard.web import site_of
from sitecrawl.sitemap.store import SitemapStore

if TYPE_CHECKING:
    from twisted.web.server import Site

    from sitecrawl.crawl.runtime import Runtime
    from sitecrawl.frontier.disk import DiskFrontier
    from sitecrawl.plugins.dashboard.actions import Actions
    from sitecrawl.plugins.dashboard.fetches import LastFetches
    from sitecrawl.plugins.dashboard.guard import Guard
    from sitecrawl.plugins.dashboard.meter import Meter
    from sitecrawl.plugins.dashboard.monitor import Monitor
    from sitecrawl.plugins.dashboard.streams import Streams

HELD_LOOKED_AT: Final = 100
"""Rows of each queue that samples of what is held back are drawn from: the crawl waits meanwhile."""


class Page:
    """`paused` says why nothing is asked for at all, empty while something is; `max_rows` are those of one answer, 0
    for as many as a page shows.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        meter: Meter,
        fetches: LastFetches,
        paused: Callable[[], str],
        max_rows: int = 0,
    ) -> None:
        def frontier() -> DiskFrontier:
            return runtime.local

        def sitemaps() -> SitemapStore | None:
            return getattr(getattr(runtime.crawler.spider, "sitemaps", None), "store", None)

        politeness = configuration.politeness(runtime.crawler.settings)
        held = HeldSets(runtime.database, looked_at=HELD_LOOKED_AT)
        refusals = runtime.refusals.run
        most = max_rows or MAX_ROWS
        own = Tables(frontier, politeness, meter, sitemaps, held=held, refusals=refusals, max_rows=most)
        changed = ChangedTables(runtime.changes)
        looks = Looks(runtime, frontier, politeness, paused)
        self.tables: dict[str, Table] = {
            **own.named,
            "why": looks.why,
            "queue": looks.queue,
            "fetches": fetches.table,
            "changes": changed.changes,
            "terms": changed.terms,
        }
        """Of what this process has, by their names."""

    def site(
        self, monitor: Monitor, tables: Mapping[str, Table], actions: Actions, streams: Streams, guard: Guard
    ) -> Site:
        """All that is served, to those whom `guard` admits. `tables` are those of the whole crawl."""
        return site_of(Backend(monitor, dict(tables), actions, streams), guard)
