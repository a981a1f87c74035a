"""What Scrapy's feeds have of a site spider: its own items, or if it takes none, the facts of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scrapy.extensions.feedexport import ItemFilter
from scrapy.settings import BaseSettings

from sitecrawl.page.items import PageItem

PAGE_FIELDS: Final = [
    "url", "status", "fetched", "depth", "referrer", "content_type", "charset", "title", "canonical", "noindex",
    "size",
]  # fmt: skip
"""Of a page; body, links and exchange are in the page store."""


class _ItemsAlone(ItemFilter):
    """Lets no pages into a feed."""

    def accepts(self, item: Any) -> bool:
        return not isinstance(item, PageItem) and super().accepts(item)


def leave_pages_out(settings: BaseSettings) -> None:
    """Of all feeds that do not say themselves which items they have."""
    feeds = {uri: dict(options) for uri, options in settings.getdict("FEEDS").items()}
    for options in feeds.values():
        if not {"item_classes", "item_filter"} & options.keys():
            options["item_filter"] = _ItemsAlone
    settings.set("FEEDS", feeds, settings.getpriority("FEEDS") or 0)


def name_fields(settings: BaseSettings, fields: Sequence[str]) -> None:
    """Of what the feeds hold, where nobody has named them."""
    settings.set("FEED_EXPORT_FIELDS", list(fields), "addon")
