"""How many files and connections this process may have open at once, and how they are shared out.

The kernel refuses what exceeds RLIMIT_NOFILE. A refused connection is one failed download; a refused file of the
crawl ends it. So connections leave room for files: if descriptors are few, the database gets a quarter, other files a
half, and connections the rest.
"""

from __future__ import annotations

import resource
from typing import Final

from sitecrawl.base.errors import OptionError

_OF_USE: Final = 65_536
"""More descriptors than a crawl can use; a higher limit is left as it is."""
_LEAST: Final = 64
"""Least number for a crawl; half of them are open right after the start."""
_DATABASE: Final = 256
"""Most tables that RocksDB keeps open."""
_OTHERS: Final = 64
"""Page store, logs, feeds, name look-ups, the dashboard and its readers, the event loop."""


def _limit() -> int:
    """Raise the soft limit towards the hard one, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _OF_USE
    wanted = _OF_USE if hard == resource.RLIM_INFINITY else min(hard, _OF_USE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def check() -> None:
    """Raise `OptionError` if there are too few descriptors for a crawl."""
    if _limit() < _LEAST:
        raise OptionError(f"This process may have {_limit()} files open, and a crawl needs {_LEAST}: raise ulimit -n")


def for_database() -> int:
    """How many tables RocksDB may keep open."""
    return min(_DATABASE, _limit() // 4)


def for_connections() -> int:
    """Most connections at once, including idle ones kept for reuse."""
    return _limit() - for_database() - min(_OTHERS, _limit() // 2)
