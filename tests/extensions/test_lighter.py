"""What does the same as Scrapy's own for less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.request import request_httprepr
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.lighter import Offsite, Traffic, lighten, request_size

NAMES = st.sampled_from(["A", "User-Agent", "X-1", "Accept"])
HEADERS = st.dictionaries(NAMES, st.lists(st.text(st.sampled_from("ab 1"), max_size=5), max_size=3), max_size=4)
PARTS = st.text(st.sampled_from("ab1/.-_~%2f;?&=+#é@:|[]"), max_size=12)
URLS = st.tuples(st.sampled_from(["http://example.com", "https://example.com:8443", "http://EXAMPLE.com"]), PARTS)


@given(URLS, HEADERS, st.binary(max_size=5), st.sampled_from(["GET", "POST"]))
def test_the_size_of_a_request(parts: tuple[str, str], headers: Any, body: bytes, method: str) -> None:
    """It is that of the request as Scrapy writes it, whatever stands in its URL."""
    request = Request(f"{parts[0]}/{parts[1]}", headers=headers, body=body, method=method)
    assert request_size(request) == len(request_httprepr(request))


@given(HEADERS, st.binary(max_size=9), st.sampled_from([200, 204, 404, 599]))
def test_what_is_counted(headers: Any, body: bytes, status: int) -> None:
    """The same statistics as Scrapy's own, of requests and of responses."""
    found = []
    for is_light in (False, True):
        crawler = get_crawler(Spider)
        middleware = DownloaderStats(crawler.stats)
        if is_light:
            lighten(middleware)
            assert type(middleware) is Traffic
        request = Request("http://example.com/a?b=1", headers=headers)
        response = Response("http://example.com/a", status=status, headers=headers, body=body)
        assert middleware.process_request(request=request) is None
        assert middleware.process_response(request=request, response=response) is response
        found.append(crawler.stats.get_stats())
    assert found[0] == found[1]
    assert found[0]["downloader/response_count"] == 1


def test_offsite() -> None:
    """A spider without `allowed_domains` has nothing forbidden; one that gets some while it runs has."""
    crawler = get_crawler(Spider)
    crawler.spider = Spider("any")
    middleware = OffsiteMiddleware.from_crawler(crawler)
    middleware.spider_opened(crawler.spider)
    lighten(middleware)
    assert type(middleware) is Offsite
    middleware.process_request(request=Request("http://example.org/"))
    vars(crawler.spider)["allowed_domains"] = ["example.com"]
    middleware.process_request(request=Request("http://www.example.com/"))
    with pytest.raises(IgnoreRequest):
        middleware.process_request(request=Request("http://example.org/"))


DEFAULTS = {"accept": "a/b", "ACCEPT": "c/d", "X-1": ["1", b"2"], "x-2": b"e", "X-3": "\xe9", "X-4": 5, "X-5": None}


@given(HEADERS, st.sampled_from(["utf-8", "latin-1"]))
def test_default_headers(headers: Any, encoding: str) -> None:
    """Whatever a request has already, it gets the same of Scrapy's middlewares."""
    sent: list[dict[bytes, list[bytes]]] = []
    for is_light in (False, True):
        crawler = get_crawler(Spider, {"DEFAULT_REQUEST_HEADERS": DEFAULTS, "USER_AGENT": "me \xe9"})
        request = Request("http://example.com/", headers=headers, encoding=encoding)
        for kind in (DefaultHeadersMiddleware, UserAgentMiddleware):
            middleware = kind.from_crawler(crawler)
            if is_light:
                lighten(middleware)
            assert (type(middleware) is kind) is not is_light
            assert middleware.process_request(request=request) is None
        sent.append(dict(request.headers.items()))
    assert sent[0] == sent[1]
    assert len(sent[0]) >= 6


@pytest.mark.parametrize("header", [{}, {"Authorization": "own"}])
@pytest.mark.parametrize(
    "meta", [{}, {"http_user": "a"}, {"http_pass": "b"}, {"http_user": "a", "http_auth_domain": "b"}]
)
@pytest.mark.parametrize("auth", [{}, {"HTTPAUTH_USER": "c"}])
@pytest.mark.parametrize("domain", [None, "example.com", "example.org"])
def test_who_logs_in(domain: str | None, auth: Any, meta: Any, header: Any) -> None:
    """Whoever says who asks, the setting or the request, the same is sent."""
    sent = []
    for is_light in (False, True):
        middleware = HttpAuthMiddleware.from_crawler(get_crawler(Spider, {**auth, "HTTPAUTH_DOMAIN": domain}))
        if is_light:
            lighten(middleware)
        request = Request("http://example.com/", headers=header, meta=meta)
        assert middleware.process_request(request=request) is None
        sent.append(request.headers)
    assert sent[0] == sent[1]


def test_headers_are_a_requests_own() -> None:
    """What is added to those of one is not another's."""
    middleware = UserAgentMiddleware("me")
    lighten(middleware)
    requests = [Request("http://example.com/") for _ in range(2)]
    for request in requests:
        middleware.process_request(request=request)
        request.headers.getlist("User-Agent").append(b"more")
    assert [request.headers.getlist("User-Agent") for request in requests] == [[b"me", b"more"]] * 2


def test_what_is_derived() -> None:
    """A project's own middleware stays what it is."""

    class Own(DownloaderStats):
        pass

    own = Own(get_crawler(Spider).stats)
    lighten(own)
    assert type(own) is Own
