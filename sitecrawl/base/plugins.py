"""Plug-ins: how one declares what it adds, and how they are found (docs/plugins.md).

Declarations name everything by dotted path, which is imported when it is needed.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Final

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.base.setting import Setting

GROUP: Final = "sitecrawl.plugins"
"""The folder of our own plug-ins, and the entry point group of all others."""


_KINDS: Final = ("DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES", "SPIDER_MIDDLEWARES")
"""Settings of Scrapy that components may name."""
_NOTHING: Final[tuple[Any, ...]] = (None, False, "", [], (), "0", "False", "false")


@dataclass(frozen=True)
class Plugin:
    """What a plug-in adds to a crawl, all of it by name. Raises `OptionError` for a field of another shape."""

    settings: Collection[Setting[Any]] = ()
    wanted_by: Collection[Setting[Any]] = ()
    """Settings of which one must be set before components are imported; empty: always imported."""
    components: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Dotted paths and orders by Scrapy's setting (`EXTENSIONS`, `DOWNLOADER_MIDDLEWARES`, ...)."""
    handlers: Mapping[str, str] = field(default_factory=dict)
    """URL schemes and dotted paths of their download handlers."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Command names and dotted paths of their classes. Each also needs an entry point of `scrapy.commands`."""
    spiders: Collection[str] = ()
    """Modules of spiders. Our own project has them; others name them in `SPIDER_MODULES`."""
    outputs: Mapping[Setting[Any], str] = field(default_factory=dict)
    """Settings that name output files, and dotted paths of functions. `to(target)` returns what writes the file after
    the crawl, given the crawl's directory and settings; it raises `OptionError` for a bad name."""
    elsewhere: str = ""
    """Dotted path of a class for outputs named by a URL: `check(url, settings)` raises `OptionError`, and
    `output(url, settings)` is a context manager that gives the name of the file to write."""
    job_files: str = ""
    """Dotted path of the class that reads job files (`sitecrawl.spiders.job_file.JobFiles`)."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Arguments of site spiders that are of no use without it, and dotted paths of the classes that do it."""
    reading: str = ""
    """Dotted path of a subclass of `sitecrawl.crawl.page_reading.PageReading` that reads the pages where the plug-in
    is wanted. It is made by `from_settings(settings, stats)`."""
    needs: Collection[str] = ()
    """Other plug-ins that this one needs."""

    def __post_init__(self) -> None:
        for name in ("settings", "wanted_by", "needs", "spiders"):
            if isinstance(getattr(self, name), Setting | str):
                raise OptionError(f"Plugin({name}=...) has to be a list: put brackets around it")
        for setting in self.outputs:
            if setting not in self.settings:
                raise OptionError(f"Plugin(settings=...) lacks {setting.name}, which outputs names")
        for name, components in self.components.items():
            if name not in _KINDS:
                raise OptionError(f"Plugin(components=...) has {name!r}, and knows {', '.join(_KINDS)}")
            if not isinstance(components, Mapping):
                raise OptionError(f"Plugin(components=...): {name} has to be a dict of dotted paths and orders")

    def is_wanted(self, settings: Mapping[Any, Any]) -> bool:
        """Whether its components are to be imported."""
        return not self.wanted_by or bool(self.wishes(settings))

    def wishes(self, settings: Mapping[Any, Any]) -> list[str]:
        """Names of those settings that switch it on."""
        return [setting.name for setting in self.wanted_by if settings.get(setting.name) not in _NOTHING]


@cache
def _entry_points() -> Any:
    return entry_points()


def installed(group: str) -> EntryPoints:
    """The entry points of `group`, cached: looking through all takes 20 ms."""
    chosen: EntryPoints = _entry_points().select(group=group)
    return chosen


@cache
def of_folder() -> Mapping[str, Plugin]:
    """Our own plug-ins, also from a zip file."""
    folder = import_module(GROUP).__path__
    names = [module.name for module in pkgutil.iter_modules(folder) if module.ispkg]
    return {name: import_module(f"{GROUP}.{name}").PLUGIN for name in names}


@cache
def found() -> Mapping[str, Plugin]:
    """All installed plug-ins, on or off. Raises `OptionError` for an entry point that is no plug-in."""
    return {**of_folder(), **{entry.name: _load(entry) for entry in installed(GROUP)}}


def _load(entry: EntryPoint) -> Plugin:
    try:
        plugin = entry.load()
    except Exception as error:
        raise OptionError(
            f"The plug-in {entry.name} cannot be loaded from {entry.value!r}: {error}. Mend it or uninstall it"
        ) from error
    if not isinstance(plugin, Plugin):
        raise OptionError(f"The plug-in {entry.name} is {plugin!r}, and has to be a {Plugin.__module__}.Plugin")
    return plugin


def settings(others: Mapping[str, Setting[Any]] | None = None) -> dict[str, Setting[Any]]:
    """Settings of all installed plug-ins, by name. Raises `OptionError` for a name that two have, or `others`."""
    known = dict(others or {})
    settings: dict[str, Setting[Any]] = {}
    for name, plugin in found().items():
        for setting in plugin.settings:
            if known.setdefault(setting.name, setting) is not setting:
                raise OptionError(
                    f"The plug-in {name} has a setting {setting.name}, and there is another of that name"
                )
            settings[setting.name] = setting
    return settings


def of_crawl(settings: Any) -> Mapping[str, Plugin]:
    """The plug-ins that Scrapy's `settings` leave on. Raises `OptionError`."""
    from sitecrawl.base import declared  # noqa: PLC0415 - no command needs all settings at its start

    return working(declared.PLUGINS_OFF.read(settings))


def of_argument(name: str, settings: Any) -> str:
    """Dotted path of the class for a spider's argument; empty where its plug-in is not here."""
    return next((plugin.arguments[name] for plugin in of_crawl(settings).values() if name in plugin.arguments), "")


def working(off: Collection[str] = ()) -> Mapping[str, Plugin]:
    """Plug-ins that are not `off` and have all that they need. Raises `OptionError` for an unknown name."""
    plugins = found()
    for name in off:
        if name not in plugins:
            raise OptionError(f"SITECRAWL_PLUGINS_OFF: there is no plug-in {name}{meant(name, plugins)}")
    left = {name: plugin for name, plugin in plugins.items() if name not in off}
    while lacking := {name for name, plugin in left.items() if not left.keys() >= {*plugin.needs}}:
        left = {name: plugin for name, plugin in left.items() if name not in lacking}
    return left
