"""All that is asked of Scrapy's engine and has no public name. `tests/crawl/test_engine.py` holds each of it against
the installed Scrapy.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from scrapy.core.engine import _Slot


def _slot(crawler: Crawler) -> _Slot | None:
    """What the engine knows of its spider; None before that is opened and after it is closed."""
    return crawler.engine._slot  # noqa: SLF001 - see the module


def in_progress(crawler: Crawler) -> Collection[Request]:
    """The requests that Scrapy works on: from the scheduler on, until the callback is run and its items have been
    through the pipelines.
    """
    slot = _slot(crawler)
    return slot.inprogress if slot is not None else ()


def wake(crawler: Crawler) -> None:
    """Let the engine look for work at once, if it runs: left alone, it does so every five seconds."""
    slot = _slot(crawler)
    if slot is not None:
        slot.nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl is being stopped."""
    slot = _slot(crawler)
    return slot is not None and slot.closing is not None


def stop(crawler: Crawler, reason: str) -> None:
    """End the crawl with this as Scrapy's finish reason. What is under way comes in first."""
    deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
