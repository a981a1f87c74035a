"""The headers that ours add to a request are those that Scrapy's add."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware as ScrapyDefaultHeaders
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware as ScrapyUserAgent
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.scrapy_middlewares import DefaultHeadersMiddleware, UserAgentMiddleware

REQUESTS = [
    {}, {"headers": {"accept": "text/plain", "X-Own": "1"}}, {"headers": {"User-Agent": "own"}},
    {"headers": {"Accept-Language": ["de", "en"]}, "encoding": "cp1252"},
]  # fmt: skip


def headers(kind: Any, given: dict[str, Any], **settings: Any) -> list[tuple[bytes, list[bytes]]]:
    crawler = get_crawler(Spider, settings_dict=settings)
    request = Request("http://example.com/", **given)
    assert kind.from_crawler(crawler).process_request(request) is None
    return list(request.headers.items())


@pytest.mark.parametrize("given", REQUESTS, ids=str)
@pytest.mark.parametrize(
    "default",
    [
        {},
        {"Accept": "text/html", "accept-language": "en"},
        {"X-Name": "M\u00fcller"},
        {"X-Many": ["a", "b"]},
        {"Accept": None},
    ],
    ids=str,
)
def test_default_headers(given: dict[str, Any], default: dict[str, Any]) -> None:
    """In whatever form they are, in the request's encoding, and none that it has itself."""
    settings = {"DEFAULT_REQUEST_HEADERS": default}
    assert headers(DefaultHeadersMiddleware, given, **settings) == headers(ScrapyDefaultHeaders, given, **settings)


@pytest.mark.parametrize("given", REQUESTS, ids=str)
@pytest.mark.parametrize("agent", ["", "name/1.0", "M\u00fcller", b"bytes"], ids=str)
def test_user_agent(given: dict[str, Any], agent: Any) -> None:
    settings = {"USER_AGENT": agent}
    assert headers(UserAgentMiddleware, given, **settings) == headers(ScrapyUserAgent, given, **settings)


def test_no_request_changes_anothers() -> None:
    """Each has values of its own."""
    middleware = DefaultHeadersMiddleware.from_crawler(get_crawler(Spider))
    one, other = Request("http://example.com/1"), Request("http://example.com/2")
    middleware.process_request(one)
    middleware.process_request(other)
    one.headers.appendlist("Accept", "more")
    assert "more" not in str(other.headers)
