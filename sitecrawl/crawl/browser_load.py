"""Load of the rendering browser at one moment."""

from __future__ import annotations

from typing import NamedTuple


class BrowserLoad(NamedTuple):
    """Load of one process' browser."""

    shown: int
    """Pages shown in a tab."""
    waiting: int
    """Pages waiting for a tab."""
    memory: int
    """Memory of the browser's processes in bytes; shared memory counts once."""
