"""Renders pages in a browser, where that is wanted: what the spider gets is the DOM."""

from __future__ import annotations

import logging
from typing import Final

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DownloadTimeoutError, NotConfigured
from scrapy.http import Response

from middlewares.robots import RobotsMiddleware
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.download_errors import Interrupted, InWant
from sitecrawl.crawl.ending import NO_BROWSER
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_reading import with_content
from sitecrawl.crawl.privates import is_closing, stop
from sitecrawl.crawl.requests import NOT_SHOWN, Unstorable, host_of, pack_request
from sitecrawl.crawldir.database import Batch, Database, next_prefix
from sitecrawl.crawldir.meta import UNRENDERED
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.crawldir.participant import Participant
from sitecrawl.http.login import LOGOUT
from sitecrawl.page.items import PageItem, Sent
from sitecrawl.page.media_type import HTML
from sitecrawl.plugins.rendering import RENDER, SCREENSHOTS
from sitecrawl.plugins.rendering.browser import Crashed, Lost, NoBrowser, NotRendered
from sitecrawl.plugins.rendering.options import AUTO, OFF, RenderOptions
from sitecrawl.plugins.rendering.renderer import CONTENT_TYPE, Outcome, Renderer
from sitecrawl.plugins.rendering.sections import Sections, has_gained

logger = logging.getLogger(__name__)

_PAGES: Final = "rendering/pages"
"""Counts pages that were rendered."""
_GAINED: Final = "rendering/gained"
"""Of these, those that have more links or text than came over the wire."""
_PLAIN: Final = "rendering/plain"
"""Counts pages that could have been rendered, and were taken as they came: nothing would have come of it."""
FAILED: Final = "rendering/failed"
"""Counts attempts that brought nothing."""
_GIVEN_UP: Final = "rendering/given_up"
"""Counts pages that could not be rendered in any attempt, and were taken as they came."""


