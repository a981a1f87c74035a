"""The add-on in a project that knows nothing else of sitecrawl, as `scrapy startproject` makes it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from crawling import PROJECT, scrapy
from localweb import LocalWeb, linked
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from sitecrawl.addon import _COMPONENTS, SCRAPY_DEFAULTS, Addon
from sitecrawl.base import declared
from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.base.setting import Setting
from sitecrawl.crawl.components import PRESETS
from sitecrawl.frontier.urls.order import ORDERS
from sitecrawl.http import Verify
from sitecrawl.plugins.rendering import RENDER
from sitecrawl.spiders.arguments import RENDER as RENDER_MODES

SPIDER = """
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from sitecrawl.spiders.site import SiteSpider

class Plain(scrapy.Spider):
    name = "plain"

    def parse(self, response):
        "@url {root}/\\n@returns items 1 1\\n@returns requests 1 1"
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")

class Own(CrawlSpider):
    name = "own"
    start_urls = ["{root}/"]
    rules = [Rule(LinkExtractor(), callback="item", follow=True)]

    def item(self, response):
        yield {{"url": response.url}}

class Bare(SiteSpider):
    name = "bare"

class Site(SiteSpider):
    name = "site"
    start_urls = ["{root}"]
    custom_settings = SiteSpider.custom_settings | {{"SITECRAWL_ORDER": "dfs"}}

    def extract(self, response, page):
        yield {{"title": page.title}}
"""


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a", title="first"), "/a": linked("/", title="second"), "/robots.txt": ""}) as served:
        yield served


@pytest.fixture(scope="module")
def project(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh")
    assert scrapy("startproject", "shop", cwd=folder).returncode == 0
    root = folder / "shop"
    (root / "shop" / "spiders" / "own.py").write_text(SPIDER.format(root=web.root))
    with (root / "shop" / "settings.py").open("a") as settings:
        settings.write('\nADDONS = {"sitecrawl.addon.Addon": 500}\nDOWNLOAD_DELAY = 0\nSITECRAWL_DELAY_FACTOR = 0\n')
    return root


def run(project: Path, *words: str, **settings: object) -> tuple[int, str, str]:
    done = scrapy(*words, settings=settings, cwd=project, env={"PYTHONPATH": str(PROJECT)})
    return done.returncode, done.stdout, done.stderr


def test_everything_turns_on(project: Path, web: LocalWeb, tmp_path: Path) -> None:
    """A spider of the project crawls on the frontier, its pages are stored, and its items come out."""
    code, _, log = run(project, "crawl", "site", "-O", f"{tmp_path}/items.jsonl", "-s", f"JOBDIR={tmp_path}/job")
    assert code == 0, log
    assert '{"title": "first"}' in (tmp_path / "items.jsonl").read_text()
    with closing(sqlite3.connect(tmp_path / "job" / "pages.sqlite")) as index:
        assert [*index.execute("SELECT count(*) FROM pages WHERE kind = 'page'")] == [(2,)]
    for part in (
        "sitecrawl.console.progress.Progress",
        "middlewares.robots.RobotsMiddleware",
        "pipelines.warc.WarcPipeline",
    ):
        assert part in log


@pytest.mark.parametrize(
    "words",
    [
        ("fetch", "--nolog", "{root}/"),
        ("parse", "--nolog", "--spider", "plain", "--noitems", "{root}/"),
        pytest.param(
            ("shell", "--nolog", "{root}/", "-c", "response.css('title::text').get()"), marks=pytest.mark.deep
        ),
        ("parse", "--nolog", "--spider", "bare", "{root}/"),
        ("shell", "--nolog", "--spider", "bare", "{root}/", "-c", "response.css('title::text').get()"),
        ("shell", "-L", "WARNING", "{root}/", "-c", "response.css('title::text').get()"),
        pytest.param(("check", "plain"), marks=pytest.mark.deep),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_look_leaves_nothing_behind(project: Path, web: LocalWeb, words: tuple[str, ...]) -> None:
    """Scrapy's commands for trying something out work, say only their own, and make no crawl directory."""
    code, output, log = run(project, *(word.format(root=web.root) for word in words))
    assert code == 0, log
    assert "first" in output or "/a" in output or "OK" in log
    assert "Traceback" not in log
    assert "sitecrawl" not in log
    assert "The crawl" not in log
    assert not (project / "crawls").exists()
    assert not (project / ".scrapy" / "crawls").exists()


