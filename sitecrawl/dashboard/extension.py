"""The Scrapy extension: watches the crawl, keeps its history, and serves its page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.error import CannotListenError
from twisted.internet.task import LoopingCall

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.line import say
from sitecrawl.cluster.shared_frontier import SharedFrontier
from sitecrawl.crawl import configuration
from sitecrawl.crawl.checkpoints import has_our_scheduler
from sitecrawl.crawl.ending import ending_of
from sitecrawl.crawl.frontiers import board_of
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.dashboard.actions import Actions, ClusterActions
from sitecrawl.dashboard.backend import Backend
from sitecrawl.dashboard.changed import ChangedTables
from sitecrawl.dashboard.cluster import ClusterMonitor
from sitecrawl.dashboard.everyone import EveryTable
from sitecrawl.dashboard.fetches import LastFetches
from sitecrawl.dashboard.guard import LOOPBACK, address_of, port_of, token_of
from sitecrawl.dashboard.looks import Looks
from sitecrawl.dashboard.merging import PART_ROWS
from sitecrawl.dashboard.meter import Meter
from sitecrawl.dashboard.metrics import Metric, metrics
from sitecrawl.dashboard.monitor import LocalMonitor, Monitor
from sitecrawl.dashboard.popular import Popular
from sitecrawl.dashboard.preview import preview
from sitecrawl.dashboard.searching import SearchPage
from sitecrawl.dashboard.streams import Streams
from sitecrawl.dashboard.tables import MAX_ROWS, Table, Tables
from sitecrawl.dashboard.web import Server
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.held import HeldSets
from sitecrawl.sitemap.store import SitemapStore

logger = logging.getLogger(__name__)

SAMPLE_SECONDS: Final = 1.0
HELD_LOOKED_AT: Final = 100
"""Rows of each queue that samples of what is held back are drawn from: the crawl waits meanwhile."""


class Dashboard:
    """`SITECRAWL_DASHBOARD`: whether the page is served; `SITECRAWL_DASHBOARD_ADDRESS` and
    `SITECRAWL_DASHBOARD_PORT`: where, 0 for any free port; `SITECRAWL_DASHBOARD_TOKEN`: the secret in its address,
    a new one for every run if it is empty.

    The history is kept in any case: the report is made of it.
    """

    def __init__(
        self,
        crawler: Crawler,
        *,
        address: str,
        port: int | None,
        token: str,
        has_own_token: bool,
        announces: bool,
    ) -> None:
        self._crawler = crawler
        self._address = address
        self._port = port
        """None where nothing is to be served."""
        self._token = token
        self._has_own_token = has_own_token
        self._announces = announces
        self._streams = Streams()
        self._server: Server | None = None
        self._has_failed = False
        self._popular: Popular | None = None
        """None before the crawl begins."""
        self._of_all: EveryTable | None = None
        """None where there is no cluster."""
        self._ticks: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Dashboard:
        settings = crawler.settings
        if not has_our_scheduler(settings):
            raise NotConfigured  # with a reason, it would be a warning
        serves = settings.getbool("SITECRAWL_DASHBOARD", default=True)
        token = configuration.secret(settings, "SITECRAWL_DASHBOARD_TOKEN")
        dashboard = cls(
            crawler,
            address=address_of(settings.get("SITECRAWL_DASHBOARD_ADDRESS", LOOPBACK), token),
            port=port_of(settings.getint("SITECRAWL_DASHBOARD_PORT")) if serves else None,
            token=token_of(token),
            has_own_token=not token,
            announces=settings.getbool("SITECRAWL_SUMMARY", default=True),
        )
        crawler.signals.connect(dashboard.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(dashboard.spider_closed, signal=signals.spider_closed)
        return dashboard

    def spider_opened(self, spider: Spider) -> None:
        self._runtime = runtime = Runtime.of(self._crawler)
        try:
            self._actions = (Actions if runtime.team is None else ClusterActions)(self._crawler, runtime)
        except StorageError as error:
            logger.error("There is no dashboard, and no history: %s", error)
            return
        runtime.checkpoints.add(self._actions)
        if runtime.team is not None:
            self._monitor, tables = self._begin_shared(spider, runtime.team)
        else:
            assert runtime.whole is not None  # it is one of the two
            self._monitor, tables = self._begin_local(spider, runtime.whole)
        if self._port is not None:
            self._serve(tables, self._port)
        if self._popular is not None and self._is_looked_at:
            runtime.on_finish += [self._popular.finished, self._fetches.finished]
        self._ticks = create_looping_call(self._tick)
        self._ticks.start(SAMPLE_SECONDS, now=False)

    def _begin_shared(self, spider: Spider, team: SharedFrontier) -> tuple[Monitor, dict[str, Table]]:
        assert isinstance(self._actions, ClusterActions)
        assert self._runtime.joined is not None
        board = board_of(self._runtime.joined, team.holdings.session)
        monitor = ClusterMonitor(
            self._runtime,
            team,
            board,
            self._actions,
            spider=spider.name,
            watched=lambda: len(self._streams) > 0,
        )
        own = self._tables(spider, lambda: team.frontier, monitor.meter, max_rows=PART_ROWS)
        self._of_all = EveryTable(own, board, monitor.others)
        monitor.on_questions = self._of_all.hear
        of_crawl = {name: own[name] for name in ("changes", "terms")}  # which are the same on all
        return monitor, {**self._of_all.named, **of_crawl}

    def _begin_local(self, spider: Spider, frontier: DiskFrontier) -> tuple[Monitor, dict[str, Table]]:
        monitor = LocalMonitor(self._runtime, self._actions, spider=spider.name)
        return monitor, self._tables(spider, lambda: frontier, monitor.meter)

    def _tables(
        self, spider: Spider, frontier: Callable[[], DiskFrontier], meter: Meter, *, max_rows: int = MAX_ROWS
    ) -> dict[str, Table]:
        """Of what this process has, by their names."""
        runtime = self._runtime
        self._popular = Popular(runtime.database, frontier)

        def sitemaps() -> SitemapStore | None:
            return getattr(getattr(spider, "sitemaps", None), "store", None)

        politeness = configuration.politeness(self._crawler.settings)
        held = HeldSets(runtime.database, looked_at=HELD_LOOKED_AT)
        refusals = runtime.refusals.run
        tables = Tables(
            frontier, politeness, meter, self._popular, sitemaps, held=held, refusals=refusals, max_rows=max_rows
        )
        self._looks = Looks(runtime, frontier, politeness, self._paused)
        self._fetches = LastFetches()
        changed = ChangedTables(runtime.changes)
        looks = {"why": self._looks.why, "queue": self._looks.queue, "fetches": self._fetches.table}
        return {**tables.named, **looks, "changes": changed.changes, "terms": changed.terms}

    def _paused(self) -> str:
        """Why nothing is asked for at all; empty while something is."""
        return "by hand" if self._actions.paused else self._runtime.pause.why if self._runtime.pause.want else ""

    def _serve(self, tables: dict[str, Table], port: int) -> None:
        if not is_reactor_installed():
            logger.warning("There is no dashboard: it needs Twisted's reactor (TWISTED_REACTOR_ENABLED)")
            return
        search = SearchPage(self._runtime.path)
        show = partial(preview, self._looks.pages)
        backend = Backend(self._monitor, tables, self._actions, self._streams, search=search, show=show)
        try:
            self._server = Server(backend, self._token, port, self._address, has_own_token=self._has_own_token)
        except CannotListenError as error:
            logger.error("There is no dashboard: SITECRAWL_DASHBOARD_PORT %d cannot be had (%s)", port, error)
            return
        if self._announces:
            say(f"Dashboard: {self._server.told}")
        else:
            logger.info("Dashboard: %s", self._server.told)

    @property
    def _is_looked_at(self) -> bool:
        """Whether anybody may ask for tables: at a page here, or on another worker."""
        return self._server is not None or self._of_all is not None

    def _tick(self) -> None:
        """Whatever goes wrong is said once; the next second is another try."""
        try:
            self._look()
        except Exception:
            if not self._has_failed:
                logger.exception("The dashboard has no figures for now")
            self._has_failed = True

    def _look(self) -> None:
        self._monitor.tick()
        if len(self._streams):
            self._streams.send("sample", self._monitor.sample())
        if self._popular is None or not self._is_looked_at:
            return
        try:
            self._popular.look()
        except StorageError as error:  # the scheduler will meet it, too; or a worker has closed its files
            logger.debug("%s", error)

    def metrics(self) -> list[Metric]:
        """Those of this process, as of its last sample; none where there is no watching. In any thread."""
        if self._ticks is None:
            return []
        return metrics(self._monitor.own, paused=self._actions.paused, wants=self._monitor.wants)

    async def spider_closed(self, reason: str) -> None:
        """The scheduler has closed all files, and the history is stored."""
        if self._ticks is not None and self._ticks.running:
            self._ticks.stop()
        if self._ticks is None:
            return
        if self._of_all is not None:
            self._of_all.close()
        self._monitor.ending = ending_of(self._runtime, reason)
        await self._monitor.close()
        if self._server is not None:
            self._streams.end("ended", self._monitor.overview())
            await self._server.close()
