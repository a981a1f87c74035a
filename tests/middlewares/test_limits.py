"""What a request says that may come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.utils.test import get_crawler

from middlewares.limits import DecodingMiddleware
from sitecrawl.crawl.build import Crawl


class Plain(Spider):
    name = "plain"


@pytest.mark.parametrize("headers", [{}, {"accept-encoding": "identity"}])
def test_a_request_accepts_what_it_does_of_scrapys(headers: dict[str, Any], tmp_path: Path) -> None:
    """The same codings, unless it says itself which."""
    crawler = get_crawler(Plain, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path)})
    crawler.spider = Plain()
    sent = []
    try:
        for middleware in (DecodingMiddleware(crawler), HttpCompressionMiddleware(crawler=crawler)):
            request = Request("http://example.com/", headers=headers)
            assert middleware.process_request(request=request) is None
            sent.append(request.headers)
    finally:
        Crawl.of(crawler).checkpoints.close_files()
    assert sent[0] == sent[1]
    assert b"Accept-Encoding" in sent[0]