OTHERS = {
    "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG",
    "SITECRAWL_ORDER": "bfs",
    "SITECRAWL_PRESET": "scrapy",
    "SITECRAWL_PROGRESS": "False",
    "SITECRAWL_DUPLICATE_CONTENT": "keep",
    "SITECRAWL_EXPORTS": ["pages.csv"],
    "SITECRAWL_PLUGINS_OFF": ["webhooks"],
    "SITECRAWL_RENDER": "auto",
    "SITECRAWL_SHEETS": [{"hosts": ["a.example"]}],
    "SITECRAWL_USE": "search",
    "SITECRAWL_VERIFY_TLS": "require",
    "SITECRAWL_WORKERS": "auto",
}
"""Values that are of use and not the default, where not every value is."""


def settings_with(**given: tuple[object, str]) -> Settings:
    settings = Settings()
    for name, (value, priority) in given.items():
        settings.set(name, value, priority)
    Addon().update_settings(settings)
    return settings


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_what_a_user_has_set_is_left_alone(priority: str) -> None:
    """Project, spider and command line win over every setting of the add-on."""
    for name, default in ({name: one.default for name, one in SETTINGS.items()} | SCRAPY_DEFAULTS).items():
        theirs = OTHERS.get(name) or {bool: not default, int: 7, float: 7.5}.get(type(default), "theirs")
        assert settings_with(**{name: (theirs, priority)}).get(name) == theirs, name


@pytest.mark.parametrize(
    "name",
    ["COOKIES_ENABLED", "STATS_DUMP", "TELNETCONSOLE_ENABLED", "REMOTE_CONTROL_ENABLED", "FEED_EXPORT_ENCODING"],
)
def test_what_is_none_of_its_business_is_left_alone(name: str) -> None:
    """What logs in by a form, or reads the statistics of the log, does so under the add-on as well."""
    assert settings_with().get(name) == Settings().get(name)


def test_the_user_agent_has_the_contact_of_any_source() -> None:
    """SITECRAWL_CONTACT is read wherever it was set; a USER_AGENT of the project's own stays."""
    contact = ("ops@example.org", "project")
    assert settings_with(SITECRAWL_CONTACT=contact).get("USER_AGENT").endswith("(+ops@example.org)")
    assert settings_with(SITECRAWL_CONTACT=contact, USER_AGENT=("mine", "project")).get("USER_AGENT") == "mine"


def test_components_can_be_moved_and_switched_off() -> None:
    """A component that the project names keeps the project's order, also if that is None."""
    settings = settings_with(ITEM_PIPELINES=({"pipelines.WarcPipeline": None, "shop.Own": 1}, "project"))
    pipelines = {getattr(path, "__name__", path): order for path, order in settings.getdict("ITEM_PIPELINES").items()}
    assert pipelines == {"pipelines.WarcPipeline": None, "shop.Own": 1}


LOG_STATS = "scrapy.extensions.logstats.LogStats"
TELNET = "scrapy.extensions.telnet.TelnetConsole"
MEMORY = "scrapy.extensions.memusage.MemoryUsage"
RETRY = "scrapy.downloadermiddlewares.retry.RetryMiddleware"
SPIDER_STATE = "scrapy.extensions.spiderstate.SpiderState"


