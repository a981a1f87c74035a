"""Middlewares of Scrapy's that do the same for less.

`lighten` swaps the class of an instance, where it is Scrapy's own; one that a project has derived stays as it is.
"""

from __future__ import annotations

import re
from typing import Any, Final

from scrapy import Request
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats, get_status_size
from scrapy.http import Headers, Response
from scrapy.utils.request import request_httprepr

_SIMPLE: Final = re.compile(r"https?://([\w.-]+)(?::\d+)?(/(?!/)[\w/.~%-]*(?:\?[\w/.~=&+%-]+)?)", re.ASCII).fullmatch
"""A URL in whose parts nothing is special."""
_AROUND_TARGET: Final = len(" ") + len(" HTTP/1.1\r\n") + len("Host: ") + len("\r\n")
_END: Final = len("\r\n")


def lighten(middleware: Any) -> None:
    """Let `middleware` do the same for less, if there is a way."""
    lighter = _LIGHTER.get(type(middleware))
    if lighter is not None:
        middleware.__class__ = lighter


class Traffic(DownloaderStats):
    """Counts bytes without putting them together: Scrapy makes each request a second time to see how long it is."""

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        inc_value = self.stats.inc_value
        inc_value("downloader/request_count")
        inc_value(f"downloader/request_method_count/{request.method}")
        inc_value("downloader/request_bytes", request_size(request))

    def process_response(self, request: Request, response: Response) -> Response:  # type: ignore[override]
        inc_value = self.stats.inc_value
        inc_value("downloader/response_count")
        inc_value(f"downloader/response_status_count/{response.status}")
        inc_value("downloader/response_bytes", response_size(response))
        return response


class Offsite(OffsiteMiddleware):
    """Takes no URL apart for a spider that has no `allowed_domains`."""

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        if getattr(self.crawler.spider, "allowed_domains", None):
            super().process_request(request)


_LIGHTER: Final[dict[type, type]] = {DownloaderStats: Traffic, OffsiteMiddleware: Offsite}


def request_size(request: Request) -> int:
    """Bytes that Scrapy reckons for a request."""
    simple = _SIMPLE(request.url)
    if simple is None:
        return len(request_httprepr(request))
    size = len(request.method) + len(simple[1]) + len(simple[2]) + _AROUND_TARGET + _END + len(request.body)
    if request.headers:
        size += _size_of_lines(request.headers) or _END
    return size


def response_size(response: Response) -> int:
    """Bytes that Scrapy reckons for a response: its ends of lines are one for each name, however often it comes."""
    headers: Any = dict.items(response.headers)
    size = sum(len(name) + 2 + len(value) for name, values in headers for value in values)
    ends = _END * (len(response.headers) - 1)
    return len(response.body) + size + ends + get_status_size(response.status) + 2 * _END


def _size_of_lines(headers: Headers) -> int:
    """With the end of each."""
    stored: Any = dict.items(headers)
    return sum(len(name) + 2 + len(value) + _END for name, values in stored for value in values)
