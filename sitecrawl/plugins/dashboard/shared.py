"""What one of many workers watches and shows: itself and all others. Imported where a crawl is shared."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawl.shared_frontiers import board_of
from sitecrawl.plugins.dashboard.actions import ClusterActions
from sitecrawl.plugins.dashboard.cluster import ClusterMonitor
from sitecrawl.plugins.dashboard.everyone import EveryTable
from sitecrawl.plugins.dashboard.merging import PART_ROWS
from sitecrawl.plugins.dashboard.meter import Meter
from sitecrawl.plugins.dashboard.page import Page
from sitecrawl.plugins.dashboard.streams import Streams
from sitecrawl.plugins.dashboard.tables import Table


class Shared(NamedTuple):
    """A worker's parts of a dashboard."""

    monitor: ClusterMonitor
    page: Page
    """Its own, which it shows to the others."""
    tables: EveryTable

    @property
    def named(self) -> dict[str, Table]:
        """The tables of the whole crawl, by their names."""
        same_on_all = {name: self.page.tables[name] for name in ("changes", "terms")}
        return {**self.tables.named, **same_on_all}


def begin(
    runtime: Runtime, actions: ClusterActions, streams: Streams, spider: str, page_of: Callable[[Meter, int], Page]
) -> Shared:
    """Watch the crawl with the others. `page_of` makes this worker's page, by its meter and the rows of an answer."""
    assert runtime.team is not None
    assert runtime.joined is not None
    board = board_of(runtime.joined, runtime.peers.session)
    monitor = ClusterMonitor(runtime, runtime.team, board, actions, spider=spider, watched=lambda: len(streams) > 0)
    page = page_of(monitor.meter, PART_ROWS)
    tables = EveryTable(page.tables, board, monitor.others)
    monitor.on_questions = tables.hear
    return Shared(monitor, page, tables)