@pytest.mark.parametrize("own", [{}, {MEMORY: 1}, {LOG_STATS: 5}, {load_object(LOG_STATS): 5, SPIDER_STATE: 0}])
def test_what_is_left_out_stays_out(own: dict[object, int]) -> None:
    """Whatever else a project has, and in whatever form it names what does not go together with ours."""
    settings = settings_with(EXTENSIONS=(own, "project"))
    enabled = settings.get_component_priority_dict_with_base("EXTENSIONS")
    paths = {path if isinstance(path, str) else global_object_name(path) for path in enabled}
    assert paths.isdisjoint(path for path, order in _COMPONENTS["EXTENSIONS"].items() if order is None)
    assert {"scrapy.extensions.corestats.CoreStats", "sitecrawl.console.progress.Progress"} <= paths
    assert paths >= {MEMORY, TELNET}


@pytest.mark.parametrize("kind", [str, load_object])
@pytest.mark.parametrize("priority", ["default", "addon", "project", "cmdline"])
def test_what_is_left_out_stays_out_of_a_projects_own_base(kind: Callable[[str], object], priority: str) -> None:
    """Also where the base is not Scrapy's, which nobody has to change and some do."""
    name, robots = "DOWNLOADER_MIDDLEWARES_BASE", "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
    base = {kind(path): order for path, order in Settings().getdict(name).items() if priority != "default"}
    settings = settings_with(**{name: (base, priority)} if base else {})
    enabled = settings.get_component_priority_dict_with_base("DOWNLOADER_MIDDLEWARES")
    paths = {path if isinstance(path, str) else global_object_name(path) for path in build_component_list(enabled)}
    assert robots not in paths
    assert {RETRY, "middlewares.robots.RobotsMiddleware"} <= paths


TUNNEL = "scrapy.core.downloader.handlers.http11.TunnelError"


@pytest.mark.parametrize(
    ("given", "retried"),
    [
        ({}, False),
        ({"DOWNLOAD_HANDLERS": ({"ftp": "shop.Handler"}, "project")}, False),
        ({"DOWNLOAD_HANDLERS": ({"https": "shop.Handler"}, "project")}, True),
        ({"RETRY_EXCEPTIONS": ([TUNNEL], "project")}, True),
    ],
)
def test_errors_of_tunnels(given: dict[str, tuple[object, str]], retried: bool) -> None:
    """Scrapy's own HTTP client has them: who uses that, or names them, has them retried."""
    settings = settings_with(**given)
    assert (TUNNEL in settings.getlist("RETRY_EXCEPTIONS")) == retried
    assert settings.getlist("RETRY_EXCEPTIONS")


@pytest.mark.parametrize(
    ("given", "warned"),
    [({}, 0), ({"COOKIES_ENABLED": (False, "project")}, 0), ({"COOKIES_ENABLED": ("True", "cmdline")}, 1)],
)
def test_scrapys_cookies(given: dict[str, tuple[object, str]], warned: int, caplog: pytest.LogCaptureFixture) -> None:
    """Who asks for them is told once what keeps cookies within limits. A project that says nothing is left alone."""
    settings_with(**given)
    assert caplog.text.count("SITECRAWL_COOKIES=True") == warned


