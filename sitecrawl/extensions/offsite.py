"""Scrapy's filter of a spider's `allowed_domains`, without a look at the URL where there are none."""

from __future__ import annotations

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware as ScrapyOffsite


class OffsiteMiddleware(ScrapyOffsite):
    """Filters the same requests."""

    def should_follow(self, request: Request, spider: Spider) -> bool:
        return not getattr(spider, "allowed_domains", None) or super().should_follow(request, spider)
