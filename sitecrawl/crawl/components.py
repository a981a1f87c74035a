"""Our components in a crawl, what the add-on changes in a project, and the project's own DUPEFILTER_CLASS."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from sitecrawl.base import declared
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.directories import only_looks

if TYPE_CHECKING:
    from scrapy.dupefilters import BaseDupeFilter

CAPTURE = "middlewares.capture.CaptureMiddleware"
"""Reports the outcome of each fetch; without it the scheduler hears of responses alone."""
REFUSALS = "middlewares.outages.RefusalsMiddleware"
ROBOTS = "middlewares.robots.RobotsMiddleware"
WARC = "pipelines.warc.WarcPipeline"
"""Without it no page is stored."""
_SCHEDULER = "sitecrawl.scheduler.Scheduler"


def has_our_scheduler(settings: BaseSettings) -> bool:
    """Whether the crawl uses our scheduler, or one on it."""
    return _is(settings["SCHEDULER"], _SCHEDULER)


def has_component(settings: BaseSettings, setting: str, name: str) -> bool:
    """Whether the class `name`, or one on it, is among the components of `setting`."""
    components = build_component_list(settings.get_component_priority_dict_with_base(setting))
    return any(_is(component, name) for component in components)


def _is(component: Any, name: str) -> bool:
    return any(f"{base.__module__}.{base.__qualname__}" == name for base in load_object(component).__mro__)


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "sites": {},
    "scrapy": {
        "SITECRAWL_DELAY_FACTOR": 0.0,
        "SITECRAWL_FAILURE_DELAY": 0.0,
        "SITECRAWL_MAX_HOST_FAILURES": 0,
        "SITECRAWL_CONCURRENT_REQUESTS_PER_IP": 0,
        "SITECRAWL_ORDER": "dfs",
        "SITECRAWL_HOLD_TRAPS": False,
    },
}
"""By SITECRAWL_PRESET, changed defaults. `scrapy` has Scrapy's pace, requests and order."""

_PACE: Final = ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_ITEMS")
_ASKED: Final = ("ROBOTSTXT_OBEY", "ROBOTSTXT_USER_AGENT", "USER_AGENT")
_LIMITS: Final = ("DOWNLOAD_MAXSIZE", "DOWNLOAD_TIMEOUT", "REDIRECT_MAX_TIMES", "URLLENGTH_LIMIT")
_UNHEEDED: Final = (
    "SCHEDULER_PRIORITY_QUEUE", "SCHEDULER_MEMORY_QUEUE", "SCHEDULER_DISK_QUEUE", "SCHEDULER_START_MEMORY_QUEUE",
    "SCHEDULER_START_DISK_QUEUE", "SCHEDULER_DEBUG",
)  # fmt: skip
"""Settings of Scrapy's scheduler that the frontier ignores."""


def changed(settings: BaseSettings, names: Collection[str], left_out: Collection[str]) -> Iterator[str]:
    """Yield lines that say which of Scrapy's defaults the add-on has changed, and why.

    `names`: Scrapy's settings that it may set. `left_out`: Scrapy's components that are off or replaced.
    """
    ours = {name for name in names if settings.getpriority(name) == SETTINGS_PRIORITIES["addon"]}
    ours = {name for name in ours if settings.get(name) != getattr(default_settings, name, None)}
    pace = [_change(settings, name) for name in _PACE if name in ours]
    if factor := declared.DELAY_FACTOR.read(settings):
        pace.append(f"SITECRAWL_DELAY_FACTOR={factor:g} (a host rests that many times as long as its answer took)")
    if (per_ip := declared.CONCURRENT_REQUESTS_PER_IP.read(settings)) > 0:
        pace.append(f"SITECRAWL_CONCURRENT_REQUESTS_PER_IP={per_ip}")
    yield from _line("pace, to be polite to hosts", pace)
    holds = ["SITECRAWL_HOLD_TRAPS"] if declared.HOLD_TRAPS.read(settings) else []
    refused = ["RefusalsMiddleware"] if has_component(settings, "DOWNLOADER_MIDDLEWARES", REFUSALS) else []
    yield from _line("what may leave URLs out", [*holds, *refused])
    yield from _line("what sites ask for", [_change(settings, name) for name in _ASKED if name in ours])
    yield from _line("limits on what may come", [_change(settings, name) for name in _LIMITS if name in ours])
    parts = sorted(ours.difference(_PACE, _ASKED, _LIMITS))
    yield from _line("parts that crawl whole sites", parts)
    yield from _line("off, because these parts do it", sorted(path.rpartition(".")[2] for path in left_out))
    given = [name for name in _UNHEEDED if (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["project"]]
    if "SCHEDULER" in ours:
        yield from _line("without effect, because the frontier keeps the requests", given)


def _line(why: str, what: list[str]) -> Iterator[str]:
    if what:
        yield f"{why}: {', '.join(what)}"


def _change(settings: BaseSettings, name: str) -> str:
    return f"{name}={settings.get(name)!r} (Scrapy: {getattr(default_settings, name, None)!r})"


_THE_FRONTIERS: Final = ("scrapy.dupefilters.RFPDupeFilter", "sitecrawl.dupefilter.DupeFilter")
"""Classes that the frontier's test replaces: Scrapy's default, and ours for Scrapy's scheduler."""
_NONE: Final = "scrapy.dupefilters.BaseDupeFilter"


def own_class(settings: BaseSettings) -> type[BaseDupeFilter] | None:
    """The project's own DUPEFILTER_CLASS; None without one. It is asked first, for each request that a spider yields;
    what it has not seen goes through the frontier's URL-seen test.

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
