"""What can be taken away without a crawl missing it: how it says what it adds, and how it is found (docs/plugins.md).

Declarations are light: all that they name are dotted paths, which are imported when they are wanted.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any, Final

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.base.setting import Setting

GROUP: Final = "sitecrawl.plugins"
"""The folder of those that come with sitecrawl, and the group of entry points of all others."""


_NOTHING: Final[tuple[Any, ...]] = (None, False, "", [], (), "0", "False", "false")


@dataclass(frozen=True)
class Plugin:
    """What a plug-in adds to a crawl, all of it by name."""

    settings: Collection[Setting[Any]] = ()
    wanted_by: Collection[Setting[Any]] = ()
    """Settings of which one has to say something before its components are imported; none: they always are."""
    components: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Scrapy's `EXTENSIONS`, `DOWNLOADER_MIDDLEWARES` and so on: dotted paths and their orders."""
    handlers: Mapping[str, str] = field(default_factory=dict)
    """Schemes of URLs, and dotted paths of Scrapy's download handlers for them."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Names and dotted paths of their classes. An entry point of `scrapy.commands` has to name each, too."""
    spiders: Collection[str] = ()
    """Modules of spiders, which the project of sitecrawl itself has; others name them in `SPIDER_MODULES`."""
    outputs: Mapping[Setting[Any], str] = field(default_factory=dict)
    """Settings that name files, and dotted paths of functions: `to(target)` gives what writes one when the crawl has
    ended, of the crawl's directory and its settings, and raises `OptionError` for a name of no use.
    """
    elsewhere: str = ""
    """Dotted path of a class for results that are named by a URL: `check(url, settings)` raises `OptionError`, and
    `output(url, settings)` is a context that gives the name of the file to write.
    """
    job_files: str = ""
    """Dotted path of the class that reads job files (`sitecrawl.spiders.job_file.JobFiles`)."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Arguments of site spiders that are of no use without it, and dotted paths of the classes that do it."""
    reading: str = ""
    """Dotted path of a class in the place of `sitecrawl.crawl.reading.PageReading`, made of the settings and Scrapy's
    statistics, where one of `wanted_by` says something.
    """
    needs: Collection[str] = ()
    """Plug-ins without which this one does nothing."""

    def is_wanted(self, settings: Mapping[Any, Any]) -> bool:
        """Whether its components are imported."""
        return not self.wanted_by or any(settings.get(setting.name) not in _NOTHING for setting in self.wanted_by)


@cache
def _entry_points() -> Any:
    return entry_points()


def installed(group: str) -> EntryPoints:
    """The entry points of a `group`. To look for those of all takes 20 ms, and is done once."""
    chosen: EntryPoints = _entry_points().select(group=group)
    return chosen


@cache
def of_folder() -> Mapping[str, Plugin]:
    """Those that come with sitecrawl, also where that is a zip file."""
    folder = import_module(GROUP).__path__
    names = [module.name for module in pkgutil.iter_modules(folder) if module.ispkg]
    return {name: import_module(f"{GROUP}.{name}").PLUGIN for name in names}


@cache
def found() -> Mapping[str, Plugin]:
    """All that are there, whether they are on or off. Raises `OptionError` for an entry point that names none."""
    plugins = {**of_folder(), **{entry.name: entry.load() for entry in installed(GROUP)}}
    for name, plugin in plugins.items():
        if not isinstance(plugin, Plugin):
            raise OptionError(f"The plug-in {name} is {plugin!r}, and has to be a {Plugin.__module__}.Plugin")
    return plugins


def settings() -> dict[str, Setting[Any]]:
    """Those of all that are there, by name."""
    return {setting.name: setting for plugin in found().values() for setting in plugin.settings}


def of_argument(name: str, off: Collection[str]) -> str:
    """Dotted path of the class for a spider's argument; empty where its plug-in is not here."""
    return next((plugin.arguments[name] for plugin in working(off).values() if name in plugin.arguments), "")


def working(off: Collection[str] = ()) -> Mapping[str, Plugin]:
    """Those that are not `off`, and have all that they need. Raises `OptionError` for a name that none has."""
    plugins = found()
    for name in off:
        if name not in plugins:
            raise OptionError(f"SITECRAWL_PLUGINS_OFF: there is no plug-in {name}{meant(name, plugins)}")
    left = {name: plugin for name, plugin in plugins.items() if name not in off}
    while lacking := {name for name, plugin in left.items() if not left.keys() >= {*plugin.needs}}:
        left = {name: plugin for name, plugin in left.items() if name not in lacking}
    return left
