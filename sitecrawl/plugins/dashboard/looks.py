"""What a person looks up: why a URL was fetched or was not, and what waits of a host."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawldir.database import next_prefix
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import Host, PolitenessOptions
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.plugins.dashboard.tables import Fields, Query, Row

if TYPE_CHECKING:
    from sitecrawl.plugins.why.source import Live

_KEY_AT: Final = 12 + RANK_BYTES
"""Where in a key of the queue the fingerprint begins."""


class Looks:
    """Answers are of the last checkpoint, and take some milliseconds. `frontier` gives that of now; `paused` why
    nothing is asked for at all, empty while something is.
    """

    def __init__(
        self,
        runtime: Runtime,
        frontier: Callable[[], DiskFrontier],
        politeness: PolitenessOptions,
        paused: Callable[[], str],
    ) -> None:
        self._runtime = runtime
        self._frontier = frontier
        self._politeness = politeness
        self._paused = paused

    # Why?

    async def why(self, fields: Fields) -> Row:
        """The answer for the field `url`. Raises `OptionError`."""
        if "why" not in plugins.found():
            raise OptionError("This needs the plug-in why, which is not here")
        from sitecrawl.plugins.why.explain import why  # noqa: PLC0415 - as it says
        from sitecrawl.plugins.why.source import Source  # noqa: PLC0415

        with self.pages() as pages:
            source = Source(self._runtime.database, self._runtime.directory.manifest, pages, live=self._live)
            return why(source, fields.get("url", "")).as_dict()

    @contextmanager
    def pages(self) -> Iterator[PageReader | None]:
        """The stored pages; None where none are stored. Raises `StorageError`."""
        with ExitStack() as stack:
            stores = self._runtime.pages.store is not None
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

    async def queue(self, fields: Fields) -> Row:
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


def _queued(record: UrlRecord, section: Section) -> Row:
    return {
        "url": record.url,
        "shape": section.shape,
        "held": section.trap.demoted,
        "depth": record.depth,
        "attempts": record.attempts,
    }
