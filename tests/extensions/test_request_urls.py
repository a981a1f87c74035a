"""Parts of a request's URL are those that Scrapy sees, by whatever way it goes."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware as ScrapyOffsite
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.test import get_crawler

from sitecrawl.extensions.request_urls import host_and_target_lengths, hostname
from sitecrawl.extensions.scrapy_middlewares import OffsiteMiddleware

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
