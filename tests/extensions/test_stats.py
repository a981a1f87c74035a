"""Our figures of the downloader are Scrapy's."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import FormRequest, Request
from scrapy.downloadermiddlewares.stats import DownloaderStats as ScrapyDownloaderStats
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.stats import DownloaderStats

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
