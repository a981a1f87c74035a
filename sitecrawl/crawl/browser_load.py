"""Load of the rendering browser at one moment."""

from __future__ import annotations

from typing import NamedTuple


class BrowserLoad(NamedTuple):
    """Load of one process' browser."""

    shown: int
    """Pages that are in a tab."""
    waiting: int
    """Pages that wait for one."""
    memory: int
    """Bytes that the browser's processes have; what several of them share counts once."""
