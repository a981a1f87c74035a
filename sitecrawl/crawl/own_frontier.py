"""A frontier of the project's own (`SITECRAWL_FRONTIER`)."""

from __future__ import annotations

from typing import Final

from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from sitecrawl.base import declared
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.own_dupefilter import class_named
from sitecrawl.frontier.contract import Frontier, Listener

NEEDS_OURS: Final = "{} needs sitecrawl's own frontier: leave out SITECRAWL_FRONTIER"


def own_frontier(crawler: Crawler, listener: Listener) -> Frontier | None:
    """Made as `from_crawler(crawler, listener)`, or of the listener alone; None where the settings name none.

    Raises `OptionError` for a class that cannot be loaded, or is not whole.
    """
    named = declared.FRONTIER.read(crawler.settings)
    if not named:
        return None
    found = class_named(declared.FRONTIER.name, named)
    members = {name: member for name, member in vars(Frontier).items() if not name.startswith("_")}
    lacking = [name for name, empty in members.items() if getattr(found, name, empty) is empty]
    if lacking:
        raise OptionError(f"SITECRAWL_FRONTIER is {named!r}, which is no frontier: it has no {', '.join(lacking)}")
    made: Frontier = build_from_crawler(found, crawler, listener)
    return made
