"""Asks each host once for its file of TDM reservations, which an export then reads (`rights`)."""

from __future__ import annotations

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.requests import OF_TDM_FILES
from sitecrawl.plugins.export import USE
from sitecrawl.plugins.export.rights import TDM_FILE


class TdmFiles:
    """Scrapy extension (`SITECRAWL_USE`). A host's robots.txt says first whether it may be asked."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._asked: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TdmFiles:
        if not USE.read(crawler.settings):
            raise NotConfigured
        files = cls(crawler)
        crawler.signals.connect(files.spider_opened, signal=signals.spider_opened)
        return files

    def spider_opened(self) -> None:
        Crawl.of(self._crawler).robots.on_answer.append(self._robots_fetched)

    def _robots_fetched(self, url: str, response: Response | None) -> None:
        root = url.removesuffix("/robots.txt")
        if response is not None and root not in self._asked:
            self._asked.add(root)
            deferred_from_coro(self._ask(root + TDM_FILE))

    async def _ask(self, url: str) -> None:
        """What comes is stored as any answer is. That there is none is an answer, and no error of the crawl."""
        assert self._crawler.engine
        assert self._crawler.stats
        try:
            response = await self._crawler.engine.download_async(
                Request(url, callback=NO_CALLBACK, meta={"dont_retry": True})
            )
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing came
            self._crawler.stats.inc_value(f"tdm/exceptions/{type(error).__name__}")
            return
        self._crawler.stats.inc_value(f"{OF_TDM_FILES}{response.status}")
