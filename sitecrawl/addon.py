"""The add-on that puts sitecrawl into a Scrapy project: `ADDONS = {"sitecrawl.addon.Addon": 500}`.

It enables the components and gives every setting that the project, the spider or the command line has not set the
value that a crawl of whole sites wants. docs/settings.md says what each means.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.request import getproxies

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, Settings
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from sitecrawl import __version__
from sitecrawl.base import declared, limits, plugins
from sitecrawl.base.declared import RETIRED, SETTINGS
from sitecrawl.base.errors import OptionError, meant
from sitecrawl.base.secret_settings import mask_logs
from sitecrawl.base.setting import Limit
from sitecrawl.base.shadowing import hidden_by, hides
from sitecrawl.cluster.line import to_parent
from sitecrawl.crawl.checked_settings import check_scrapys, near_misses
from sitecrawl.crawl.components import PRESETS, changed, has_our_scheduler, own_class
from sitecrawl.crawl.configuration import sheets, verify_tls
from sitecrawl.crawl.directories import only_looks
from sitecrawl.crawl.json_log import log_as_wanted
from sitecrawl.crawl.outputs import check_outputs
from sitecrawl.crawl.sharing import name_own_feeds, workers
from sitecrawl.http import Proxy, Verify

logger = logging.getLogger(__name__)

SETTINGS.update(plugins.settings(SETTINGS))

SCRAPY_DEFAULTS: Final[dict[str, Any]] = {
    "SCHEDULER": "sitecrawl.scheduler.Scheduler",
    "DOWNLOADER": "sitecrawl.extensions.downloader.Downloader",
    # The frontier keeps one request a host and its pauses; Scrapy's slots have nothing to add to them.
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY_JITTER": 0,
    # A page is one item: Scrapy starts so many tasks for every response, whatever there is to do.
    "CONCURRENT_ITEMS": 4,
    "DOWNLOAD_WARNSIZE": 0,
    # A page that failed is a figure of the summary, not an error of the program.
    "LOG_FORMATTER": "sitecrawl.extensions.log_formatter.LogFormatter",
    "RETRY_GIVE_UP_LOG_LEVEL": "INFO",
    "ROBOTSTXT_OBEY": True,
    "ROBOTSTXT_USER_AGENT": "sitecrawl",
    "ROBOTSTXT_PARSER": "sitecrawl.extensions.robot_parser.BoundedRobotParser",
    "STATS_CLASS": "sitecrawl.extensions.lighter.StatsCollector",
    **{
        limit.name: limit.default
        for limit in limits.LIMITS
        if isinstance(limit, Limit) and not limit.name.startswith("SITECRAWL_")
    },
}
"""Scrapy's settings that a crawl of whole sites wants otherwise."""
_PARTS: Final = frozenset(
    {"SCHEDULER", "DOWNLOADER", "DOWNLOAD_DELAY_JITTER", "LOG_FORMATTER", "STATS_CLASS", "ROBOTSTXT_PARSER"}
)
"""Of these, what every preset needs; the frontier keeps pauses, so Scrapy's would be added to them."""

_LOOKS: Final[dict[str, Any]] = {
    "SITECRAWL_PROGRESS": False,
    "SITECRAWL_SUMMARY": False,
    "SITECRAWL_DASHBOARD": False,
    "SITECRAWL_ALLOW_PRIVATE": True,
    "SITECRAWL_MAX_WANT_TIME": 10.0,
}
"""For commands that only look at a page: what they print is the page, and the user has named it."""
_REFUSALS: Final = "middlewares.RefusalsMiddleware"
"""Not for them, and not with Scrapy's pace: what comes is a page."""

