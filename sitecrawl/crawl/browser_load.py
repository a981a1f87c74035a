"""What a browser that renders pages has to do at one moment."""

from __future__ import annotations

from typing import NamedTuple


class BrowserLoad(NamedTuple):
    """Of one process of the crawl."""

    shown: int
    """Pages that are in a tab."""
    waiting: int
    """Pages that wait for one."""
    memory: int
    """Bytes that the browser's processes have; what several of them share counts once."""
