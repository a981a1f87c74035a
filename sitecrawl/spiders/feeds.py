"""Feeds of spiders whose items are not the pages themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy.crawler import Crawler

from sitecrawl.items import PageItem


class NoPages:
    """Scrapy's `item_filter`: what a spider took from the pages goes to the feed, the pages do not."""

    def __init__(self, feed_options: dict[str, Any]) -> None:
        pass

    def accepts(self, item: Any) -> bool:
        return not isinstance(item, PageItem)


def leave_out_pages(crawler: Crawler, fields: Sequence[str]) -> None:
    """Let the crawl's feeds hold `fields` of its items and no pages, where nobody has asked for something else."""
    settings = crawler.settings
    feeds = {
        uri: {"item_filter": NoPages, **options} if "item_classes" not in options else options
        for uri, options in settings.getdict("FEEDS").items()
    }
    settings.set("FEEDS", feeds, priority=settings.getpriority("FEEDS") or "spider")
    settings.set("FEED_EXPORT_FIELDS", list(fields), priority="spider")
