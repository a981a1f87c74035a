"""What many workers tell of the web is what one process tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from crawling import scrapy
from fleet import fleet, urls_of, web_of
from redis_servers import Server

from sitecrawl.cluster.copy import copied
from sitecrawl.cluster.outside import opened
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.report.web import Web

PAGES = 80


@pytest.mark.deep
def test_two_workers_tell_what_one_process_does(redis: Server, tmp_path: Path) -> None:
    """All figures but one: only workers can say what stays with one."""
    with web_of(PAGES, hosts=6) as web:
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True, "JOBDIR": tmp_path / "alone"}
        words = ("crawl", "generic", "-a", f"seeds={web.seeds[0]}", "-a", "scope=any")
        done = scrapy(*words, settings=settings)
        assert done.returncode == 0, done.stderr
        crawl = {"SITECRAWL_CLUSTER_CRAWL": "web"}
        with fleet(tmp_path, 2, web.seeds[0], redis.url, **crawl) as workers:
            assert [worker.wait() for worker in workers] == [0, 0], [worker.complaints for worker in workers]
        assert {url for worker in workers for url in worker.pages()} == urls_of(web)
    alone = told_of(tmp_path / "alone")
    stores = [worker.folder / "job" for worker in workers]
    with opened({"url": redis.url}, "web") as shared, copied(shared, stores) as directory:
        together = told_of(directory)
    near, single = dict(together.near), dict(alone.near)
    assert single.pop("same_worker") is None
    assert (near["same_site"] or 0) <= (near.pop("same_worker") or 2) <= 1
    assert near == single
    assert replace(together, near={}) == replace(alone, near={})


def told_of(job: Path) -> Web:
    with PageReader(job) as reader:
        return Web.read(reader)
