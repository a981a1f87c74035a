"""Our commands for every project in whose environment sitecrawl is installed, as entry points.

Scrapy loads all of them whatever command is run, so they are made light: each becomes the command itself when Scrapy
first asks it for anything.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand

_PACKAGE = "sitecrawl.commands"
_GROUP = "scrapy.commands"


class Later(ScrapyCommand):
    """Stands for the command in the module `name`. Those that look at a crawl run outside of a project, too."""

    requires_project = False
    requires_crawler_process = False
    name: ClassVar[str]

    def _become(self) -> ScrapyCommand:
        self.__class__ = import_module(f"{_PACKAGE}.{self.name}").Command
        return self

    def syntax(self) -> str:
        return self._become().syntax()

    def short_desc(self) -> str:
        return self._become().short_desc()

    def run(self, args: list[str], opts: Any) -> None:
        raise AssertionError("a command is asked for its syntax before it is run")


class Changes(Later):
    name = "changes"


class CheckCrawl(Later):
    name = "check-crawl"


class Collect(Later):
    name = "collect"


class Export(Later):
    name = "export"


class Frontier(Later):
    name = "frontier"


class Job(Later):
    name = "job"


class Mcp(Later):
    name = "mcp"


class Page(Later):
    name = "page"


class Pages(Later):
    name = "pages"


class Rank(Later):
    name = "rank"


class Report(Later):
    name = "report"


class Rules(Later):
    name = "rules"


class Search(Later):
    name = "search"


class Sitemaps(Later):
    name = "sitemaps"


class Update(Later):
    name = "update"


class Upload(Later):
    name = "upload"


class Why(Later):
    name = "why"


def commands_are_here() -> bool:
    """Whether `scrapy pages` and the like are commands: sitecrawl may be on the path without being installed."""
    return bool(entry_points(group=_GROUP, name=Pages.name))
