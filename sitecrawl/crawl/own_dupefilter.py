"""A project's own DUPEFILTER_CLASS under our scheduler.

It is asked first, for each request that a spider yields. What it has seen is filtered; the rest goes through the
frontier's URL-seen test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.directories import only_looks

if TYPE_CHECKING:
    from scrapy.dupefilters import BaseDupeFilter

_THE_FRONTIERS: Final = ("scrapy.dupefilters.RFPDupeFilter", "sitecrawl.dupefilter.DupeFilter")
"""Classes that the frontier's test replaces: Scrapy's default, and ours for Scrapy's scheduler."""
_NONE: Final = "scrapy.dupefilters.BaseDupeFilter"


def own_class(settings: BaseSettings) -> type[BaseDupeFilter] | None:
    """The project's own class; None without one.

    Raises `OptionError` for a class that cannot be loaded, is no class, or filters nothing.
    """
    found = _load(settings["DUPEFILTER_CLASS"])
    path = global_object_name(found)
    if path == _NONE and not only_looks():  # Scrapy's shell has it, and ends by hand
        raise OptionError(
            f"DUPEFILTER_CLASS is {path}, which filters nothing, and a crawl without a URL-seen test has no end: "
            "leave it out, and give requests that are to pass dont_filter=True"
        )
    if path.startswith("scrapy_redis."):
        raise OptionError(
            f"DUPEFILTER_CLASS is {path}: leave it out, for the frontier tests what was seen, and does so over all "
            "workers with SITECRAWL_CLUSTER=True"
        )
    return None if path in {*_THE_FRONTIERS, _NONE} else found


def class_named(setting: str, named: Any) -> Any:
    """What a setting names, by its path or itself. Raises `OptionError` if it cannot be loaded."""
    try:
        return load_object(named)
    except Exception as error:  # whatever goes wrong where a module of the project's is imported
        raise OptionError(f"{setting} is {named!r}, and cannot be loaded: {error}") from error


def _load(named: Any) -> Any:
    found = class_named("DUPEFILTER_CLASS", named)
    if not isinstance(found, type) or not callable(getattr(found, "request_seen", None)):
        raise OptionError(f"DUPEFILTER_CLASS is {named!r}, which is no duplicate filter: it has no request_seen")
    return found
