"""What a crawl does that finds no more memory."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from crawling import scrapy, states_of
from localweb import LocalWeb, linked

from sitecrawl.crawl.checkpoints import _MemoryWatch
from sitecrawl.frontier.urls.record import UrlState

logger = logging.getLogger(__name__)

SPIDER = """
from pathlib import Path
from sitecrawl.spiders.site import SiteSpider

class Short(SiteSpider):
    name = "short"

    def parse(self, response, **kwargs):
        once = Path(__file__).with_name("once")
        if response.url.endswith("/large") and not once.exists():
            once.touch()
            raise MemoryError
        return super().parse(response, **kwargs)
"""


def fail(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logger.exception("It failed")


@pytest.mark.parametrize(("error", "times"), [(MemoryError(), 1), (ValueError(), 0)])
def test_a_memory_error_is_found_once(error: Exception, times: int) -> None:
    """However many are logged; and other errors are not."""
    found: list[int] = []
    watch = _MemoryWatch(lambda: found.append(1))
    logging.getLogger().addHandler(watch)
    fail(error)
    fail(error)
    logging.getLogger().removeHandler(watch)
    assert len(found) == times


def test_a_crawl_without_memory_ends_and_loses_nothing(tmp_path: Path) -> None:
    """It ends with exit code 3 and a finish reason of its own; what it could not read is fetched by the next run."""
    (tmp_path / "spiders_of_test.py").write_text(SPIDER)
    settings = {
        "SPIDER_MODULES": "spiders_of_test",
        "SITECRAWL_DELAY_FACTOR": 0,
        "SITECRAWL_DASHBOARD": False,
        "JOBDIR": tmp_path / "job",
    }
    with LocalWeb({"/": linked("/large"), "/large": linked("/last"), "/last": "the last"}) as web:
        words, env = ("crawl", "short", "-a", f"seeds={web.root}/"), {"PYTHONPATH": str(tmp_path)}
        ended = scrapy(*words, settings=settings, env=env)
        assert ended.returncode == 3, ended.stderr
        assert "stopped for want of something: this process can have no more memory" in ended.stderr
        assert states_of(tmp_path / "job").get(f"{web.root}/large") is not UrlState.FETCHED
        resumed = scrapy(*words, settings=settings, env=env)
        assert resumed.returncode == 0, resumed.stderr
        urls = [f"{web.root}{path}" for path in ("/", "/large", "/last")]
    assert states_of(tmp_path / "job") == dict.fromkeys(urls, UrlState.FETCHED)
