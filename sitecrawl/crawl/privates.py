"""The only access to private names of Scrapy and selectolax.

`NAMES` lists them by use. Each is looked for in the installed Scrapy first. If one is missing, Scrapy does the work
in its own way: slower, with the same pages. The same holds for code that replaces Scrapy's (`_REPLACED`) in a version
that is none of `KNOWN`, where names may mean something else. A crawl logs one warning about everything missing
(`tell`).

Subclasses of Scrapy's private classes are in `sitecrawl.extensions`, in modules imported only if `has` allows it. The
functions of selectolax's library are named in `tree.c`, which takes all of them or none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar
from weakref import WeakSet

import scrapy
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from sitecrawl.base.compiled import native
from sitecrawl.base.errors import OptionError
from sitecrawl.page.markup import HAS_TREE

if TYPE_CHECKING:
    from scrapy.commands import BaseRunSpiderCommand
    from scrapy.core.engine import _Slot

_T = TypeVar("_T")

KNOWN: Final[list[tuple[int | str, ...]]] = [(2, 19)]
"""Versions of Scrapy whose code may be replaced."""

logger = logging.getLogger(__name__)


class Use(StrEnum):
    """Uses of private names, in the words of the warning."""

    CLOSING = "seeing at once that a crawl ends"
    WAKING = "waking the engine"
    IN_PROGRESS = "asking the engine what it works on"
    UNDER_WAY = "asking the downloader and the scraper what they work on"
    SLOTS = "pauses of single hosts for requests beside the frontier's"
    OPTIONS = "warning of feeds that nobody writes"
    REQUESTS = "one task a request"
    SPIDER_MIDDLEWARES = "spider middlewares without asynchronous generators"
    DOWNLOADS = "downloads without tasks"


_NAMES: Final = {
    Use.CLOSING: """
        scrapy.core.engine:ExecutionEngine _slot
        scrapy.core.engine:_Slot closing""",
    Use.WAKING: """
        scrapy.core.engine:ExecutionEngine _slot
        scrapy.core.engine:_Slot nextcall""",
    Use.IN_PROGRESS: """
        scrapy.core.engine:ExecutionEngine _slot
        scrapy.core.engine:_Slot inprogress""",
    Use.UNDER_WAY: """
        scrapy.core.downloader:Downloader active
        scrapy.core.scraper:Scraper slot
        scrapy.core.scraper:Slot active queue""",
    Use.SLOTS: """
        scrapy.core.downloader:Downloader _get_slot _process_queue per_slot_settings slots
        scrapy.core.downloader:Slot concurrency delay lastseen latercall queue""",
    Use.OPTIONS: """
        scrapy.commands:BaseRunSpiderCommand _create_crawler""",
    Use.REQUESTS: """
        scrapy.core.engine:ExecutionEngine _slot _start_scheduled_request
        scrapy.core.engine:_Slot add_request nextcall remove_request scheduler
        scrapy.core.downloader:Downloader _enqueue_request active middleware
        scrapy.core.downloader.middleware:DownloaderMiddlewareManager download_async
        scrapy.core.scraper:Scraper _check_if_closing _process_spidermw_output_async _scrape concurrent_items
        scrapy.core.scraper:Scraper enqueue_scrape handle_spider_error handle_spider_output_async slot
        scrapy.core.scraper:Scraper call_spider_async
        scrapy.core.scraper:Slot add_response_request finish_response next_response_request_deferred
        scrapy.spiders:Spider _parse""",
    Use.SPIDER_MIDDLEWARES: """
        scrapy.core.scraper:Scraper spidermw
        scrapy.core.spidermw:SpiderMiddlewareManager _process_callback_output _process_spider_exception
        scrapy.core.spidermw:SpiderMiddlewareManager _process_spider_input methods scrape_response_async
        scrapy.spidermiddlewares.base:BaseSpiderMiddleware _get_processed""",
    Use.DOWNLOADS: """
        scrapy.core.downloader:Downloader _download _enqueue_request _get_slot handlers middleware
        scrapy.core.downloader:Slot active delay free_transfer_slots lastseen latercall queue
        scrapy.core.downloader.handlers:DownloadHandlers _handlers _old_style_handlers download_request_async
        scrapy.core.downloader.middleware:DownloaderMiddlewareManager _mw_methods_requiring_spider
        scrapy.core.downloader.middleware:DownloaderMiddlewareManager _process_request _process_response methods""",
}
NAMES: Final = {
    use: [
        f"{owner}{name}" if owner.endswith(":") else f"{owner}.{name}"
        for owner, *names in map(str.split, lines.strip().splitlines())
        for name in names
    ]
    for use, lines in _NAMES.items()
}
"""Names by use, each as `module:function` or `module:Class.attribute`."""
_REPLACED: Final = frozenset({Use.REQUESTS, Use.SPIDER_MIDDLEWARES, Use.DOWNLOADS})
"""Uses in which our code replaces Scrapy's."""


