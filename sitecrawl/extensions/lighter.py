"""Parts of Scrapy that do the same with less work for each request.

- Headers are brought into their form once. A spider without `allowed_domains` has no URL looked at.
- What is transferred is counted, instead of measured on requests and responses put together for it.
- Scrapy parses a request's URL by `urllib`, which takes 40,000 instructions. It is written as Scrapy has escaped it,
  so most need no parser: they have a host in ASCII, and neither a login nor parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware as ScrapyDefaultHeaders
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware as ScrapyOffsite
from scrapy.downloadermiddlewares.stats import DownloaderStats as ScrapyDownloaderStats
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware as ScrapyUserAgent
from scrapy.http import Headers, Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.httpobj import urlparse_cached
from twisted.web.http import RESPONSES

from sitecrawl.base.expressions import expression
from sitecrawl.page.items import pairs

_PLAIN = expression(r"https?://([a-z0-9.-]+)(?::\d+)?(/[^?#;]*)(?:\?([^#;]*))?")


def hostname(request: Request) -> str:
    """`urlparse_cached(request).hostname`; empty without one."""
    found = _PLAIN.fullmatch(request.url)
    return found[1] if found is not None else urlparse_cached(request).hostname or ""


def host_and_target_lengths(request: Request) -> tuple[int, int]:
    """Characters of the host, and of path and query as they are sent."""
    found = _PLAIN.fullmatch(request.url)
    if found is not None:
        return len(found[1]), len(found[2]) + (1 + len(found[3]) if found[3] else 0)
    url = urlparse_cached(request)
    parts = sum([1 + len(part) for part in (url.params, url.query) if part])
    return len(url.hostname or ""), (len(url.path) or 1) + parts


def add_default(headers: Headers, name: bytes, value: bytes) -> None:
    """`headers.setdefault(name, value)` for a name that is written as `Headers` has it."""
    dict.setdefault(headers, name, [value])


class DefaultHeadersMiddleware(ScrapyDefaultHeaders):
    """The same headers, in their order."""

    def __init__(self, headers: Iterable[tuple[str, str]]) -> None:
        given = list(headers)
        super().__init__(given)
        is_ascii = all(isinstance(value, str) and value.isascii() for _, value in given)
        self._formed = list(Headers(given).items()) if is_ascii else None
        """None where bytes hang on a request's encoding."""

    def process_request(self, request: Request, spider: Any = None) -> Any:
        if self._formed is None:
            return super().process_request(request)
        for name, values in self._formed:
            dict.setdefault(request.headers, name, [*values])
        return None


class UserAgentMiddleware(ScrapyUserAgent):
    """The same header."""

    def process_request(self, request: Request, spider: Any = None) -> Any:
        agent = self.user_agent
        if not isinstance(agent, str) or not agent.isascii():
            return super().process_request(request)
        if agent:
            add_default(request.headers, b"User-Agent", agent.encode())
        return None


class OffsiteMiddleware(ScrapyOffsite):
    """Filters the same requests."""

    def should_follow(self, request: Request, spider: Spider) -> bool:
        return not getattr(spider, "allowed_domains", None) or super().should_follow(request, spider)


class StatsCollector(MemoryStatsCollector):
    """`STATS_CLASS`. Scrapy's wraps each of its methods to warn of an argument that is no longer in use, which makes
    27 calls a page cost 3 us each instead of 0.2.
    """

    __getattribute__ = object.__getattribute__


_REQUEST: Final = len("  HTTP/1.1\r\nHost: \r\n\r\n")
_RESPONSE: Final = 17
"""What Scrapy adds to a response's body, reason and headers, less a line break between two headers."""
_HEADER: Final = len(": \r\n")


class DownloaderStats(ScrapyDownloaderStats):
    """The same names and numbers."""

    def process_request(self, request: Request, spider: Any = None) -> None:
        count = self.stats.inc_value
        count("downloader/request_count")
        count(f"downloader/request_method_count/{request.method}")
        count("downloader/request_bytes", _request_bytes(request))

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        count = self.stats.inc_value
        count("downloader/response_count")
        count(f"downloader/response_status_count/{response.status}")
        count("downloader/response_bytes", _response_bytes(response))
        return response


def _request_bytes(request: Request) -> int:
    """The length of `scrapy.utils.request.request_httprepr`."""
    host, target = host_and_target_lengths(request)
    headers = sum([len(name) + len(value) + _HEADER for name, value in pairs(request.headers)])
    return len(request.method) + target + host + _REQUEST + headers + len(request.body)


def _response_bytes(response: Response) -> int:
    """As Scrapy takes it, with a line break for each name of a header."""
    headers = sum([len(name) + len(value) + len(": ") for name, value in pairs(response.headers)])
    lines = len("\r\n") * len(response.headers)
    return len(response.body) + headers + lines + len(RESPONSES.get(response.status, b"")) + _RESPONSE
