"""What the URL-seen test did is in the stats of every crawl, over all runs in its database, and shown."""

from __future__ import annotations

from contextlib import closing
from copy import copy
from functools import partial
from pathlib import Path

from crawling import crawl, stats_of
from localweb import LocalWeb, linked
from scrapy import Spider
from scrapy.utils.test import get_crawler

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.kept import Totals
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import SEEN_TOTALS
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.frontier.seen.figures import SeenFigures

PAGES = 12
TELLING = {"LOG_LEVEL": "INFO", "STATS_DUMP": True}


def site() -> LocalWeb:
    """Pages of which each links to the next, and to the first three."""
    return LocalWeb({f"/{n or ''}": linked("/", "/1", "/2", f"/{(n + 1) % PAGES or ''}") for n in range(PAGES)})


def test_every_run_is_added(tmp_path: Path) -> None:
    """The stats are of this run; what is kept grows from run to run, and again from each checkpoint of a run."""
    stats = get_crawler(Spider).stats
    assert stats is not None
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        for run in (1, 2):
            now = SeenFigures(cache_hits=3, new=5)
            totals = Totals(SEEN_TOTALS, SeenFigures, partial(copy, now), database=database, stats=stats)
            for _ in range(2):
                batch = database.batch()
                totals.prepare(batch)
                database.write(batch)
            kept = SeenFigures.unpack(database.get("meta", SEEN_TOTALS))
            assert kept == SeenFigures(cache_hits=3 * run, new=5 * run)
    assert (stats.get_value("seen/asked"), stats.get_value("seen/cache_hits")) == (3, 3)


def test_a_crawl_shows_them(tmp_path: Path) -> None:
    """Each link of each page is a test: in the stats, over two runs."""
    job = tmp_path / "job"
    with site() as web:
        log = ""
        for pages in (5, 0):
            log = crawl(f"{web.root}/", job, max_pages=pages, **TELLING).stderr
    found = stats_of(log)
    with FrontierReader(job) as reader:
        figures = reader.seen()
    assert found["seen/asked"] < figures.asked
    assert figures.new == PAGES
    assert (
        figures.asked
        == figures.cache_hits
        + figures.bloom_negatives
        + figures.recent_hits
        + figures.buffer_hits
        + (figures.disk_lookups)
    )
    assert "URL-seen test: CLOCK cache of 65,536 URLs, Bloom filter pybloom-live at 0.01, exact set" in log