@cache
def has(use: Use) -> bool:
    """Whether all names of `use` exist and, if it replaces code, the version is known."""
    return (use not in _REPLACED or _is_known()) and all(map(_is_there, NAMES[use]))


def _is_known() -> bool:
    return scrapy.version_info[:2] in KNOWN


@cache
def _is_there(name: str) -> bool:
    """Whether the installed Scrapy has `name`, in the form of `NAMES`."""
    module, _, path = name.partition(":")
    *owner, last = path.split(".")
    try:
        found: Any = import_module(module)
        for part in owner:
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return hasattr(found, last) or (isinstance(found, type) and last in _assigned(found))


def _assigned(kind: type) -> Iterator[str]:
    """Names in the code of `__init__`, among them the attributes of instances."""
    for one in kind.__mro__:
        yield from getattr(getattr(vars(one).get("__init__"), "__code__", None), "co_names", ())


def check() -> None:
    """Raise `OptionError` for a Scrapy without the names that say when a request is done."""
    if not has(Use.IN_PROGRESS) and not has(Use.UNDER_WAY):
        known = " or ".join("{}.{}".format(*version) for version in KNOWN)
        raise OptionError(f"Scrapy {scrapy.__version__} does not say what it works on: install Scrapy {known}")


@cache
def tell() -> None:
    """Log missing names, once in a process."""
    uses = [str(use) for use in Use if not has(use)]
    reasons = []
    if not _is_known():
        reasons.append(f"sitecrawl has not been tried with Scrapy {scrapy.__version__}")
    if gone := sorted({name for names in NAMES.values() for name in names if not _is_there(name)}):
        reasons.append(f"Scrapy {scrapy.__version__} has no {', '.join(gone)}")
    if native is not None and not HAS_TREE:
        uses.append("reading a page's tree in C")
        reasons.append("the library of selectolax does not show its functions")
    if reasons:
        logger.warning("The crawl goes on in Scrapy's own way, without %s: %s", ", ".join(uses), "; ".join(reasons))


def become(thing: object, kind: type[_T], use: Use) -> TypeGuard[_T]:
    """Change the class of `thing` to `kind`, if its class is exactly the base of `kind` and `use` is possible;
    returns whether it did. For objects that no setting of Scrapy can replace.
    """
    if type(thing) is not kind.__base__ or not has(use):
        return False
    thing.__class__ = kind
    return True


# The engine

_stopped: Final[WeakSet[Crawler]] = WeakSet()
"""Crawlers stopped by `stop`."""


def _slot(crawler: Crawler) -> _Slot | None:
    """The engine's slot; None before its spider is opened and after it is closed."""
    return crawler.engine._slot  # noqa: SLF001 - see the module


def in_progress(crawler: Crawler) -> Collection[Request]:
    """Requests that Scrapy works on: from the scheduler until the callback has run and its items have passed the
    pipelines.
    """
    if has(Use.IN_PROGRESS):
        slot = _slot(crawler)
        return slot.inprogress if slot is not None else ()
    downloading, scraping = crawler.engine.downloader.active, crawler.engine.scraper.slot
    return downloading if scraping is None else downloading | scraping.active | {one[1] for one in scraping.queue}


def wake(crawler: Crawler) -> None:
    """Let a running engine look for work now; by itself it does so every five seconds."""
    slot = _slot(crawler) if has(Use.WAKING) else None
    if slot is not None:
        slot.nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl is being stopped; if the engine cannot say so, whether a user or sitecrawl has stopped it."""
    if not has(Use.CLOSING):
        return crawler in _stopped or not crawler.crawling
    slot = _slot(crawler)
    return slot is not None and slot.closing is not None


def stop(crawler: Crawler, reason: str) -> None:
    """End the crawl with `reason` as Scrapy's finish reason. Requests under way are completed first."""
    _stopped.add(crawler)
    deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


# Commands


def crawler_of(command: BaseRunSpiderCommand, spider: str) -> Crawler:
    """Make a crawler as `scrapy crawl` does. Raises `KeyError` for an unknown spider."""
    assert command.crawler_process
    create: Callable[[str], Crawler] = command.crawler_process.create_crawler
    return (command._create_crawler if has(Use.OPTIONS) else create)(spider)  # noqa: SLF001 - see the module