def test_a_projects_own_way_to_the_network_stays() -> None:
    """A download handler, and a middleware in place of the one that unpacks, are the project's if it names one."""
    own = {"scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None}
    settings = settings_with(
        DOWNLOAD_HANDLERS=({"https": "shop.Handler"}, "project"), DOWNLOADER_MIDDLEWARES=(own, "project")
    )
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    assert handlers == {
        "ftp": "sitecrawl.plugins.ftp.FtpLater",
        "http": "sitecrawl.extensions.download_handler.DownloadHandler",
        "https": "shop.Handler",
    }
    names = {getattr(path, "__name__", path) for path in settings.getdict("DOWNLOADER_MIDDLEWARES")}
    assert "DecodingMiddleware" not in names
    assert own.keys() <= names


@pytest.mark.parametrize(
    ("package", "content"),
    [pytest.param("middlewares", "", marks=pytest.mark.deep), ("pipelines", "import nothing_of_the_kind")],
)
def test_a_package_of_the_same_name_is_named(project: Path, tmp_path: Path, package: str, content: str) -> None:
    """A project whose own package hides ours is told which file it is, also if it cannot even be imported."""
    (tmp_path / f"{package}.py").write_text(content)
    path = f"{tmp_path}:{PROJECT}"
    done = scrapy("crawl", "plain", cwd=project, env={"PYTHONPATH": path})
    assert done.returncode == 1
    assert (
        f"Python finds another package named '{package}', {tmp_path}/{package}.py, before sitecrawl's" in done.stderr
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SITECRAWL_MAX_DELAYS", 1, "is SITECRAWL_MAX_DELAY meant?"),
        ("SITECRAWL_DELAI", 1, "is SITECRAWL_DELAY_FACTOR meant?"),
        ("SITECRAWL_FACTER", 1, "is SITECRAWL_DELAY_FACTOR meant?"),
        ("SITECRAWL_WZZZWZZZWZZZWZZZWZZZWZZZ", 1, "docs/settings.md"),
        ("SITECRAWL_MAX_DELAY", "abc", "SITECRAWL_MAX_DELAY is 'abc', and has to be a number from 0 on"),
        ("SITECRAWL_MAX_DELAY", "-5", "a number from 0 on"),
        ("SITECRAWL_MAX_DELAY", "nan", "a number from 0 on"),
        ("SITECRAWL_MAX_DELAY", "inf", "a number from 0 on"),
        ("SITECRAWL_MAX_PAGES", "1.5", "a whole number from 0 on"),
        ("SITECRAWL_HOLD_TRAPS", "perhaps", "True or False"),
        ("SITECRAWL_ORDER", "bsf", "has to be one of aopic, aopic-published, best, bfs, dfs: is bfs meant?"),
        ("SITECRAWL_ORDER", None, "is None, and has to be one of"),
        ("SITECRAWL_CLUSTER_SHARDS", 1025, "a whole number from 1 to 1024"),
        ("SITECRAWL_LEASE_SECONDS", "0.5", "a number from 1 on"),
        ("SITECRAWL_ITEMS_TABLE", "x", "There is no setting SITECRAWL_ITEMS_TABLE any more: it is items"),
        (
            "SITECRAWL_SEEN_BLOOM",
            "rbloom",
            "any more: the filter is pybloom-live. Leave it out",
        ),
        ("SITECRAWL_PROGRESS", "atuo", "is auto meant?"),
    ],
)
def test_a_setting_that_is_of_no_use(name: str, value: object, words: str) -> None:
    """An unknown name is answered with the nearest, a wrong value with what it has to be."""
    with pytest.raises(OptionError, match=re.escape(words)):
        Addon().update_settings(Settings({name: value}))


def test_a_wrong_setting_is_said_in_a_line(project: Path) -> None:
    """Before anything is fetched or made."""
    code, _, errors = run(PROJECT, "crawl", "generic", "-a", "seeds=http://127.0.0.1:9/", SITECRAWL_ORDERS="bfs")
    assert code == 1
    assert errors.strip() == "sitecrawl: There is no setting SITECRAWL_ORDERS: is SITECRAWL_ORDER meant?"


FORBIDDEN = "User-agent: *\nDisallow: /p7\n"
PAGES = [f"/p{number}" for number in range(12)]
CHANGED = "The add-on has changed"


@pytest.fixture(scope="module")
def listing() -> Iterator[LocalWeb]:
    pages = {path: linked("/", title=path) for path in PAGES}
    with LocalWeb({"/": linked(*PAGES, title="all"), "/robots.txt": FORBIDDEN, **pages}) as served:
        yield served