_COMPONENTS: Final[dict[str, dict[str, int | None]]] = {
    "DOWNLOADER_MIDDLEWARES": {
        "middlewares.GivenUpMiddleware": 10,
        "middlewares.RobotsMiddleware": 100,
        "middlewares.OutagesMiddleware": 560,
        _REFUSALS: 575,
        "middlewares.CaptureMiddleware": 1000,
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    },
    "ITEM_PIPELINES": {"pipelines.WarcPipeline": 900},
    "EXTENSIONS": {
        "sitecrawl.console.greeting.Greeting": -2,
        "sitecrawl.console.progress.Progress": 0,
        "sitecrawl.extensions.garbage.Garbage": 0,
        "scrapy.extensions.logstats.LogStats": None,  # the progress line says it
        "scrapy.extensions.spiderstate.SpiderState": None,  # it pickles; the scheduler keeps `spider.state`
    },
}


_SWITCHED: Final = (
    ("EXTENSIONS", "TELNETCONSOLE_ENABLED", "scrapy.extensions.telnet.TelnetConsole"),
    ("EXTENSIONS", "REMOTE_CONTROL_ENABLED", "scrapy.extensions.remote_control.RemoteControl"),
    ("DOWNLOADER_MIDDLEWARES", "COOKIES_ENABLED", "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"),
)
"""What Scrapy imports also where it is off. Two of them bring HTTP clients, aiohttp and requests: half of a start."""

_SPIDER_MIDDLEWARES: Final = {
    "middlewares.RequestsMiddleware": 940,
    "middlewares.LinksMiddleware": 950,
}
_HANDLERS: Final = dict.fromkeys(("http", "https"), "sitecrawl.extensions.download_handler.DownloadHandler")
_SIGNALS: Final = "sitecrawl.extensions.signal_manager.Signals"
_TUNNEL_ERROR: Final = "scrapy.core.downloader.handlers.http11.TunnelError"
_REPLACED: Final = (
    ("scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware", "middlewares.DecodingMiddleware", 590),
    ("scrapy.downloadermiddlewares.redirect.RedirectMiddleware", "middlewares.RedirectsMiddleware", 600),
    (
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
        "sitecrawl.extensions.lighter.OffsiteMiddleware",
        50,
    ),
    (
        "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware",
        "sitecrawl.extensions.lighter.DefaultHeadersMiddleware",
        400,
    ),
    (
        "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware",
        "sitecrawl.extensions.lighter.UserAgentMiddleware",
        500,
    ),
    (
        "scrapy.downloadermiddlewares.stats.DownloaderStats",
        "sitecrawl.extensions.lighter.DownloaderStats",
        850,
    ),
)
"""Scrapy's middlewares in whose places ours come, unless the project names them, and their order."""
_SCRAPYS_COOKIES: Final = (
    "COOKIES_ENABLED: Scrapy keeps cookies in memory without a limit, and asks publicsuffix.org for its list. "
    "SITECRAWL_COOKIES=True keeps them within limits and asks nobody: docs/login.md"
)


