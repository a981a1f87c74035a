"""What needs a plug-in that is off is refused with a line that says so, and not done in some other way."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import BaseSettings, Settings
from scrapy.utils.test import get_crawler

from sitecrawl.addon import Addon
from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.base.plugins import Plugin, of_folder
from sitecrawl.console.commands.crawl import _arguments_of
from sitecrawl.crawl.outputs import check_target, output
from sitecrawl.crawl.page_reading import PageReading, page_reading
from sitecrawl.spiders.generic import GenericSpider
from sitecrawl.spiders.job_file import job_in


def without(*names: str, **more: object) -> Settings:
    return Settings({"SITECRAWL_PLUGINS_OFF": [*names], **more})


def test_a_login() -> None:
    """Nothing but the pages of those who have not logged in would come."""
    sheet = {"hosts": ["a.example"], "login": {"kind": "bearer", "token": "env:T"}}
    with pytest.raises(OptionError, match="the plug-in `logins` is not here"):
        Addon().update_settings(without("logins", SITECRAWL_SHEETS=[sheet]))


def test_a_job_file(tmp_path: Path) -> None:
    """It is named; the help has the arguments without what they mean."""
    with pytest.raises(OptionError, match=r"site\.toml is a job file, which is of a plug-in that is not here"):
        job_in(str(tmp_path / "site.toml"), without("jobs"))
    assert "docs/spiders.md" in [*_arguments_of("generic", ["order"], without("jobs"))][-1]


OF_PLUGINS = {
    "again": "recrawl",
    "recrawl": "recrawl",
    "dry": "dry_run",
    "render": "rendering",
    "screenshots": "rendering",
    "ftp": "ftp",
}


@pytest.mark.parametrize(("argument", "name"), OF_PLUGINS.items())
def test_an_argument_of_a_spider(argument: str, name: str) -> None:
    """The crawl that comes without it is another one than was asked for."""
    crawler = get_crawler(GenericSpider, {"SITECRAWL_PLUGINS_OFF": [name]})
    with pytest.raises(OptionError, match=f"{argument} is an argument of a plug-in that is not here"):
        GenericSpider.from_crawler(crawler, seeds="http://127.0.0.1/", **{argument: "1"})


def test_a_url_for_a_result(tmp_path: Path) -> None:
    """Names of files are as ever."""
    settings: BaseSettings = without("remote")
    with pytest.raises(OptionError, match="a store elsewhere, which is of a plug-in that is not here"):
        check_target("s3://bucket/a.csv", settings)
    with output(str(tmp_path / "a.csv"), settings) as file:
        assert file == str(tmp_path / "a.csv")


def test_pages_in_processes_of_their_own() -> None:
    """Who wants them has a reason to have pages read nowhere else."""
    stats = get_crawler().stats
    assert stats is not None
    with pytest.raises(OptionError, match="SITECRAWL_PARSE_PROCESSES is of the plug-in isolation"):
        page_reading(without("isolation", SITECRAWL_PARSE_PROCESSES=2), stats)
    assert type(page_reading(without("isolation"), stats)) is PageReading


class CountedReading(PageReading):
    """Made as its base is."""


def test_pages_read_by_a_plug_in_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subclass needs no more than the methods that it changes; of two that are wanted, none is passed over."""
    stats = get_crawler().stats
    assert stats is not None
    counted = Plugin(reading=f"{__name__}.CountedReading")
    both = {**of_folder(), "counted": counted}
    monkeypatch.setattr(plugins, "found", lambda: both)
    reading = page_reading(without("isolation"), stats)
    assert type(reading) is CountedReading
    assert reading.max_links > 0
    with pytest.raises(OptionError, match="plug-ins isolation and counted would both read the pages"):
        page_reading(without("remote", SITECRAWL_PARSE_PROCESSES=2), stats)
    assert type(page_reading(without("counted"), stats)) is PageReading


def test_all_that_is_moved_can_be_off() -> None:
    """The add-on comes up without any plug-in."""
    settings = without(*of_folder())
    Addon().update_settings(settings)
    assert not any("plugins" in str(path) for path in settings.getdict("DOWNLOAD_HANDLERS").values())
