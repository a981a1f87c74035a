"""Whoever takes part in checkpoints: in which order they are asked, and what an error of one means to the others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl import checkpoints as module
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawldir.database import Batch
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.scope import Scope
from sitecrawl.page.items import Link
from sitecrawl.urls.url import parse


class Any(Spider):
    name = "any"


class Noting(Participant):
    """Notes what it is asked; fails if it is told to."""

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl
        self.events: list[str] = []
        self.fails = False

    def prepare(self, batch: Batch) -> None:
        self.events.append("prepare")
        if self.fails:
            raise StorageError("The disk is full")
        batch.put("meta", b"noted", b"1")

    def committed(self) -> None:
        stored = self.crawl.database.get("meta", b"noted")
        self.events.append("committed" if stored else "too early")


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    crawler = get_crawler(Any, {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path)})
    crawler.spider = crawler._create_spider()
    crawler.spider.arguments = SimpleNamespace(scope=Scope())  # type: ignore[attr-defined]
    crawler.engine = SimpleNamespace(_slot=None)  # type: ignore[assignment]
    made = Crawl.of(crawler)
    yield made
    with suppress(StorageError):  # closed already
        made.checkpoints.close_files()


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reasons for which the crawl was told to end."""
    reasons: list[str] = []
    monkeypatch.setattr(module, "stop", lambda crawler, reason: reasons.append(reason))
    return reasons


def test_all_prepare_before_the_batch_is_written(crawl: Crawl) -> None:
    """And hear of it when it is on disk."""
    one, other = Noting(crawl), Noting(crawl)
    crawl.checkpoints.add(one)
    crawl.checkpoints.add(other)
    crawl.checkpoints.run()
    assert one.events == other.events == ["prepare", "committed"]


def test_after_an_error_there_is_no_other_checkpoint(
    crawl: Crawl, stops: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody is told that it was written, it is said once, and the crawl ends; also closing tries no other."""
    one, other = Noting(crawl), Noting(crawl)
    crawl.checkpoints.add(one)
    crawl.checkpoints.add(other)
    other.fails = True
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            crawl.checkpoints.run()
        crawl.checkpoints.fail(StorageError("another"))
        crawl.checkpoints.close()
    assert one.events == other.events == ["prepare"]
    assert [record.message for record in caplog.records] == ["The disk is full"]
    assert stops == ["storage_error"]
    assert crawl.stats.get_value("scheduler/storage_errors") == 1


def test_many_pages_make_one_due(crawl: Crawl) -> None:
    """Once, until as many have been finished again."""
    crawl.fetches.finished = module.PAGES_PER_CHECKPOINT - 1
    due = [crawl.checkpoints.is_due]
    crawl.fetches.finished += 1
    due.append(crawl.checkpoints.is_due)
    crawl.checkpoints.run()
    due.append(crawl.checkpoints.is_due)
    assert due == [False, True, False]


@pytest.mark.parametrize("named", [True, False])
def test_a_seed_on_the_way(crawl: Crawl, *, named: bool) -> None:
    """It widens the scope, whoever names it; only a person's may be on a private network."""
    crawl.seeding.widen(parse("http://new.example/"), named=named)
    assert crawl.scope is not None
    assert crawl.scope.admits(Link("http://new.example/page", "new.example"))
    assert ("new.example" in crawl.seed_hosts) is named


@pytest.mark.parametrize("named", [True, False])
def test_a_seed_that_another_worker_tells_of(crawl: Crawl, monkeypatch: pytest.MonkeyPatch, *, named: bool) -> None:
    """Is to this one what it is to the other."""
    told: list[str] = []
    monkeypatch.setattr(crawl.peers, "tell", told.append)
    crawl.seeding.widen(parse("http://10.0.0.1/x"), named=named)
    crawl.seed_hosts._new.clear()
    crawl.news.widened(*told)
    assert ("10.0.0.1" in crawl.seed_hosts) is named
    assert told[1:] == told[:1]  # `SharedScope` tells nothing twice
