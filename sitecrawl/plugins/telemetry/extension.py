"""The Scrapy extension: metrics and traces of a crawl, to a collector."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from sitecrawl import __version__
from sitecrawl.base.display import printable
from sitecrawl.base.errors import OptionError
from sitecrawl.base.extras import how_to_install
from sitecrawl.crawl import directories
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.components import has_our_scheduler
from sitecrawl.crawl.sharing import process_name
from sitecrawl.plugins.dashboard.extension import Dashboard
from sitecrawl.plugins.telemetry import OTEL

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

logger = logging.getLogger(__name__)

CLOSING_SECONDS: Final = 5.0
"""For which the end of a crawl waits for the collector at the most."""
_THEIRS: Final = "opentelemetry"
_SCOPE: Final = "sitecrawl"


class Telemetry:
    """`SITECRAWL_OTEL`; all else is said by OpenTelemetry's own environment variables (docs/telemetry.md)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._quiet = Quiet()
        self._tracers: TracerProvider | None = None
        self._meters: MeterProvider | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Telemetry:
        settings = crawler.settings
        if not OTEL.read(settings) or directories.only_looks():
            raise NotConfigured
        if not has_our_scheduler(settings):
            raise NotConfigured("SITECRAWL_OTEL needs sitecrawl's SCHEDULER")
        try:
            from sitecrawl.plugins.telemetry import providers  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise OptionError(f"SITECRAWL_OTEL needs OpenTelemetry ({error}): {how_to_install('otel')}") from error
        if providers.is_disabled():
            raise NotConfigured("OTEL_SDK_DISABLED is true")
        providers.check()
        telemetry = cls(crawler)
        crawler.signals.connect(telemetry.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(telemetry.spider_closed, signal=signals.spider_closed)
        return telemetry

    def spider_opened(self, spider: Spider) -> None:
        from sitecrawl.plugins.telemetry import instruments, providers  # noqa: PLC0415 - an extra
        from sitecrawl.plugins.telemetry.spans import FetchSpans  # noqa: PLC0415

        crawl = Crawl.of(self._crawler)
        self._quiet.begin(providers.without_secrets)
        about = providers.resource(_about(crawl, spider))
        try:
            self._tracers = providers.tracer_provider(about)
            self._meters = providers.meter_provider(about)
        except ValueError as error:  # a number that is none, in a variable of theirs
            logger.warning("OpenTelemetry: %s. Not all is sent", printable(str(error), 500))
        if self._tracers is not None:
            FetchSpans(self._tracers.get_tracer(_SCOPE, __version__)).connect(crawl)
        dashboard = self._crawler.get_extension(Dashboard)
        if self._meters is not None and dashboard is not None:
            meter = self._meters.get_meter(_SCOPE, __version__)
            instruments.observe(meter, dashboard.metrics, spider.name)
            crawl.fetches.on_finish.append(instruments.durations(meter, spider.name))

    async def spider_closed(self) -> None:
        """What is not sent within `CLOSING_SECONDS` is lost: the crawl is over, and nobody waits for a collector."""
        ends: list[Callable[[], None]] = [one.shutdown for one in (self._tracers, self._meters) if one is not None]
        await asyncio.gather(*(_within(CLOSING_SECONDS, end) for end in ends))
        self._quiet.end()
        if self._quiet.errors:
            self._crawler.stats.set_value("otel/errors", self._quiet.errors)


def _about(crawl: Crawl, spider: Spider) -> dict[str, str]:
    shared = crawl.joined.options.crawl if crawl.joined is not None else ""
    return {
        "service.name": "sitecrawl",
        "service.version": __version__,
        "service.instance.id": process_name(),
        "sitecrawl.crawl": shared or crawl.directory.path.name,
        "sitecrawl.spider": spider.name,
        **({"sitecrawl.worker": process_name()} if shared else {}),
    }


async def _within(seconds: float, end: Callable[[], None]) -> None:
    """Call `end` in a thread for which Python's end does not wait, as it does for those of a pool."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            end()
        except Exception as error:  # noqa: BLE001 - whatever it is, the crawl is over
            logger.warning("OpenTelemetry could not be ended: %s", printable(str(error)))
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    try:
        await asyncio.wait_for(done.wait(), seconds)
    except TimeoutError:
        logger.warning("Not all telemetry was sent: the collector has not taken it within %g seconds", seconds)


class Quiet(logging.Handler):
    """Says the first thing that OpenTelemetry complains of, and counts the others: a collector that is down would
    otherwise have a line a minute, or a traceback.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.errors = 0
        self._cleaned: Callable[[str], str] = str

    def begin(self, cleaned: Callable[[str], str]) -> None:
        """`cleaned` gives what they say for others to see."""
        self._cleaned = cleaned
        theirs = logging.getLogger(_THEIRS)
        theirs.propagate = False
        theirs.addHandler(self)

    def end(self) -> None:
        theirs = logging.getLogger(_THEIRS)
        theirs.removeHandler(self)
        theirs.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        self.errors += 1
        if self.errors == 1:
            said = printable(self._cleaned(record.getMessage()), 500)
            logger.warning("OpenTelemetry: %s (what follows is counted as otel/errors)", said)
