"""What a person looks up: why a URL was fetched or was not, the last fetches, changes by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import PolitenessOptions
from sitecrawl.frontier.judge.held import HeldSets
from sitecrawl.http.sheets.change import Change, host_named, in_words
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.plugins.dashboard.meter import Meter
from sitecrawl.plugins.dashboard.tables import MAX_ROWS, Fields, Row, Table, Tables
from sitecrawl.urls.place import KINDS

if TYPE_CHECKING:
    from sitecrawl.plugins.why.source import Live

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
        runtime: Crawl,
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
            stores = self._runtime.pages.store is not None
            yield stack.enter_context(PageReader(self._runtime.directory.path)) if stores else None

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


def tables_of(runtime: Crawl, meter: Meter, paused: Callable[[], str], max_rows: int = MAX_ROWS) -> dict[str, Table]:
    """All tables of what this process has, by their names. `paused` says why nothing is asked for at all, empty while
    something is; `max_rows` are those of one answer.
    """

    def frontier() -> DiskFrontier:
        return runtime.ours.local

    politeness = configuration.politeness(runtime.crawler.settings)
    held = HeldSets(runtime.database, looked_at=HELD_LOOKED_AT)
    lists = Tables(frontier, politeness, meter, held=held, refusals=runtime.refusals.run, max_rows=max_rows)
    return {**lists.named, **Looks(runtime, frontier, politeness, meter, paused).named}
