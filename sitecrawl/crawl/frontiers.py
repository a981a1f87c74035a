"""Make a crawl's frontier: its own, or a worker's share of one on Redis."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.misc import build_from_crawler

from sitecrawl.base import declared
from sitecrawl.base.errors import FormatMismatch, OptionError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl import configuration
from sitecrawl.crawl.components import class_named
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import WORKER
from sitecrawl.frontier.contract import Contents, Frontier, Listener, LiveHosts, Manners, Records
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.crawl_seen import CrawlSeen, SeenKeeper
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.territory import Territory
from sitecrawl.http.sheets import Sheets

if TYPE_CHECKING:
    from sitecrawl.cluster.join import Joined
    from sitecrawl.cluster.partitions import WorkerListener
    from sitecrawl.cluster.shared_frontier import SharedFrontier

_PARTS: Final = {"urls": Records, "hosts": LiveHosts, "manners": Manners, "contents": Contents}
"""Parts of a frontier, and what the crawl asks of each."""
NEEDS_OURS: Final = "{} needs sitecrawl's own frontier: leave out SITECRAWL_FRONTIER"


def own_frontier(crawler: Crawler, listener: Listener) -> Frontier | None:
    """Made as `from_crawler(crawler, listener)`, or of the listener alone; None where the settings name none.

    Raises `OptionError` for a class that cannot be loaded, or is not whole, parts included.
    """
    named = declared.FRONTIER.read(crawler.settings)
    if not named:
        return None
    found = class_named(declared.FRONTIER.name, named)
    if lacking := _lacking(found, Frontier):
        raise OptionError(f"SITECRAWL_FRONTIER is {named!r}, which is no frontier: it has no {', '.join(lacking)}")
    made: Frontier = build_from_crawler(found, crawler, listener)
    for name, contract in _PARTS.items():
        if lacking := _lacking(getattr(made, name), contract):
            raise OptionError(
                f"SITECRAWL_FRONTIER is {named!r}, whose part `{name}` has no {', '.join(lacking)}: leave that name "
                "to the part, and call what is yours otherwise (docs/design/frontier.md, Its parts)"
            )
    return made


def _lacking(found: object, contract: type) -> list[str]:
    """Members of `contract` that `found` has not, or has as the contract's own."""
    members = {name: member for name, member in vars(contract).items() if not name.startswith("_")}
    return [name for name, empty in members.items() if getattr(found, name, empty) is empty]


_HOST_KEYS_KEPT: Final = 16_384
"""Host keys cached in memory."""


@dataclass(frozen=True, slots=True)
class OurFrontier:
    """Sitecrawl's frontier of a crawl; neither `whole` nor `team` where a project has one of its own."""

    terms: TermsByHost
    """What holds for the crawl and its hosts now."""
    whole: DiskFrontier | None = None
    """The crawl as a whole, all of it in this process: hosts, sections, credit; None on a cluster."""
    team: SharedFrontier | None = None
    """The frontier of a worker; None where there is no cluster."""

    @property
    def local(self) -> DiskFrontier:
        """Of what is in this process: the whole crawl, or a worker's part, another one whenever sites come or go.
        Raises `OptionError` where a project has a frontier of its own.
        """
        found = self.whole if self.team is None else self.team.frontier
        if found is None:
            raise OptionError(NEEDS_OURS.format("This"))
        return found

    @property
    def is_replaced(self) -> bool:
        """Whether a project has a frontier of its own, so that there is no `local`."""
        return self.whole is None and self.team is None

    @property
    def max_pages(self) -> int:
        """Current limit of URLs to fetch; 0 for none."""
        return self.terms.max_pages if self.team is None else self.team.run.max_pages

    def save(self) -> None:
        """The last checkpoint is made: make the next start quick."""
        if self.whole is not None:
            self.whole.save()


class FrontierFactory:
    """Makes the frontiers of one crawl in this process, all on the same `terms`. Raises `OptionError`.

    `host_key` gives the key of a host by its name, `fingerprint` that of a URL. `filter_file` is the seen set's.
    """

    def __init__(
        self,
        settings: BaseSettings,
        sheets: Sheets,
        filter_file: Path,
        *,
        host_key: Callable[[str], bytes],
        fingerprint: Callable[[str], bytes],
    ) -> None:
        self._settings = settings
        self.terms = configuration.live_terms(settings, sheets)
        self._filter_file = filter_file
        self._host_key = lru_cache(maxsize=_HOST_KEYS_KEPT)(host_key)
        self._fingerprint = fingerprint

    def own(self, database: Database, listener: Listener) -> DiskFrontier:
        """The frontier of a single process. Raises `FormatMismatch` for a worker's database."""
        if database.get("meta", WORKER) is not None:
            raise FormatMismatch(
                f"{self._filter_file.parent} belongs to a worker, and has a part of a crawl that others share: "
                "go on with the settings that began it (SITECRAWL_WORKERS or SITECRAWL_CLUSTER)"
            )
        return self._over(database, self._seen(), listener)

    def of_worker(self, database: Database, joined: Joined, listener: WorkerListener) -> SharedFrontier:
        """The frontier of a worker on the joined crawl. Raises `OptionError`."""
        from sitecrawl.crawl.shared_frontiers import shared_frontier  # noqa: PLC0415 - Redis, for those who share

        self.terms.max_pages = 0  # it is that of all workers

        def make(database: Database, territory: Territory, seen: SeenKeeper) -> DiskFrontier:
            return self._over(database, seen, listener, territory)

        return shared_frontier(joined, database, make, self._seen(), listener)

    def _seen(self) -> CrawlSeen:
        return CrawlSeen(self._filter_file, configuration.seen(self._settings), hash_name=HASH_NAME)

    def _over(
        self, database: Database, seen: SeenKeeper, listener: Listener, territory: Territory | None = None
    ) -> DiskFrontier:
        return DiskFrontier(
            database,
            configuration.order(self._settings),
            seen=seen,
            host_key=self._host_key,
            fingerprint=self._fingerprint,
            listener=listener,
            clock=time.monotonic,
            wall=time.time,
            politeness=configuration.politeness(self._settings),
            options=configuration.frontier(self._settings),
            terms=self.terms,
            territory=territory,
        )
