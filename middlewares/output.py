"""What a spider yields, looked at once.

Scrapy puts every spider middleware's output through asynchronous generators of its own, three a middleware: with
Scrapy's four and ours that was a tenth of a page's time, whatever came through.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spidermiddlewares.depth import DepthMiddleware
from scrapy.spidermiddlewares.metacopy import MetaCopyDetectionMiddleware
from scrapy.spidermiddlewares.start import StartSpiderMiddleware
from scrapy.spidermiddlewares.urllength import UrlLengthMiddleware
from scrapy.utils.misc import build_from_crawler

from middlewares.limits import RequestsMiddleware
from middlewares.links import LinksMiddleware

JOINED: Final[tuple[type[BaseSpiderMiddleware], ...]] = (
    MetaCopyDetectionMiddleware,
    LinksMiddleware,
    RequestsMiddleware,
    DepthMiddleware,
    UrlLengthMiddleware,
    StartSpiderMiddleware,
)
"""From the spider to the engine, in the order of `SPIDER_MIDDLEWARES_BASE` and the add-on's.

Without `RefererMiddleware`, for Scrapy's `RedirectMiddleware` looks for it.
"""


class OutputMiddleware:
    """Spider middleware that does what all `JOINED` do, and in their order."""

    def __init__(self, parts: Iterable[BaseSpiderMiddleware]) -> None:
        self._parts = list(parts)
        self._depth = next(part for part in self._parts if isinstance(part, DepthMiddleware))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutputMiddleware:
        return cls(_configured(crawler))

    async def process_start(self, start: AsyncIterable[Any]) -> AsyncIterator[Any]:
        async for output in start:
            if (processed := self._processed(output, None)) is not None:
                yield processed

    async def process_spider_output(self, response: Response, result: AsyncIterable[Any]) -> AsyncIterator[Any]:
        if "depth" not in response.meta:
            for _ in self._depth.process_spider_output(response, ()):
                pass  # it notes the depth of the response when it is run
        async for output in result:
            if (processed := self._processed(output, response)) is not None:
                yield processed

    def _processed(self, output: Any, response: Response | None) -> Any:
        is_request = isinstance(output, Request)
        for part in self._parts:
            if is_request:
                output = part.get_processed_request(output, response)
            else:
                output = part.get_processed_item(output, response)
            if output is None:
                return None
        return output


def _configured(crawler: Crawler) -> Iterator[BaseSpiderMiddleware]:
    for kind in JOINED:
        try:
            yield build_from_crawler(kind, crawler)
        except NotConfigured:
            continue
