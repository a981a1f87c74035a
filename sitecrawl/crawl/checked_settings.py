"""Scrapy's settings are checked before anything is made of them: a wrong value is one line, and no traceback.

What a setting takes is told by the type of its default; where that says less than Scrapy reads, it stands in one of
the tables below.
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
"""Numbers whose default happens to be whole."""
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
"""Numbers that may be below 0."""
_NUMBERS: Final = frozenset({"HTTPCACHE_IGNORE_HTTP_CODES", "RETRY_HTTP_CODES", "TELNETCONSOLE_PORT"})
"""Lists of whole numbers."""
_LEVELS: Final = frozenset({"DEFAULT_DROPITEM_LOG_LEVEL", "LOG_LEVEL", "RETRY_GIVE_UP_LOG_LEVEL"})
_VERSIONS: Final = frozenset({"DOWNLOAD_TLS_MAX_VERSION", "DOWNLOAD_TLS_MIN_VERSION"})
_TLS: Final = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")
_FIRST: Final = frozenset({"ADDONS", "ASYNCIO_EVENT_LOOP", "SPIDER_LOADER_CLASS", "TWISTED_REACTOR"})
"""Classes that are loaded before any crawl begins."""
_CLASSES: Final = frozenset(
    name for name, value in _DEFAULTS.items() if isinstance(value, str) and value.startswith(("scrapy.", "twisted."))
)
_WITH_ORDERS: Final = frozenset(
    {"ADDONS", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES", "SPIDER_CONTRACTS", "SPIDER_MIDDLEWARES"}
)
"""Classes with their orders; None switches one off."""
_WITH_NAMES: Final = frozenset({"DOWNLOAD_HANDLERS", "FEED_EXPORTERS", "FEED_STORAGES"})
"""Classes by what they are for; None switches one off."""

_NEAR: Final = 0.9
"""Similarity (of `difflib`) from which a name counts as a misspelling of another."""
_OTHERS: Final = frozenset({"CONCURRENT_REQUESTS_PER_IP", "META_COPY_WARN_SKIP_KEYS", "USER_AGENTS"})
"""Names that Scrapy reads without a default, or that are much used by others, and near to one of Scrapy's."""
_OF_OTHERS: Final = (
    "CRAWLERA_", "DELTAFETCH_", "DOTSCRAPY_", "ELASTICSEARCH_", "FAKEUSERAGENT_", "IMPERSONATE_", "MONGO",
    "PLAYWRIGHT_", "PROXY", "REDIS_", "ROTATING_PROXY_", "SCRAPEOPS_", "SELENIUM_", "SHUB_", "SPIDERMON_",
    "SPLASH_", "ZYTE_",
)  # fmt: skip
"""With these begin the settings of other extensions of Scrapy."""


def check_scrapys(settings: BaseSettings) -> None:
    """Raises `OptionError` for the first of Scrapy's settings that somebody has given a value of no use."""
    for name in _given(settings):
        if name in _DEFAULTS and (wanted := _wrong(settings, name)):
            raise OptionError(f"{name} is {settings.get(name)!r}, and has to be {wanted}")
    if line := not_loaded(settings, _FIRST):
        raise OptionError(line)


def near_misses(settings: BaseSettings, ours: Collection[str] = ()) -> Iterator[str]:
    """A line for each setting that does not exist, and whose name is nearly that of one that does: Scrapy's, or one
    of `ours`.
    """
    known = {*_DEFAULTS, *_OTHERS, *ours}
    for name in _given(settings):
        if (
            name not in known
            and not name.startswith(_OF_OTHERS)
            and (near := get_close_matches(name, known, 1, _NEAR))
        ):
            yield f"There is no setting {name}: did you mean {near[0]}?"


def not_loaded(settings: BaseSettings, names: frozenset[str] = _CLASSES | _WITH_ORDERS | _WITH_NAMES) -> str:
    """A line on the first class that one of the settings `names` has and that cannot be loaded; empty if all can.

    It loads them, so those that come after the reactor are to be asked for when it is there: a module of theirs that
    imports it sooner would choose which one that is.
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
    """Settings of the project, the spider or the command line."""
    least = SETTINGS_PRIORITIES["project"]
    return [name for name in settings if isinstance(name, str) and (settings.getpriority(name) or 0) >= least]


def _wrong(settings: BaseSettings, name: str) -> str:
    """What the setting has to be, in words; empty if it is."""
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


def _are_numbers(settings: BaseSettings, name: str) -> bool:
    return all(int(one) >= 0 for one in settings.getlist(name))


def _is_level(settings: BaseSettings, name: str) -> bool:
    value: Any = settings.get(name)
    return isinstance(value, int) or value in logging.getLevelNamesMapping()


def _is_version(settings: BaseSettings, name: str) -> bool:
    return settings.get(name) in _TLS


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
    (_NUMBERS, _are_numbers, "whole numbers, separated by commas"),
    (_LEVELS, _is_level, "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    (_VERSIONS, _is_version, f"one of {', '.join(_TLS)}"),
    ({"DOWNLOAD_BIND_ADDRESS"}, _is_address, "an IP address of this machine"),
    ({"LOG_FILE"}, _can_be_written, "a file that can be written, in a folder that is there"),
)
