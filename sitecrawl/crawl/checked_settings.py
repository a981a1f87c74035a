"""Check Scrapy's settings at the start: a wrong value is one line of error, not a traceback.

The type of a default says what its setting accepts; exceptions are in the tables below.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.misc import load_object

from sitecrawl.base.errors import OptionError
from sitecrawl.base.setting import Setting

_DEFAULTS: Final = {name: value for name, value in vars(default_settings).items() if name.isupper()}
_FLOATS: Final = frozenset({"DNS_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_TIMEOUT"})
"""Settings that accept fractions, though their default is whole."""
_BOOLS: Final = frozenset({"TELNETCONSOLE_ENABLED"})
_SIGNED: Final = frozenset(
    {
        "DEPTH_PRIORITY",
        "FEED_EXPORT_INDENT",
        "HTTPCACHE_EXPIRATION_SECS",
        "METAREFRESH_MAXDELAY",
        "REDIRECT_PRIORITY_ADJUST",
        "RETRY_PRIORITY_ADJUST",
    }
)
"""Settings that may be negative."""
_NUMBERS: Final = frozenset({"HTTPCACHE_IGNORE_HTTP_CODES", "RETRY_HTTP_CODES", "TELNETCONSOLE_PORT"})
"""Settings that are lists of whole numbers."""
_LEVELS: Final = frozenset({"DEFAULT_DROPITEM_LOG_LEVEL", "LOG_LEVEL", "RETRY_GIVE_UP_LOG_LEVEL"})
_VERSIONS: Final = frozenset({"DOWNLOAD_TLS_MAX_VERSION", "DOWNLOAD_TLS_MIN_VERSION"})
_TLS: Final = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")
_FIRST: Final = frozenset({"ADDONS", "ASYNCIO_EVENT_LOOP", "SPIDER_LOADER_CLASS", "TWISTED_REACTOR"})
"""Settings that name classes loaded before any crawl begins."""
_CLASSES: Final = frozenset(
    name for name, value in _DEFAULTS.items() if isinstance(value, str) and value.startswith(("scrapy.", "twisted."))
)
_WITH_ORDERS: Final = frozenset(
    {"ADDONS", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES", "SPIDER_CONTRACTS", "SPIDER_MIDDLEWARES"}
)
"""Settings that map classes to orders; None switches one off."""
_WITH_NAMES: Final = frozenset({"DOWNLOAD_HANDLERS", "FEED_EXPORTERS", "FEED_STORAGES"})
"""Settings that map names to classes; None switches one off."""

_NEAR: Final = 0.9
"""Similarity (`difflib`) from which a name counts as a misspelling."""
_OTHERS: Final = frozenset({"CONCURRENT_REQUESTS_PER_IP", "META_COPY_WARN_SKIP_KEYS", "USER_AGENTS"})
"""Known names near to Scrapy's: read by Scrapy without a default, or popular in other projects."""
_OF_OTHERS: Final = (
    "CRAWLERA_", "DELTAFETCH_", "DOTSCRAPY_", "ELASTICSEARCH_", "FAKEUSERAGENT_", "IMPERSONATE_", "MONGO",
    "PLAYWRIGHT_", "PROXY", "REDIS_", "ROTATING_PROXY_", "SCRAPEOPS_", "SELENIUM_", "SHUB_", "SPIDERMON_",
    "SPLASH_", "ZYTE_",
)  # fmt: skip
"""Prefixes of other extensions' settings."""


def check_scrapys(settings: BaseSettings) -> None:
    """Raise `OptionError` for the first of Scrapy's settings with an invalid value."""
    for name in _given(settings):
        if name in _DEFAULTS and (wanted := _wrong(settings, name)):
            raise OptionError(f"{name} is {settings.get(name)!r}, and has to be {wanted}")
    if line := not_loaded(settings, _FIRST):
        raise OptionError(line)


def near_misses(settings: BaseSettings, ours: Collection[str] = ()) -> Iterator[str]:
    """Yield a line for each unknown setting whose name is nearly that of one of Scrapy's or of `ours`."""
    known = {*_DEFAULTS, *_OTHERS, *ours}
    for name in _given(settings):
        if (
            name not in known
            and not name.startswith(_OF_OTHERS)
            and (near := get_close_matches(name, known, 1, _NEAR))
        ):
            yield f"There is no setting {name}: did you mean {near[0]}?"


def not_loaded(settings: BaseSettings, names: frozenset[str] = _CLASSES | _WITH_ORDERS | _WITH_NAMES) -> str:
    """Describe the first class named by `names` that cannot be loaded; empty if all can.

    This imports the classes. Ask for those that Scrapy loads after the reactor only when the reactor is installed: a
    module that imports it earlier would choose which one.
    """
    for name in sorted(names.intersection(_given(settings))):
        for path in _paths(settings, name):
            try:
                load_object(path)
            except (ImportError, NameError, ValueError) as error:
                return f"{name} names {path!r}, which cannot be loaded: {error}"
    return ""


def _paths(settings: BaseSettings, name: str) -> list[str]:
    """Paths of the classes that the setting names; classes themselves have none."""
    found: list[Any] = [settings.get(name)]
    if name in _WITH_ORDERS:
        found = [path for path, order in settings.getdict(name).items() if order is not None]
    elif name in _WITH_NAMES:
        found = list(settings.getdict(name).values())
    return [path for path in found if isinstance(path, str)]


def _given(settings: BaseSettings) -> list[str]:
    """Names set by the project, the spider or the command line."""
    least = SETTINGS_PRIORITIES["project"]
    return [name for name in settings if isinstance(name, str) and (settings.getpriority(name) or 0) >= least]


def _wrong(settings: BaseSettings, name: str) -> str:
    """What the setting must be, in words; empty if it is valid."""
    if settings.get(name) is None and name not in _LEVELS:  # as if it were not set
        return ""
    for names, is_of_use, wanted in _SPECIAL:
        if name in names:
            try:
                return "" if is_of_use(settings, name) else wanted
            except (TypeError, ValueError):
                return wanted
    kind = float if name in _FLOATS else bool if name in _BOOLS else type(_DEFAULTS[name])
    least = -math.inf if name in _SIGNED else 0
    return Setting(name, kind() if kind in {bool, float, int} else None, "", "", least=least).fault(settings)


def _is_level(settings: BaseSettings, name: str) -> bool:
    value: Any = settings.get(name)
    return isinstance(value, int) or value in logging.getLevelNamesMapping()


def _is_address(settings: BaseSettings, name: str) -> bool:
    value = settings.get(name)
    ip_address(value[0] if isinstance(value, tuple) else value)
    return True


def _can_be_written(settings: BaseSettings, name: str) -> bool:
    if not (value := settings.get(name)):
        return True
    path = Path(value)
    return not path.is_dir() and os.access(path if path.exists() else path.parent, os.W_OK)


_SPECIAL: Final[tuple[tuple[Collection[str], Callable[[BaseSettings, str], bool], str], ...]] = (
    (
        _NUMBERS,
        lambda settings, name: all(int(one) >= 0 for one in settings.getlist(name)),
        "whole numbers, separated by commas",
    ),
    (_LEVELS, _is_level, "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    (_VERSIONS, lambda settings, name: settings.get(name) in _TLS, f"one of {', '.join(_TLS)}"),
    ({"DOWNLOAD_BIND_ADDRESS"}, _is_address, "an IP address of this machine"),
    ({"LOG_FILE"}, _can_be_written, "a file that can be written, in a folder that is there"),
)
