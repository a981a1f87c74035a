"""A crawl that is killed is, in the end, the crawl that was not."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from drawn import SEED
from killing import CONCURRENCY, Sitecrawl, kill, run, survive, web_of

from sitecrawl.crawl.checkpoints import PAGES_PER_CHECKPOINT
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.checking.crawl import check
from sitecrawl.plugins.report.web import Web

pytestmark = pytest.mark.deep

PAGES = 600
KILLS = 3


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Every page is stored exactly once, as in an undisturbed crawl, and tells the same of the web; a kill costs one
    checkpoint at the most.
    """
    with web_of(PAGES, latency=0.005) as web:
        for name in ("calm", "killed"):
            (tmp_path / name).mkdir()
        calm, killed = Sitecrawl(tmp_path / "calm"), Sitecrawl(tmp_path / "killed")
        assert run(calm, web)[0] == 0
        undisturbed = dict(calm.pages())
        assert undisturbed.keys() == web.urls()
    with web_of(PAGES, latency=0.005) as web:
        losses = survive(killed, web, KILLS, Random(SEED), longest=1.2)
        assert losses.kills >= KILLS - 2  # it may end before its time
        assert (losses.lost, losses.twice, losses.error) == (0, 0, "")
        assert max(losses.again) <= PAGES_PER_CHECKPOINT + CONCURRENCY
        bodies = {url.rpartition("/")[2]: body for url, body in undisturbed.items()}
        assert {url.rpartition("/")[2]: body for url, body in killed.pages()} == bodies
    assert told_of(killed.job) == told_of(calm.job)
    report = check(killed.job)
    assert [str(problem) for problem in report.problems] == []
    assert (report.urls, report.waiting) == (PAGES, 0)


def told_of(job: Path) -> Web:
    with PageReader(job) as reader:
        return Web.read(reader)


@pytest.mark.parametrize("seed", range(2))
def test_what_a_kill_leaves_is_sound(seed: int, tmp_path: Path) -> None:
    """Right after a kill all credit is there, and nothing is wrong that the next start would not cut off."""
    crawler = Sitecrawl(tmp_path)
    with web_of(3_000, latency=0.002) as web:
        assert kill(crawler, web, Random(SEED + seed).uniform(0.5, 3.0), starting=False)
    assert [str(problem) for problem in check(crawler.job).problems] == []