class RenderingMiddleware:
    """Downloader middleware, where it is known that an answer is a page, and before the spider reads it.

    Its host is free when the rendering is over, and rests from then on as long as after the page alone.
    """

    def __init__(self, crawler: Crawler) -> None:
        if RENDER.read(crawler.settings) == OFF:
            if SCREENSHOTS.read(crawler.settings):
                raise NotConfigured("Pictures of pages take a browser: -a render=1, or -a render=auto")
            raise NotConfigured  # with a reason it would be a warning
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        options = RenderOptions.from_settings(crawler.settings)
        self._renderer = Renderer(crawler, options, self._allows)
        self._sections = Sections(self._crawl.database) if options.mode == AUTO else None
        if self._sections is not None:
            self._crawl.checkpoints.add(self._sections)
        self._unrendered = _Unrendered(self._crawl.database)
        self._crawl.checkpoints.add(self._unrendered)
        self._retries = crawler.settings.getbool("RETRY_ENABLED")
        self._priority_adjust = crawler.settings.getint("RETRY_PRIORITY_ADJUST")
        self._crawl.browsers.append(self._renderer.load)
        self._crawl.fetches.on_finish.append(self._finished)
        crawler.signals.connect(self._ask_again, signals.spider_opened)
        crawler.signals.connect(self._close, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RenderingMiddleware:
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        fetch = self._crawl.fetches.of(request)
        if fetch is None or fetch.exchange is None or not fetch.may_be_rendered:
            return response
        exchange = fetch.exchange
        failed = None if self._crawl.refusals.are_looked_for else False
        try:
            return await self._looked_at(fetch, response)
        finally:
            self._crawl.frontier.downloaded(fetch.visit, exchange.seconds, ip=exchange.ip, failed=failed)

    async def _looked_at(self, fetch: Fetch, response: Response) -> Request | Response:
        page = self._crawl.reading.look_at(response)
        if page.content_type not in HTML or page.quarantined:
            return response
        if self._sections is not None and not self._sections.wants(page):
            self._crawl.stats.inc_value(_PLAIN)
            return response
        return await self._rendered(fetch, response, page)

    async def _rendered(self, fetch: Fetch, response: Response, page: PageItem) -> Request | Response:
        assert fetch.exchange is not None
        try:
            outcome = await self._renderer.render(fetch.request, response, fetch.exchange.started)
        except InWant as error:
            self._crawl.pause.suffer(error.want)
            self._not_shown(fetch)
            return fetch.give_back(self._crawl.pause.put_back(error.want, fetch.request.url))
        except Interrupted:
            fetch.interrupted = True
            raise
        except NoBrowser as error:
            fetch.interrupted = True
            self._end(error)
            raise Interrupted("There is no browser") from error
        except (NotRendered, DownloadTimeoutError) as error:
            return self._again(fetch, error) or self._as_it_came(fetch, response, error)
        return await self._read(fetch, _with(outcome, response), outcome, page)

    async def _read(self, fetch: Fetch, rendered: Response, outcome: Outcome, before: PageItem) -> Response:
        reading = self._crawl.reading
        if reading.is_isolated:
            rendered = await reading.arrived(rendered, max_size=len(rendered.body), page=True)
        fetch.rendered(outcome.parts, outcome.urls, Sent(before.size, before.charset))
        gained = has_gained(before, reading.look_at(rendered))
        self._unrendered.discard(fetch.visit.key)
        self._crawl.stats.inc_value(_PAGES)
        self._crawl.stats.inc_value(_GAINED, int(gained))
        if self._sections is not None:
            self._sections.learn(before, gained=gained)
        return rendered

    def _again(self, fetch: Fetch, error: Exception) -> Request | None:
        """The request that tries once more; None when it has been tried often enough."""
        self._crawl.stats.inc_value(FAILED)
        logger.debug("%s was not rendered: %s", fetch.request, error)
        if is_closing(self._crawler):
            fetch.interrupted = True
            raise Interrupted("The crawl is being stopped")
        assert self._crawler.spider is not None
        if not self._retries or fetch.request.meta.get("dont_retry") or isinstance(error, Lost):
            return None  # a page that was lost has been tried often enough
        again = get_retry_request(
            fetch.request, spider=self._crawler.spider, reason=FAILED, priority_adjust=self._priority_adjust
        )
        if again is not None:
            self._not_shown(fetch)
            fetch.failed(type(error).__name__)  # and nothing of what came is kept
        return again or None

    def _not_shown(self, fetch: Fetch) -> None:
        """Count a response that is dropped because the page is fetched again."""
        self._crawl.stats.inc_value(f"{NOT_SHOWN}{fetch.status}")

    def _as_it_came(self, fetch: Fetch, response: Response, error: Exception) -> Response:
        self._crawl.stats.inc_value(_GIVEN_UP)
        fetch.is_unrendered = True
        if isinstance(error, Crashed):
            self._note_unrendered(fetch)
        logger.info("%s cannot be rendered, and is taken as it came: %s", response, error)
        return response

    def _note_unrendered(self, fetch: Fetch) -> None:
        assert self._crawler.spider is not None
        meta = {name: value for name, value in fetch.request.meta.items() if name != "retry_times"}
        try:
            request = pack_request(fetch.request.replace(meta=meta), self._crawler.spider)
        except Unstorable:
            return  # no run but this one can ask for it
        self._unrendered.add(fetch.visit.key, request)

    def _ask_again(self) -> None:
        again = self._crawl.frontier.again
        found = sum(again(key, request=request) for key, request in self._unrendered.of_runs_before())
        if found:
            logger.info("%d pages that crashed in the browser are asked for again", found)
            self._crawl.stats.inc_value("rendering/again", found)

    def _end(self, error: NoBrowser) -> None:
        if not is_closing(self._crawler):
            logger.error("The browser cannot be started: %s", error)
            stop(self._crawler, NO_BROWSER)

    def _finished(self, fetch: Fetch) -> None:
        if fetch.captured is not None:
            for part in fetch.parts:
                self._renderer.kept.add(part)

    async def _allows(self, url: str, page: Request) -> bool:
        login = self._crawl.access.login_of(host_of(url))
        if login is not None and login.forbids(url) == LOGOUT:  # scripts see where pages say one can log out
            return False
        robots = self._crawler.get_downloader_middleware(RobotsMiddleware)
        return robots is None or await robots.allows(url, page)

    async def _close(self) -> None:
        await self._renderer.close()


def _with(outcome: Outcome, response: Response) -> Response:
    """`response` with what a browser has made of it. Where a script wanted to go is told as a server would."""
    headers = response.headers.copy()
    headers["Content-Type"] = CONTENT_TYPE
    if outcome.leads_to is not None:
        headers["Refresh"] = f"0; url={outcome.leads_to}"
    bare = Response(
        response.url,
        status=response.status,
        headers=headers,
        flags=[*response.flags, "rendered"],
        request=response.request,
        certificate=response.certificate,
        ip_address=response.ip_address,
        protocol=response.protocol,
    )
    return with_content(bare, outcome.body)


class _Unrendered(Participant):
    """Each is a key of the family `meta`, with its request, until it is rendered."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rows = Overlay(database, "meta")

    def of_runs_before(self) -> list[tuple[bytes, bytes | None]]:
        """The key and the request of each; None for a plain GET."""
        rows = self._database.scan("meta", UNRENDERED, next_prefix(UNRENDERED))
        return [(row.removeprefix(UNRENDERED), request or None) for row, request in rows]

    def add(self, key: bytes, request: bytes | None) -> None:
        self._rows.put(UNRENDERED + key, request or b"")

    def discard(self, key: bytes) -> None:
        """It is rendered."""
        if self._rows.get(UNRENDERED + key) is not None:
            self._rows.delete(UNRENDERED + key)

    def prepare(self, batch: Batch) -> None:
        self._rows.flush(batch)

    def committed(self) -> None:
        self._rows.flushed()
