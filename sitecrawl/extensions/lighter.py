"""Middlewares of Scrapy's that do the same for less.

`lighten` swaps the class of an instance, where it is Scrapy's own; one that a project has derived stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from scrapy import Request
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats, get_status_size
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
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


class DefaultHeaders(DefaultHeadersMiddleware):
    """Brings a header that every request gets into its form once."""

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        for name, value in self._headers:
            set_default(request.headers, name, value)


class UserAgent(UserAgentMiddleware):
    """So does this."""

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        if self.user_agent:
            set_default(request.headers, b"User-Agent", self.user_agent)


class HttpAuth(HttpAuthMiddleware):
    """Looks for a request's own Authorization only where it has another one to give."""

    def process_request(self, request: Request) -> None:  # type: ignore[override]
        if self._auth or "http_user" in request.meta or "http_pass" in request.meta:
            super().process_request(request)


_LIGHTER: Final[dict[type, type]] = {
    DownloaderStats: Traffic,
    OffsiteMiddleware: Offsite,
    DefaultHeadersMiddleware: DefaultHeaders,
    UserAgentMiddleware: UserAgent,
    HttpAuthMiddleware: HttpAuth,
}


def set_default(headers: Headers, name: str | bytes, value: Any) -> None:
    """What `headers.setdefault` does."""
    if isinstance(value, str | bytes):
        key, text = _in_form(name, value, headers.encoding)
        dict.setdefault(headers, key, [text])
    else:
        headers.setdefault(name, value)


@lru_cache(maxsize=1 << 8)
def _in_form(name: str | bytes, value: str | bytes, encoding: str) -> tuple[bytes, bytes]:
    headers = Headers(encoding=encoding)
    return headers.normkey(name), headers.normvalue(value)[0]


_size_of_status: Final = lru_cache(maxsize=1 << 8)(get_status_size)


def request_size(request: Request) -> int:
    """Bytes that Scrapy reckons for a request."""
    simple = _SIMPLE(request.url)
    if simple is None:
        return len(request_httprepr(request))
    size = len(request.method) + len(simple[1]) + len(simple[2]) + _AROUND_TARGET + _END + len(request.body)
    if request.headers:
        lines, of_lines = _lines(request.headers)
        size += of_lines + _END * lines or _END
    return size


def response_size(response: Response) -> int:
    """Bytes that Scrapy reckons for a response: its ends of lines are one for each name, however often it comes."""
    _, of_lines = _lines(response.headers)
    ends = _END * (len(response.headers) - 1)
    return len(response.body) + of_lines + ends + _size_of_status(response.status) + 2 * _END


def _lines(headers: Headers) -> tuple[int, int]:
    """How many lines, and their bytes without the ends."""
    lines = size = 0
    stored: Any = dict.items(headers)
    for name, values in stored:
        for value in values:
            lines += 1
            size += len(name) + len(": ") + len(value)
    return lines, size