class Addon:
    """Scrapy calls `update_settings` before it builds the crawler's components."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Addon:
        if type(crawler.signals) is SignalManager:  # a project's own stays
            crawler.signals = load_object(_SIGNALS)(crawler.signals.sender)
        return cls()

    def update_settings(self, settings: Settings) -> None:
        mask_logs()
        _check_modules()
        check_settings(settings)
        log_as_wanted(settings)
        for line in near_misses(settings, SETTINGS):
            logger.warning("%s", line)
        _check_proxies(settings)
        looks = _LOOKS if only_looks() else {}
        preset = declared.PRESET.read(settings)
        defaults = {name: setting.default for name, setting in SETTINGS.items()}
        scrapys = {name: value for name, value in SCRAPY_DEFAULTS.items() if preset != "scrapy" or name in _PARTS}
        for name, value in {**defaults, **scrapys, **PRESETS[preset], **looks}.items():
            _set(settings, name, value)
        if verify_tls(settings) is Verify.REQUIRE:
            _set(settings, "DOWNLOAD_VERIFY_CERTIFICATES", value=True)  # for handlers that are not ours
        if settings.getpriority("DUPEFILTER_CLASS") and has_our_scheduler(settings):
            own_class(settings)  # what is wrong with it is said before anything is made
        if settings.getpriority("COOKIES_ENABLED") and settings.getbool("COOKIES_ENABLED") and not looks:
            logger.warning("%s", _SCRAPYS_COOKIES)
        if preset != "scrapy" or declared.CONTACT.read(settings):
            _set(settings, "USER_AGENT", _user_agent(declared.CONTACT.read(settings)))
        for name, components in {**_COMPONENTS, "SPIDER_MIDDLEWARES": _spider_middlewares(settings)}.items():
            off = [path for kind, switch, path in _SWITCHED if kind == name and not settings.getbool(switch)]
            _leave_out(settings, name, [*off, *(path for path, priority in components.items() if priority is None)])
            for path, priority in components.items():
                if priority is not None and not (path == _REFUSALS and (looks or preset == "scrapy")):
                    _add(settings, name, path, priority)
        working = plugins.of_crawl(settings)
        _add_wanted(settings, working)
        if to_parent() is not None:
            name_own_feeds(settings)
        _replace_scrapys(settings)
        _without_tunnels(settings)
        added = {scheme: path for plugin in working.values() for scheme, path in plugin.handlers.items()}
        handlers = {**_HANDLERS, **added, **settings.getdict("DOWNLOAD_HANDLERS")}
        settings.set("DOWNLOAD_HANDLERS", handlers, settings.getpriority("DOWNLOAD_HANDLERS") or 0)
        if not looks and to_parent() is None:
            _tell(settings)


def _tell(settings: Settings) -> None:
    """Say once, at the start, what is otherwise than it would be without the add-on, and how to have Scrapy's."""
    off = [path for components in _COMPONENTS.values() for path, order in components.items() if order is None]
    left_out = [*off, *(path for path, _own, _order in _REPLACED)]
    lines = [f"  {line}" for line in changed(settings, (*SCRAPY_DEFAULTS, "USER_AGENT"), left_out)]
    keeps = "" if settings["SITECRAWL_PRESET"] == "scrapy" else '; SITECRAWL_PRESET = "scrapy" keeps Scrapy\'s pace'
    logger.info(
        "The add-on has changed what this project leaves at Scrapy's defaults (docs/settings.md%s):\n%s",
        keeps,
        "\n".join(lines),
    )


def check_settings(settings: BaseSettings) -> None:
    """Raises `OptionError` for a setting of ours that does not exist, or one, also a plug-in's, whose value is of no
    use.
    """
    check_scrapys(settings)
    for name in settings:
        if name in SETTINGS:
            SETTINGS[name].check(settings)
        elif name in RETIRED:
            raise OptionError(f"There is no setting {name} any more: {RETIRED[name]}. Leave it out")
        elif isinstance(name, str) and name.startswith("SITECRAWL_"):
            ours = [known for known in SETTINGS if known.startswith("SITECRAWL_")]
            hint = meant(name, ours) or "; docs/settings.md names all"
            raise OptionError(f"There is no setting {name}{hint}")
    sheets(settings)
    workers(settings)
    if to_parent() is None:  # a worker writes none
        check_outputs(settings)


def _check_proxies(settings: BaseSettings) -> None:
    """Raises `OptionError` for one in the environment that would fail all requests; Scrapy skips what is no URL."""
    if not settings.getbool("HTTPPROXY_ENABLED"):
        return
    for scheme, proxy in getproxies().items():
        try:
            if scheme in _HANDLERS and "://" in proxy:
                Proxy.of(proxy)
        except ValueError as error:
            raise OptionError(f"{scheme}_proxy: {error}") from error


def _set(settings: BaseSettings, name: str, value: Any) -> None:
    """Set what nobody but Scrapy's defaults has set."""
    settings.set(name, value, priority="addon")


def _leave_out(settings: Settings, name: str, paths: Sequence[str]) -> None:
    """Have none of `paths`, not even imported: one of them brings another HTTP client along, a tenth of a second."""
    if not paths:
        return
    base = settings.getdict(f"{name}_BASE")
    kept = {component: order for component, order in base.items() if _path(component) not in paths}
    priority = max(SETTINGS_PRIORITIES["addon"], settings.getpriority(f"{name}_BASE") or 0)
    settings.set(f"{name}_BASE", kept, priority)  # a project's own base, too
    if settings.getdict(name):  # the project's own, which may name one of them in some way
        for path in paths:
            component: Any = load_object(path)
            settings.set_in_component_priority_dict(name, component, None)


