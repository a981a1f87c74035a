"""A value of no use is named before anything is made of it, and so is a name that is nearly one of a setting."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import scrapy
from scrapy.settings import Settings, default_settings

from sitecrawl import settings as ours
from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.checked_settings import check_scrapys, near_misses, not_loaded


def given(name: str, value: object, priority: str = "project") -> Settings:
    made = Settings()
    made.set(name, value, priority)
    return made


WRONG = [
    ("DOWNLOAD_DELAY", "x", "a number from 0 on"),
    ("DOWNLOAD_DELAY", "-1", "a number from 0 on"),
    ("DOWNLOAD_TIMEOUT", "nan", "a number from 0 on"),
    ("CLOSESPIDER_TIMEOUT", "inf", "a number from 0 on"),
    ("CONCURRENT_REQUESTS", "many", "a whole number from 0 on"),
    ("CLOSESPIDER_ITEMCOUNT", "1.5", "a whole number from 0 on"),
    ("DOWNLOAD_MAXSIZE", "1MB", "a whole number from 0 on"),
    ("LOG_LEVEL", None, "one of DEBUG"),
    ("ROBOTSTXT_OBEY", "maybe", "True or False"),
    ("TELNETCONSOLE_ENABLED", "maybe", "True or False"),
    ("RETRY_PRIORITY_ADJUST", "x", "a whole number"),
    ("RETRY_HTTP_CODES", "500,x", "whole numbers"),
    ("LOG_LEVEL", "info", "one of DEBUG"),
    ("DOWNLOAD_TLS_MIN_VERSION", "1.2", "one of TLSv1.0"),
    ("DOWNLOAD_BIND_ADDRESS", "localhost", "an IP address"),
    ("LOG_FILE", "/no/such/folder/log", "a file that can be written"),
    ("LOG_FILE", "/tmp", "a file that can be written"),
]


@pytest.mark.parametrize(("name", "value", "wanted"), WRONG)
@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_of_no_use(name: str, value: object, wanted: str, priority: str) -> None:
    """The line names the setting, its value, and what it has to be."""
    with pytest.raises(OptionError) as caught:
        check_scrapys(given(name, value, priority))
    assert str(caught.value).startswith(f"{name} is {value!r}, and has to be {wanted}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DOWNLOAD_DELAY", "0.25"),
        ("ROBOTSTXT_OBEY", "0"),
        ("RETRY_PRIORITY_ADJUST", "-1"),
        ("RETRY_HTTP_CODES", "500,503"),
        ("RETRY_HTTP_CODES", []),
        ("LOG_LEVEL", 10),
        ("LOG_FILE", "/dev/null"),
        ("LOG_FILE", ""),
        ("TWISTED_REACTOR", None),
        ("DOWNLOAD_BIND_ADDRESS", "127.0.0.2"),
        ("DOWNLOAD_BIND_ADDRESS", ("::1", 0)),
        ("FEED_EXPORT_INDENT", None),
        ("DOWNLOAD_TLS_MIN_VERSION", None),
        ("USER_AGENT", "anything"),
    ],
)
def test_of_use(name: str, value: object) -> None:
    """What Scrapy takes is taken."""
    check_scrapys(given(name, value))


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_defaults_are_of_use() -> None:
    """Scrapy's own, given by hand, and this project's."""
    for name in vars(default_settings):
        if name.isupper():
            check_scrapys(given(name, getattr(default_settings, name)))
    project = Settings()
    project.setmodule(ours, "project")
    check_scrapys(project)
    assert not list(near_misses(project, SETTINGS))


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("DOWNLOAD_DELEY", "DOWNLOAD_DELAY"),
        ("CONCURENT_REQUESTS", "CONCURRENT_REQUESTS"),
        ("USERAGENT", "USER_AGENT"),
        ("CLOSE_SPIDER_TIMEOUT", "CLOSESPIDER_TIMEOUT"),
        ("SITE_CRAWL_MAX_PAGES", "SITECRAWL_MAX_PAGES"),
    ],
)
@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_near_misses(name: str, near: str, priority: str) -> None:
    """The one that is likely to be meant is named."""
    assert list(near_misses(given(name, 3, priority), SETTINGS)) == [
        f"There is no setting {name}: did you mean {near}?"
    ]


@pytest.mark.parametrize(
    "name",
    ["CONCURRENT_REQUESTS_PER_IP", "USER_AGENTS", "USER_AGENT_LIST", "MONGO_URI", "REDIS_URL", "SCHEDULER_PERSIST",
     "ZYTE_API_ENABLED", "MY_DELAY", "DOWNLOAD_DIR", "IMAGES_THUMBS", "SPLASH_URL"],
)  # fmt: skip
def test_what_is_not_near(name: str) -> None:
    """What Scrapy knows without a default, what others have, and what a project calls its own."""
    assert not list(near_misses(given(name, 3), SETTINGS))


@pytest.mark.parametrize(
    "setting", [pytest.param("LOG_LEVEL=LOUD", marks=pytest.mark.deep), "CLOSESPIDER_TIMEOUT=soon"]
)
def test_a_crawl(setting: str, tmp_path: Path) -> None:
    """One line, also of what is read before any crawl begins, and no directory."""
    done = scrapy(
        "crawl", "generic", "-a", "seeds=http://127.0.0.1:9/", "-s", setting, "-s", f"JOBDIR={tmp_path}/job"
    )
    assert done.returncode == 1
    name, _, value = setting.partition("=")
    assert done.stderr.startswith(f"sitecrawl: {name} is {value!r}, and has to be ")
    assert done.stderr.count("\n") == 1
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("ADDONS", '{"no.such.AddOn": 1}', "no.such.AddOn"),
        ("SPIDER_LOADER_CLASS", "no.such.Loader", "no.such.Loader"),
        ("TWISTED_REACTOR", "Reactor", "Reactor"),
        ("SCHEDULER", "no.such.Scheduler", "no.such.Scheduler"),
        ("STATS_CLASS", "sitecrawl.nothing", "sitecrawl.nothing"),
        ("ITEM_PIPELINES", '{"pipelines.Own": 1}', "pipelines.Own"),
    ],
)
def test_classes_that_cannot_be_loaded(name: str, value: str, path: str, tmp_path: Path) -> None:
    """A crawl ends with one line that names setting, path and reason, whenever the class would be loaded."""
    done = scrapy(
        "crawl", "generic", "-a", "seeds=http://127.0.0.1:9/", settings={name: value, "JOBDIR": f"{tmp_path}/job"}
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"sitecrawl: {name} names {path!r}, which cannot be loaded: ")
    assert done.stderr.count("\n") == 1


def test_classes_that_can_be_loaded() -> None:
    """A class, its path, and one that is switched off are no fault."""
    made = given("EXTENSIONS", {Settings: 1, "scrapy.extensions.telnet.TelnetConsole": 2, "no.such.Extension": None})
    assert not not_loaded(made)
