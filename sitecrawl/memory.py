"""How a crawl's process keeps its memory: two defaults that are made for programs of another kind.

Python's cycle collector. A crawl makes some thousand objects a page, nearly all of which die with their last
reference. The collector, which looks for those that keep each other alive, goes by how many there are: with its
default of 700 it took 4% of a crawl's time. What Scrapy makes of a response is such a cycle, so the collector is not
switched off.

The malloc of the GNU C library. It gives every thread that allocates a heap of its own (an *arena*), where what the
database's threads freed is of no use to anyone else; and once a large block was freed, it takes all of that size from
a heap, whose end is then never free (mallopt(3), M_ARENA_MAX and M_MMAP_THRESHOLD). So a process only grows.
docs/performance.md has what it cost.
"""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Final

from scrapy import signals
from scrapy.crawler import Crawler

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_TRIM_THRESHOLD: Final = -1
_LARGE: Final = 128 << 10
"""Bytes: where malloc begins, before it adapts itself."""
_OF_THE_USER: Final = ("MALLOC_", "GLIBC_TUNABLES")
"""Names of environment variables by which people set malloc themselves."""


class Memory:
    """Extension. `SITECRAWL_GC_THRESHOLD` new objects start a collection; 0 leaves Python's own setting."""

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Memory:
        give_back()
        extension = cls(crawler.settings.getint("SITECRAWL_GC_THRESHOLD"))
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._before = gc.get_threshold()
        if self._threshold:
            gc.set_threshold(self._threshold, *self._before[1:])

    def spider_closed(self) -> None:
        gc.set_threshold(*self._before)


def give_back() -> bool:
    """Have malloc return what is freed, from now on and for the whole process.

    False where it is another library's, or where the environment says what it is to do. Threads that have allocated
    before keep their arenas, so this has to come before the database's do.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "gnu_get_libc_version") or any(name.startswith(_OF_THE_USER) for name in os.environ):
        return False
    done = [libc.mallopt(_ARENA_MAX, 1), libc.mallopt(_MMAP_THRESHOLD, _LARGE), libc.mallopt(_TRIM_THRESHOLD, _LARGE)]
    return all(done)