@pytest.fixture(scope="module")
def plain_project(listing: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that sets nothing but where its spiders are."""
    root = tmp_path_factory.mktemp("plain")
    (root / "scrapy.cfg").write_text("[settings]\ndefault = only\n")
    (root / "only.py").write_text('SPIDER_MODULES = ["ours"]\n')
    (root / "ours.py").write_text(SPIDER.format(root=listing.root))
    return root


def test_the_preset_scrapy_crawls_what_scrapy_crawls(plain_project: Path, listing: LocalWeb, tmp_path: Path) -> None:
    """A CrawlSpider makes the same requests and items with the add-on as without; by the usual preset one less."""
    found = {}
    kinds: dict[str, dict[str, object]] = {
        "without": {},
        "scrapy": {"ADDONS": '{"sitecrawl.addon.Addon": 500}', "SITECRAWL_PRESET": "scrapy"},
        "sites": {"ADDONS": '{"sitecrawl.addon.Addon": 500}', "SITECRAWL_DELAY_FACTOR": 0},
    }
    for name, settings in kinds.items():
        items, asked = tmp_path / f"{name}.csv", len(listing.hits)
        code, _, log = run(plain_project, "crawl", "own", "-O", str(items), JOBDIR=tmp_path / name, **settings)
        assert code == 0, log
        found[name] = (sorted(hit.path for hit in listing.hits[asked:]), sorted(items.read_text().split()))
    assert found["scrapy"] == found["without"]
    assert "/robots.txt" not in found["scrapy"][0]
    assert {*found["without"][1]} - {*found["sites"][1]} == {f"{listing.root}/p7"}


MAY_DIFFER = {"SCHEDULER", "DOWNLOADER", "DOWNLOAD_DELAY_JITTER", "LOG_FORMATTER", "STATS_CLASS", "ROBOTSTXT_PARSER"}


def test_the_preset_scrapy_leaves_scrapys_settings_alone() -> None:
    """But for the parts that the add-on consists of, each has the value that Scrapy gives it; so has the pause."""
    settings = settings_with(SITECRAWL_PRESET=("scrapy", "project"))
    plain = Settings()
    assert {name for name in (*SCRAPY_DEFAULTS, "USER_AGENT") if settings[name] != plain[name]} == MAY_DIFFER
    assert settings.getfloat("SITECRAWL_DELAY_FACTOR") == 0


def test_a_project_wins_over_its_preset() -> None:
    """The preset is one more set of defaults: what a project has set beside it holds."""
    settings = settings_with(SITECRAWL_PRESET=("scrapy", "project"), SITECRAWL_DELAY_FACTOR=(3, "project"))
    assert settings.getfloat("SITECRAWL_DELAY_FACTOR") == 3


def test_the_addon_says_once_what_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    """With Scrapy's value beside its own, and how to keep Scrapy's pace; not what the project has set itself."""
    caplog.set_level("INFO", "sitecrawl.addon")
    settings_with(CONCURRENT_REQUESTS=(5, "project"), SCHEDULER_DEBUG=(True, "project"))
    (told,) = [line for line in caplog.messages if line.startswith(CHANGED)]
    assert "CONCURRENT_REQUESTS_PER_DOMAIN=1 (Scrapy: 8), CONCURRENT_ITEMS" in told
    assert "CONCURRENT_REQUESTS=" not in told
    assert "ROBOTSTXT_OBEY=True (Scrapy: False)" in told
    assert 'SITECRAWL_PRESET = "scrapy"' in told
    assert "without effect, because the frontier keeps the requests: SCHEDULER_DEBUG" in told


def test_the_preset_scrapy_says_no_word_of_a_pace(caplog: pytest.LogCaptureFixture) -> None:
    """What it says is what is otherwise, and that is no pace, no limit and nothing about robots.txt."""
    caplog.set_level("INFO", "sitecrawl.addon")
    settings_with(SITECRAWL_PRESET=("scrapy", "project"))
    (told,) = [line for line in caplog.messages if line.startswith(CHANGED)]
    assert [line.strip().partition(":")[0] for line in told.splitlines()[1:]] == [
        "parts that crawl whole sites", "off, because these parts do it",
    ]  # fmt: skip


def test_choices_are_what_there_is() -> None:
    """What a setting that is a name may be, is declared below the rooms that know what the names stand for."""
    known: dict[Setting[str], Iterable[str]] = {
        declared.ORDER: ORDERS,
        declared.PRESET: PRESETS,
        RENDER: RENDER_MODES,
        declared.VERIFY_TLS: Verify,
    }
    for setting, names in known.items():
        assert setting.choices == tuple(map(str, names)), setting.name
