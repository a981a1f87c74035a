"""Waking Scrapy's engine, which left alone looks for work only every five seconds."""

from __future__ import annotations

from scrapy.crawler import Crawler


def wake(crawler: Crawler) -> None:
    """Let the engine look for work at once, if it runs."""
    slot = crawler.engine._slot if crawler.engine is not None else None  # noqa: SLF001 - nothing public wakes the engine
    if slot is not None:
        slot.nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl is being stopped."""
    slot = crawler.engine._slot if crawler.engine is not None else None  # noqa: SLF001 - nothing public says so
    return slot is not None and slot.closing is not None