def _add_wanted(settings: Settings, working: Mapping[str, plugins.Plugin]) -> None:
    """Raises `OptionError` for a login without the plug-in: nothing but the logged-out pages would come."""
    if "logins" not in working and any(sheet.login is not None for sheet in sheets(settings).all):
        raise OptionError("A sheet says how to log in, and the plug-in `logins` is not here: docs/plugins.md")
    for plugin in working.values():
        if plugin.is_wanted(settings):
            for name, components in plugin.components.items():
                for path, priority in components.items():
                    _add(settings, name, path, priority)


def _add(settings: Settings, name: str, path: str, priority: int) -> None:
    """Have it, unless the project has it elsewhere, or switched off."""
    component: Any = load_object(path)
    settings.setdefault_in_component_priority_dict(name, component, priority)


def _path(component: Any) -> str:
    return component if isinstance(component, str) else global_object_name(component)


def _without_tunnels(settings: Settings) -> None:
    """Retry no error that Scrapy's HTTP client alone raises, for which that would be imported."""
    has_own = _HANDLERS.keys() & settings.getdict("DOWNLOAD_HANDLERS").keys()
    if settings.getpriority("RETRY_EXCEPTIONS") == 0 and not has_own:
        named = settings.getlist("RETRY_EXCEPTIONS")
        settings.set("RETRY_EXCEPTIONS", [error for error in named if error != _TUNNEL_ERROR], "addon")


def _spider_middlewares(settings: Settings) -> dict[str, int | None]:
    """Ours and Scrapy's in one, unless the project has some of its own, between which an order is to be kept."""
    if settings.getdict("SPIDER_MIDDLEWARES"):
        return {**_SPIDER_MIDDLEWARES}
    joined: Any = load_object("middlewares.output.JOINED")
    base = settings.getdict("SPIDER_MIDDLEWARES_BASE")
    paths = [f"{kind.__module__}.{kind.__qualname__}" for kind in joined]
    return {**dict.fromkeys(path for path in paths if path in base), "middlewares.OutputMiddleware": 950}


def _replace_scrapys(settings: Settings) -> None:
    """A project that moves one of Scrapy's middlewares, or has one of its own for it, keeps its order."""
    named = [load_object(name) for name in settings.getdict("DOWNLOADER_MIDDLEWARES")]
    for path, own, order in _REPLACED:
        scrapys: Any = load_object(path)
        if scrapys not in named:
            ours: Any = load_object(own)
            settings.set_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", scrapys, None)
            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ours, order)


def _user_agent(contact: str) -> str:
    return f"sitecrawl/{__version__} (+{contact})" if contact else f"sitecrawl/{__version__}"


def _check_modules() -> None:
    """Packages called `middlewares` and `pipelines` are common: ours must be the ones that Scrapy will load."""
    for module, member in (("middlewares", "CaptureMiddleware"), ("pipelines", "WarcPipeline")):
        try:
            is_ours = hasattr(import_module(module), member)
        except Exception as error:
            if Path(_found(module)).parent.parent in {Path(), Path(__file__).parent.parent}:
                raise  # ours is missing, or broken
            raise OptionError(_shadowed(module)) from error
        if not is_ours:
            raise OptionError(_shadowed(module))
        if (hidden := hidden_by(module)) is not None:
            raise OptionError(hides(module, hidden))


def _found(module: str) -> str:
    """The file or folder that Python takes for `module`, which need not be ours; empty if there is none."""
    spec = find_spec(module)
    if spec is None:
        return ""
    return spec.origin or ", ".join(spec.submodule_search_locations or ())


def _shadowed(module: str) -> str:
    return (
        f"Python finds another package named {module!r}, {_found(module)}, before sitecrawl's: rename it, or put "
        "sitecrawl first on the path"
    )
