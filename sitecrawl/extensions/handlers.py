"""Scrapy's choice of a download handler, by the URL's beginning."""

from __future__ import annotations

from scrapy import Request
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.http import Response


class Handlers(DownloadHandlers):
    """Objects are switched to this class, see `sitecrawl.extensions.downloader`."""

    async def download_request_async(self, request: Request) -> Response:
        scheme = request.url.partition(":")[0]
        handler = self._handlers.get(scheme)
        if handler is None or scheme in self._old_style_handlers:
            return await super().download_request_async(request)
        return await handler.download_request(request)
