"""Our lighter parts of Scrapy have the same outcome as Scrapy's."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware as ScrapyDefaultHeaders
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware as ScrapyOffsite
from scrapy.downloadermiddlewares.stats import DownloaderStats as ScrapyDownloaderStats
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware as ScrapyUserAgent
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.lighter import (
    DefaultHeadersMiddleware,
    DownloaderStats,
    OffsiteMiddleware,
    UserAgentMiddleware,
    host_and_target_lengths,
    hostname,
)

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


URLS = [
    "http://example.com", "http://example.com/", "https://example.com:8443/a/b?c=d&e", "http://EXAMPLE.com/A",
    "HTTP://example.com/?", "http://example.com?q", "http://example.com/a;b=c?d;e", "http://example.com/#top",
    "http://user:word@example.com/", "http://[::1]:80/x", "http://example.com:/", "http://m\u00fcnchen.example/\u00e4?\u00e4",
    "http://under_score.example/", "data:,some%20words", "ftp://example.com/x", "http://example.com/a??b", "http:///x",
    "http://www.example.com.example/", "http://example.com./", "s3://bucket/key",
]  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_parts(url: str) -> None:
    request = Request(url)
    seen = urlparse_cached(request)
    sent = sum([1 + len(part) for part in (seen.params, seen.query) if part])
    assert hostname(request) == (seen.hostname or "")
    assert host_and_target_lengths(request) == (len(seen.hostname or ""), (len(seen.path) or 1) + sent)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("domains", [None, [], ["example.com"], ["bucket", None]], ids=str)
def test_offsite(url: str, domains: list[str | None] | None) -> None:
    """Ours filters what Scrapy's filters."""
    crawler = get_crawler(Spider)
    crawler.spider = spider = Spider("name", allowed_domains=domains)
    kinds = OffsiteMiddleware, ScrapyOffsite
    one, other = (kind.from_crawler(crawler).should_follow(Request(url), spider) for kind in kinds)
    assert one == other


URL = "http://example.com/"
HEADERS = {"Accept": "text/html", "X-Many": ["one", "two, three"], "X-Empty": ""}


def figures(kind: Any, request: Request, response: Response) -> dict[str, Any]:
    middleware = kind.from_crawler(get_crawler())
    assert middleware.process_request(request) is None
    assert middleware.process_response(request, response) is response
    return dict(middleware.stats.get_stats())


@pytest.mark.parametrize(
    "request_",
    [
        Request(URL),
        Request("http://example.com"),
        Request("https://user:word@www.example.com:8443/a/b;c=1;d?e=f&g=%C3%A4;h#i", headers=HEADERS),
        Request("http://m\u00fcnchen.example/stra\u00dfe?\u00e4", method="HEAD"),
        Request("http://[::1]:80/?"),
        Request("data:,some%20words"),
        FormRequest(URL, formdata={"word": "\u00e4"}),
    ],
    ids=str,
)
def test_requests(request_: Request) -> None:
    """Whatever is in the URL, and whatever goes with it."""
    response = Response(URL)
    assert figures(DownloaderStats, request_, response) == figures(ScrapyDownloaderStats, request_, response)


@pytest.mark.parametrize(
    "response",
    [
        Response(URL, status=404, body=b"not here", headers=HEADERS),
        Response(URL, status=299),
        Response(URL, headers={"Content-Type": "text/html"}, body=b"<p>"),
    ],
    ids=str,
)
def test_responses(response: Response) -> None:
    """Also of a status that has no name, and without headers."""
    assert figures(DownloaderStats, Request(URL), response) == figures(ScrapyDownloaderStats, Request(URL), response)
