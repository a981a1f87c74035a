"""A crawl whose database takes nothing more ends with one error, whoever keeps its checkpoints."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant
from sitecrawl.scheduler import Scheduler


class Any(Spider):
    name = "any"


class Large(Participant):
    """A part of every checkpoint that is larger than files may become."""

    def prepare(self, batch: Batch) -> None:
        batch.put("meta", b"large", bytes(200_000))


def close_scheduler(crawler: Crawler) -> Callable[[], object]:
    scheduler = Scheduler.from_crawler(crawler)
    return lambda: scheduler.close("finished")


def close_alone(crawler: Crawler) -> Callable[[], object]:
    Crawl.of(crawler)
    return lambda: crawler.signals.send_catch_log(signals.spider_closed)


@pytest.mark.parametrize(
    ("keeper", "name"),
    [(close_scheduler, "sitecrawl.scheduler.Scheduler"), (close_alone, "scrapy.core.scheduler.Scheduler")],
)
def test_one_error(
    tmp_path: Path,
    keeper: Callable[[Crawler], Callable[[], object]],
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The last checkpoint fails, and closing says so again; without a checkpoint, closing alone would say it."""

    async def end() -> Crawler:
        crawler = get_crawler(
            Any, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path), "SCHEDULER": name}
        )
        crawler.spider = crawler._create_spider()
        crawler.engine = SimpleNamespace(_slot=None)  # type: ignore[assignment]
        close = keeper(crawler)
        Crawl.of(crawler).checkpoints.add(Large())
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            close()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return crawler

    crawler = asyncio.run(end())
    assert [record.levelname for record in caplog.records if "File too large" in record.message] == ["ERROR"]
    assert crawler.stats is not None
    assert crawler.stats.get_value("scheduler/storage_errors") == 1
