"""How a crawl ended: Scrapy's finish reason, and words.

Neither calls a crawl complete that has left pages unread; Scrapy would call it "finished" whenever nothing may be
fetched any more. Pages fetched in another form are not unread. A crawl is also complete if URLs gave no usable answer
(the words say so) or were excluded (robots.txt, `deny`, a depth limit).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler
from twisted.python.failure import Failure

from sitecrawl.base.display import counted
from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.checkpoints import FRONTIER_ERROR
from sitecrawl.crawl.pause import REASONS
from sitecrawl.crawl.privates import stop
from sitecrawl.frontier.contract import Figures, HeldBack
from sitecrawl.frontier.urls.trap_state import Reason

FINISHED: Final = "finished"
"""Scrapy's own: nothing is left to fetch."""
HELD_BACK: Final = "held_back"
"""URLs are left that are held back."""
NO_BROWSER: Final = "no_browser"
"""Pages are to be rendered, and no browser works."""
HOSTS_SILENT: Final = "hosts_silent"
"""Nothing is held back, but URLs are left on hosts that have stopped answering."""
MAX_PAGES: Final = "max_pages"
"""The limit of URLs is reached, of the crawl or of every host with URLs left."""
BY_ITSELF: Final = frozenset({FINISHED, HELD_BACK, HOSTS_SILENT, MAX_PAGES})
"""Reasons of crawls that ended by themselves, without an error."""

_ENDINGS: Final = {
    "shutdown": "was interrupted",
    "cancelled": "was cancelled",
    "dashboard": "was stopped by hand, from its dashboard",
    NO_BROWSER: "stopped: the browser that renders pages could not be started, the log says why",
    "no_parser": "stopped: no process that reads pages could be started, the log says why",
    "no_page_store": "stopped: again=1 compares pages with the page store, and this crawl has none",
    FRONTIER_ERROR: "stopped: its frontier failed, the log says how",
    "storage_error": "stopped: a file of the crawl could not be used, the log says which and why",
    "keyword_found": "stopped: the keyword is found",
    "output_dir_error": "stopped: a page could not be kept in output_dir, the log says why",
    "memusage_exceeded": "stopped: the process reached MEMUSAGE_LIMIT_MB",
    **REASONS,
}
_LIST: Final = "scrapy frontier --demoted"
_NOTHING_LEFT: Final = Figures()
"""Also of a crawl whose frontier is not ours."""


def stats_of(figures: Figures) -> Iterator[tuple[str, int]]:
    """Nonzero statistics of what is left."""
    counts = {
        "waiting": figures.queued,
        "held": figures.held_back,
        "joined": figures.joined,
        "silent": figures.silent,
    }
    return ((f"frontier/{name}", urls) for name, urls in counts.items() if urls)


def finish_reason(figures: Figures) -> str:
    """Scrapy's finish reason for a crawl that has nothing to do any more."""
    held = figures.held_back
    if (figures.is_full and figures.unread) or 0 < held == figures.held.urls[Reason.FULL]:
        return MAX_PAGES
    if held:
        return HELD_BACK
    return HOSTS_SILENT if figures.silent else FINISHED


def ending_of(crawl: Crawl, reason: str) -> str:
    """`ending` for `crawl` and Scrapy's finish `reason`."""
    return ending(reason, crawl.frontier.figures, crawl.terms.crawl.max_depth)


def ending(reason: str, left: Figures = _NOTHING_LEFT, max_depth: int = 0) -> str:
    """Scrapy's finish reason as the rest of "The crawl ...". Links farther than `max_depth` from a seed were not
    followed; 0 for no limit.
    """
    if reason in BY_ITSELF:
        return _by_itself(left, max_depth)
    if reason.startswith("closespider_"):
        return f"stopped: {reason.upper()} is reached"
    return _ENDINGS.get(reason, f"stopped: {reason}")


def _by_itself(left: Figures, max_depth: int) -> str:
    depth = f" up to max_depth={max_depth}" if max_depth else ""
    others = f"{_urls(left.joined)} that {_verb(left.joined, 'wait')} are other forms of pages that were fetched"
    note = f" ({others})" if left.joined else ""
    if left.is_full and left.unread:
        waits = f"{_urls(left.unread)} {_verb(left.unread, 'wait')}"
        return f"stopped: max_pages is reached, and {waits} (resume with a larger max_pages to fetch them){note}"
    parts = list(_left_out(left))
    if not parts:
        return f"finished: nothing is left to fetch{depth}{note}"
    number = left.held_back + left.silent + left.failed
    return f"ended with {_urls(number, 'known ')} not fetched{depth}: {', '.join(parts)}{note}"


def _left_out(left: Figures) -> Iterator[str]:
    yield from _held(left.held)
    if left.silent:
        yield f"{left.silent:,} of {_hosts(left.silent_hosts)} that ceased to answer"
    if left.failed:
        yield f"{left.failed:,} failed"


def _held(held: HeldBack) -> Iterator[str]:
    """Describe what is held back by reason; the last part says where to look."""
    parts = []
    for reason, number in sorted(held.urls.items()):
        count = held.sets[reason]
        sets = counted(count, "set")
        words = {
            Reason.GROWS: f"held back in {sets} that {_verb(count, 'grow')} without end",
            Reason.DRY: f"held back in {sets} that {_verb(count, 'grow')} with nothing new to say",
            Reason.WORTHLESS: f"held back in {sets} with hardly a page worth having",
            Reason.BLOCKED: f"blocked by hand in {sets}",
            Reason.FULL: f"of {_hosts(count)} of which enough pages are fetched (max_pages of a sheet)",
        }
        parts.append(f"{number:,} {words.get(reason, 'held back as traps')}")
    if parts:
        yield from parts[:-1]
        yield f"{parts[-1]} ({_LIST} lists {'it' if held.sets.total() == 1 else 'them'})"


def _hosts(number: int) -> str:
    return counted(number, "host") if number else "hosts"


def _urls(number: int, known: str = "") -> str:
    return counted(number, f"{known}URL")


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


def stop_on_storage_error(crawler: Crawler) -> None:
    """End the crawl with the reason `storage_error` at the first item that a pipeline cannot store."""

    def item_error(failure: Failure) -> None:
        if isinstance(failure.value, StorageError):
            crawler.signals.disconnect(item_error, signals.item_error)
            stop(crawler, "storage_error")

    crawler.signals.connect(item_error, signals.item_error, weak=False)
