"""How many files and connections this process may have open at once, and what of that each part of it may take.

The kernel refuses what goes beyond RLIMIT_NOFILE: a connection that cannot be made, and a file of the crawl that
cannot be opened, which ends it. So the connections leave room for the files: of few
descriptors the database has a quarter, the rest of the files a half, and the connections what is left.
"""

from __future__ import annotations

import resource
from typing import Final

from sitecrawl.base.errors import OptionError

_OF_USE: Final = 65_536
"""More descriptors than a crawl can use; beyond it the limit stays as it is."""
LEAST: Final = 64
"""A crawl that is only begun has half of them open."""
_DATABASE: Final = 256
"""Tables that RocksDB keeps open, at the most."""
_OTHERS: Final = 64
"""Page store, logs, feeds, name look-ups, the dashboard and its readers, the event loop."""


def limit() -> int:
    """How many descriptors this process may have: the soft limit, which is raised towards the hard one before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _OF_USE
    wanted = _OF_USE if hard == resource.RLIM_INFINITY else min(hard, _OF_USE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def check() -> None:
    """Raises `OptionError` where a crawl cannot even begin."""
    if limit() < LEAST:
        raise OptionError(f"This process may have {limit()} files open, and a crawl needs {LEAST}: raise ulimit -n")


def for_database() -> int:
    """How many tables RocksDB may keep open."""
    return min(_DATABASE, limit() // 4)


def for_connections() -> int:
    """How many connections there may be, those that are kept for the next request included."""
    return limit() - for_database() - min(_OTHERS, limit() // 2)
