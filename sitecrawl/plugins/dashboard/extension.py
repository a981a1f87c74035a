"""The Scrapy extension: watches the crawl, keeps its history, and serves its page."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.error import CannotListenError
from twisted.internet.task import LoopingCall

from sitecrawl.base import declared
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.line import say
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.ending import ending_of
from sitecrawl.plugins.dashboard import DASHBOARD
from sitecrawl.plugins.dashboard.actions import Actions, ClusterActions
from sitecrawl.plugins.dashboard.guard import Guard, place_of, token_of
from sitecrawl.plugins.dashboard.monitor import LocalMonitor, Monitor
from sitecrawl.plugins.dashboard.server import Server

if TYPE_CHECKING:
    from twisted.web.server import Site

    from sitecrawl.plugins.dashboard.web import Backend

logger = logging.getLogger(__name__)

_SAMPLE_SECONDS: Final = 1.0


class Dashboard:
    """`SITECRAWL_DASHBOARD`: where the page is served, if it is; `SITECRAWL_DASHBOARD_TOKEN`: the secret in its
    address, a new one for every run if it is empty.

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
        self._server: Server | None = None
        self._has_failed = False
        self._backend: Backend | None = None
        """None until somebody looks at the page."""
        self._ticks: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Dashboard:
        settings = crawler.settings
        if not has_our_scheduler(settings) or declared.FRONTIER.read(settings):
            raise NotConfigured  # with a reason, it would be a warning
        token = configuration.secret(settings, "SITECRAWL_DASHBOARD_TOKEN")
        address, port = place_of(DASHBOARD.read(settings), token)
        dashboard = cls(
            crawler,
            address=address,
            port=port,
            token=token_of(token),
            has_own_token=not token,
            announces=declared.SUMMARY.read(settings),
        )
        crawler.signals.connect(dashboard.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(dashboard.spider_closed, signal=signals.spider_closed)
        return dashboard

    def spider_opened(self, spider: Spider) -> None:
        self._crawl = crawl = Crawl.of(self._crawler)
        try:
            self._actions = (Actions if crawl.ours.team is None else ClusterActions)(self._crawler, crawl)
        except StorageError as error:
            logger.error("There is no dashboard, and no history: %s", error)
            return
        crawl.checkpoints.add(self._actions)
        if crawl.ours.team is None:
            self._monitor: Monitor = LocalMonitor(crawl, self._actions, spider=spider.name)
        else:
            self._monitor = self._begin_shared(spider)
        if self._port is not None:
            self._serve(self._port)
        self._ticks = create_looping_call(self._tick)
        self._ticks.start(_SAMPLE_SECONDS, now=False)

    def _begin_shared(self, spider: Spider) -> Monitor:
        from sitecrawl.plugins.dashboard.cluster import begin  # noqa: PLC0415 - Redis, for those who share

        assert isinstance(self._actions, ClusterActions)
        return begin(self._crawl, self._actions, spider.name)

    def _serve(self, port: int) -> None:
        if not is_reactor_installed():
            logger.warning("There is no dashboard: it needs Twisted's reactor (TWISTED_REACTOR_ENABLED)")
            return
        try:
            self._server = Server(self._site, self._token, port, self._address, has_own_token=self._has_own_token)
        except CannotListenError as error:
            logger.error("There is no dashboard: port %d of SITECRAWL_DASHBOARD cannot be had (%s)", port, error)
            return
        if self._announces:
            say(f"Dashboard: {self._server.told}")
        else:
            logger.info("Dashboard: %s", self._server.told)

    def _site(self, guard: Guard) -> Site:
        """All that is served. It takes longer to import than all of the crawl."""
        from sitecrawl.plugins.dashboard.web import Backend, site_of  # noqa: PLC0415 - as it says

        self._backend = Backend(self._monitor, self._actions)
        return site_of(self._backend, guard)

    def _tick(self) -> None:
        """Whatever goes wrong is said once; the next second is another try."""
        try:
            self._monitor.tick()
        except Exception:
            if not self._has_failed:
                logger.exception("The dashboard has no figures for now")
            self._has_failed = True

    async def spider_closed(self, reason: str) -> None:
        """The scheduler has closed all files, and the history is stored."""
        if self._ticks is not None and self._ticks.running:
            self._ticks.stop()
        if self._ticks is None:
            return
        self._monitor.ending = ending_of(self._crawl, reason)
        await self._monitor.close()
        if self._server is not None:
            if self._backend is not None:
                await self._backend.last_look()
            await self._server.close()
