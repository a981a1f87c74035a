"""What many workers tell of the web is what one process tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from crawling import scrapy
from fleet import fleet, urls_of, web_of
from redis_servers import Server

from sitecrawl.cluster.copy import copied
from sitecrawl.cluster.outside import opened
from sitecrawl.plugins.report.gather import gather_web

PAGES = 80
KEPT = ("responses", "pages", "html_pages", "quantiles", "statuses", "types", "languages")


@pytest.mark.deep
def test_two_workers_tell_what_one_process_does(redis: Server, tmp_path: Path) -> None:
    """All figures but two: the depth of a page is that of the way by which it came, and only workers can say what
    stays with one.
    """
    with web_of(PAGES, hosts=6) as web:
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True, "JOBDIR": tmp_path / "alone"}
        words = ("crawl", "generic", "-a", f"seeds={web.seeds[0]}", "-a", "scope=any")
        done = scrapy(*words, settings=settings)
        assert done.returncode == 0, done.stderr
        crawl = {"SITECRAWL_CLUSTER_CRAWL": "web"}
        with fleet(tmp_path, 2, web.seeds[0], redis.url, **crawl) as workers:
            assert [worker.wait() for worker in workers] == [0, 0], [worker.log[-2000:] for worker in workers]
        assert {url for worker in workers for url in worker.pages()} == urls_of(web)
    alone = gather_web(tmp_path / "alone")
    stores = [worker.folder / "job" for worker in workers]
    with opened({"url": redis.url}, "web") as shared, copied(shared, stores) as directory:
        together = gather_web(directory)
    assert {name: together[name] for name in KEPT} == {name: alone[name] for name in KEPT}
    figures, single = values(together), values(alone)
    assert single.pop("same_worker") is None
    assert figures["same_site"] <= figures.pop("same_worker") <= 1
    assert figures == single


def values(web: dict[str, Any]) -> dict[str, Any]:
    return {name: figure["value"] for name, figure in web["figures"].items()}
