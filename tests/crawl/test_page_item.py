"""A Scrapy response as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from localweb import linked
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.page_item import page_item

HEADERS = {"Content-Type": "Text/HTML; charset=ISO-8859-1"}


class Any(Spider):
    name = "any"


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    settings = {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path)}
    opened = Crawl.of(get_crawler(Any, settings))
    yield opened
    opened.checkpoints.close_files()


def test_facts(crawl: Crawl) -> None:
    """URL without fragment, depth, and what the page says of itself."""
    request = Request("http://a.example/#part", meta={"depth": 3})
    body = linked("/b#x", "/b", title="Grüße").encode("latin-1")
    page = page_item(HtmlResponse(request.url, headers=HEADERS, body=body, request=request), crawl)
    assert (page.url, page.status, page.depth, page.title) == ("http://a.example/", 200, 3, "Grüße")
    assert (page.content_type, page.charset, page.size) == ("text/html", "windows-1252", len(body))
    assert [link.url for link in page.links] == ["http://a.example/b"]
    assert (page.key, page.exchange, page.referrer) == (b"", None, None)


@pytest.mark.parametrize("status", [301, 404, 500])
def test_an_errors_links_are_left_out(crawl: Crawl, status: int) -> None:
    """Only a success speaks for its site."""
    request = Request("http://a.example/")
    response = HtmlResponse(request.url, status, HEADERS, linked("/b").encode(), request=request)
    page = page_item(response, crawl)
    assert page.links == []
    assert page.body == response.body


def test_what_is_no_text(crawl: Crawl) -> None:
    """A picture has a type and a size, and neither charset nor links."""
    request = Request("http://a.example/x.png")
    response = Response(request.url, 200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n", request=request)
    page = page_item(response, crawl)
    assert (page.content_type, page.charset, page.title, page.links) == ("image/png", None, None, [])
