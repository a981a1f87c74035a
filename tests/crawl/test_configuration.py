"""Settings as the engine's options; those that are secrets: where they may stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from sitecrawl.addon import Addon
from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.configuration import secret
from sitecrawl.crawl.sharing import redis_of
from sitecrawl.frontier.seen.store import SeenOptions
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.page.budget import Budget


def test_a_secret_stands_in_a_file(tmp_path: Path) -> None:
    """White space around it is none of it: an editor ends a file with a line feed."""
    (tmp_path / "url").write_text("redis://:password@redis:6379/0\n")
    named = Settings({"SITECRAWL_CLUSTER": f"@{tmp_path / 'url'}"})
    assert secret(named, "SITECRAWL_CLUSTER") == "redis://:password@redis:6379/0"
    assert redis_of(named) == {"url": "redis://:password@redis:6379/0"}
    assert redis_of(Settings({"SITECRAWL_CLUSTER": True, "REDIS_URL": f"@{tmp_path / 'url'}"})) == redis_of(named)


@pytest.mark.parametrize(("setting", "text"), [(None, ""), ("", ""), ("plain", "plain"), (0, "")])
def test_a_secret_that_stands_there(setting: object, text: str) -> None:
    """Everything that does not begin with an @ is the value itself."""
    assert secret(Settings({"REDIS_URL": setting}), "REDIS_URL") == text


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """The setting and the file are named, and nothing of what stands in it."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe secret")
    for name, reason in (("none", "No such file"), ("bytes", "it is no text"), ("", "Is a directory")):
        with pytest.raises(OptionError, match=f"REDIS_URL is to be read from the file .*: {reason}") as raised:
            secret(Settings({"REDIS_URL": f"@{tmp_path / name}"}), "REDIS_URL")
        assert "secret" not in str(raised.value).replace(str(tmp_path), "")


def test_the_engine_has_the_same_defaults() -> None:
    """Whoever uses a part without Scrapy has what the add-on gives a crawl."""
    settings = Settings()
    Addon().update_settings(settings)
    in_all = settings.getint("CONCURRENT_REQUESTS")  # the engine has no limit of its own
    assert configuration.politeness(settings) == PolitenessOptions(in_all=in_all)
    assert configuration.frontier(settings) == FrontierOptions()
    assert configuration.seen(settings) == SeenOptions()
    assert configuration.page(settings).budget == Budget()
