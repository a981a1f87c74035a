"""A shorter way for a request through Scrapy's downloader.

Scrapy treats each middleware's result as an awaitable, and computes the method's name for a possible warning: for
nineteen calls a page a sixteenth of its instructions. Nearly all results are None or the response itself, for which
neither is needed. To choose the download handler it parses the URL, of which the beginning is enough.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import CoroutineType
from typing import Any

from scrapy import Request
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name


class MiddlewareManager(DownloaderMiddlewareManager):
    """Calls the same methods in the same order, with the same outcome."""

    def __init__(self, *middlewares: Any, crawler: Crawler | None = None) -> None:
        super().__init__(*middlewares, crawler=crawler)
        self._for_requests = list(self._bound(self.methods["process_request"]))
        self._for_responses = list(self._bound(self.methods["process_response"]))

    def _bound(self, methods: Iterable[Callable[..., Any] | None]) -> Iterable[tuple[Callable[..., Any], str]]:
        """Each method, called without the spider, and its name."""
        for method in methods:
            assert method is not None
            wants_spider = method in self._mw_methods_requiring_spider
            yield (self._with_spider(method) if wants_spider else method), global_object_name(method)

    def _with_spider(self, method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda **named: method(**named, spider=self.crawler.spider if self.crawler is not None else None)

    async def _process_request(
        self, request: Request, download_func: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response | Request:
        for method, name in self._for_requests:
            answer = method(request=request)
            if answer is None:
                continue
            answer = await _awaitable(answer, name)
            if answer is not None:
                return _checked(answer, name, "None, Response or Request")
        return await download_func(request)

    async def _process_response(self, response: Response | Request, request: Request) -> Response | Request:
        if not isinstance(response, Response):
            return await super()._process_response(response, request)
        for method, name in self._for_responses:
            answer = method(request=request, response=response)
            if not isinstance(answer, Response):
                answer = _checked(await _awaitable(answer, name), name, "Response or Request")
                if isinstance(answer, Request):
                    return answer
            response = answer
        return response


def _awaitable(answer: Any, name: str) -> Awaitable[Any]:
    return answer if type(answer) is CoroutineType else ensure_awaitable(answer, _warn=name)


def _checked(answer: Any, name: str, wanted: str) -> Response | Request:
    if not isinstance(answer, Response | Request):
        raise TypeError(f"Middleware {name} must return {wanted}, got {type(answer)}")
    return answer


class Handlers(DownloadHandlers):
    """Chooses by the URL's beginning. Objects are switched to this class, see `sitecrawl.extensions.downloader`."""

    async def download_request_async(self, request: Request) -> Response:
        scheme = request.url.partition(":")[0]
        handler = self._handlers.get(scheme)
        if handler is None or scheme in self._old_style_handlers:
            return await super().download_request_async(request)
        return await handler.download_request(request)
