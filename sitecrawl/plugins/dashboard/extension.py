"""The Scrapy extension: watches the crawl, keeps its history, and serves its page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import ServerFactory
from twisted.internet.task import LoopingCall
from twisted.protocols.policies import WrappingFactory

from sitecrawl.base import declared
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.line import say
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.ending import ending_of
from sitecrawl.plugins.dashboard import DASHBOARD
from sitecrawl.plugins.dashboard.actions import Actions, ClusterActions
from sitecrawl.plugins.dashboard.guard import Guard, host_of, place_of, token_of
from sitecrawl.plugins.dashboard.monitor import LocalMonitor, Monitor

if TYPE_CHECKING:
    from twisted.internet.interfaces import IAddress
    from twisted.internet.protocol import Protocol
    from twisted.web.server import Site

    from sitecrawl.plugins.dashboard.web import Backend

logger = logging.getLogger(__name__)

_SAMPLE_SECONDS: Final = 1.0
_MAX_CONNECTIONS: Final = 100
"""Open at a time: any process on this machine may make some."""


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
        self._server: _Server | None = None
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
            self._server = _Server(self._site, self._token, port, self._address, has_own_token=self._has_own_token)
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


class _Server:
    """Serves what `site` makes, for those whom its guard admits, until `close`. `has_own_token`: it is new, and
    somebody has to be told. Raises `twisted.internet.error.CannotListenError`.
    """

    def __init__(
        self, site: Callable[[Guard], Site], token: str, port: int, address: str, *, has_own_token: bool
    ) -> None:
        from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

        self._connections = _Connections(_Later(lambda: site(self._guard)))
        listen: Any = reactor.listenTCP
        self._listening: Any = listen(port, self._connections, interface=address)
        self.port: int = self._listening.getHost().port
        self._guard = Guard(token, self.port, address)
        where = f"http://{host_of(address)}:{self.port}"
        self.url = f"{where}/{token}/"
        is_told = has_own_token and not self._guard.is_open
        self.told = self.url if is_told else f"{where}/SITECRAWL_DASHBOARD_TOKEN/"
        """The address for the log: without a token that somebody has chosen, and keeps. The log goes elsewhere, too,
        where the page does.
        """

    async def close(self) -> None:
        """Take no more connections, and give those that are open a moment to take what was written."""
        if (stopped := self._listening.stopListening()) is not None:
            await maybe_deferred_to_future(stopped)
        for _ in range(10):
            if not self._connections.protocols:
                return
            await asyncio.sleep(0.05)
        self._connections.drop()


class _Later(ServerFactory):
    """The site, once somebody comes."""

    def __init__(self, make: Callable[[], Site]) -> None:
        self._make = make
        self._site: Any = None

    def buildProtocol(self, addr: IAddress | None) -> Protocol | None:  # noqa: N802 - Twisted's names
        if self._site is None:
            self._site = self._make()
            self._site.doStart()
        protocol: Protocol | None = self._site.buildProtocol(addr)
        return protocol

    def stopFactory(self) -> None:  # noqa: N802
        if self._site is not None:
            self._site.doStop()


class _Connections(WrappingFactory):
    """As many as may be open at a time; further ones are closed at once."""

    def buildProtocol(self, addr: IAddress | None) -> Any:  # noqa: N802
        return super().buildProtocol(addr) if len(self.protocols) < _MAX_CONNECTIONS else None

    def drop(self) -> None:
        for connection in tuple(self.protocols):
            connection.transport.abortConnection()
