"""A browser that is missing, or does not start."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import crawl, states_of
from localweb import LocalWeb, linked
from scrapy.settings import Settings

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.plugins.rendering import options


def test_a_browser_that_is_missing(tmp_path: Path) -> None:
    """The crawl does not begin, and one line says what to do."""
    with LocalWeb({}) as web:
        missing = '{"executable_path": "/nowhere/chromium"}'
        done = crawl(web.root, tmp_path / "job", render=1, PLAYWRIGHT_LAUNCH_OPTIONS=missing)
        assert done.returncode != 0
        assert "/nowhere/chromium cannot be run (Debian: apt-get install chromium)" in done.stderr
        assert "Traceback" not in done.stderr
        assert web.hits == []


def test_a_browser_that_does_not_start(tmp_path: Path) -> None:
    """The crawl ends, says why, and its URL waits for the next run."""
    with LocalWeb({"/": linked(), "/robots.txt": ""}) as web:
        broken = '{"executable_path": "/bin/false"}'
        done = crawl(web.root, tmp_path / "job", render=1, PLAYWRIGHT_LAUNCH_OPTIONS=broken)
        assert done.returncode == 1
        assert "The browser cannot be started: " in done.stderr
        assert states_of(tmp_path / "job") == {f"{web.root}/": UrlState.QUEUED}


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says how to install it."""
    monkeypatch.setattr(options, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"scrapy-sitecrawl\[render\]"):
        options.launch_options(Settings())
