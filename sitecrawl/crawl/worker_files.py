"""Files that each of many workers writes for itself, such as Scrapy's feeds: into one they would write through each
other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError

_STDOUT: Final = ("-", "stdout:")


def check_feeds(settings: BaseSettings) -> None:
    """Raises `OptionError` for what many workers cannot write."""
    if any(str(uri) in _STDOUT for uri in settings.getdict("FEEDS")):
        raise OptionError(
            "Many workers cannot write their items to stdout, one through the other: name a file, of which each "
            "worker writes one of its own, or use SITECRAWL_WORKERS=1"
        )


def name_own_feeds(settings: BaseSettings) -> None:
    """Let the feeds be those of this worker: `items.jsonl` becomes `items-worker-2.jsonl`."""
    if feeds := settings.getdict("FEEDS"):
        own = {own_file(str(uri), settings): options for uri, options in feeds.items()}
        settings.set("FEEDS", own, settings.getpriority("FEEDS") or 0)


def own_file(uri: str, settings: BaseSettings) -> str:
    """That of this worker: its name stands before the endings."""
    worker = Path(settings["JOBDIR"]).name
    folder, slash, name = uri.rpartition("/")
    stem, dot, endings = name.partition(".")
    return f"{folder}{slash}{stem}-{worker}{dot}{endings}"
