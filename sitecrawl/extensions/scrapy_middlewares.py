"""Scrapy's own downloader middlewares that do the same with less work for each request.

Headers are brought into their form once. A spider without `allowed_domains` has no URL looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware as ScrapyDefaultHeaders
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware as ScrapyOffsite
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware as ScrapyUserAgent
from scrapy.http import Headers


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
