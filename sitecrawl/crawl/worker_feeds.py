"""Scrapy's feeds of many workers: each writes files of its own, for into one they would write through each other."""

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
        worker = Path(settings["JOBDIR"]).name
        own = {_own(str(uri), worker): options for uri, options in feeds.items()}
        settings.set("FEEDS", own, settings.getpriority("FEEDS") or 0)


def _own(uri: str, worker: str) -> str:
    folder, slash, name = uri.rpartition("/")
    stem, dot, endings = name.partition(".")
    return f"{folder}{slash}{stem}-{worker}{dot}{endings}"
