"""Our commands for every project in whose environment sitecrawl is installed, as entry points.

Scrapy loads all of them whatever command is run, so each is an empty class that becomes the command when Scrapy first
asks it for something.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any, ClassVar, Final

from scrapy.commands import ScrapyCommand
from scrapy.utils.misc import load_object

from sitecrawl.base.plugins import installed, working

_PACKAGE: Final = "sitecrawl.console.commands"
_GROUP: Final = "scrapy.commands"


class Later(ScrapyCommand):
    """Placeholder of the command `name`."""

    requires_project = False
    requires_crawler_process = False
    name: ClassVar[str]

    def _become(self) -> ScrapyCommand:
        self.__class__ = _command(self.name)  # type: ignore[assignment]
        return self

    def syntax(self) -> str:
        return self._become().syntax()

    def short_desc(self) -> str:
        return self._become().short_desc()

    def run(self, args: list[str], opts: Any) -> None:
        raise AssertionError("a command is asked for its syntax before it is run")


class _Missing(ScrapyCommand):
    """Placeholder of a command whose plug-in, or one that this needs, is missing."""

    requires_crawler_process = False
    name: ClassVar[str]

    def short_desc(self) -> str:
        return "(of a plug-in that is not here)"

    def run(self, args: list[str], opts: Any) -> None:
        print(
            f"scrapy: the command {self.name} is of a plug-in that is not here, lacks another plug-in, or has no "
            "command of that name: docs/plugins.md"
        )
        self.exitcode = 1


def _command(name: str) -> type[ScrapyCommand]:
    place = f"{_PACKAGE}.{name}"
    if find_spec(place) is None:
        plugins = working().values()
        place = next((plugin.commands[name] for plugin in plugins if name in plugin.commands), "")
    else:
        place += ".Command"
    command: type[ScrapyCommand] = load_object(place) if place else type("_Missing", (_Missing,), {"name": name})
    return command


def __getattr__(attribute: str) -> type[Later]:
    """The class that an entry point names: `CheckCrawl` stands for the command `check-crawl`."""
    words = re.findall(r"[A-Z][a-z]*", attribute)
    if "".join(words) != attribute:
        raise AttributeError(attribute)
    return type(attribute, (Later,), {"name": "-".join(words).lower()})


def commands_are_here() -> bool:
    """Whether our commands are installed: sitecrawl may just be on the path."""
    return "pages" in installed(_GROUP).names
