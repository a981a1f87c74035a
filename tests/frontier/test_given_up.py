"""What was given up for a host that never answered is tried again, as it was, until the host has answered."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from frontiers import PATIENT, Crawl, Setting, crawling, found

from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.urls.record import UrlState


def disk_of(crawl: Crawl) -> DiskFrontier:
    assert isinstance(crawl.frontier, DiskFrontier)
    return crawl.frontier


async def failing(crawl: Crawl) -> list[str]:
    """Let all that comes fail; the names of what was asked for."""
    names = []
    while (visit := await crawl.next()) is not None:
        names.append(visit.url.rpartition("/")[2])
        crawl.frontier.downloaded(visit, 0.0, failed=True)
        crawl.frontier.done(visit, UrlState.FAILED)
    crawl.checkpoint()
    return names


@pytest.mark.parametrize("crashes", [False, True])
def test_it_is_tried_again_as_it_was(tmp_path: Path, crashes: bool) -> None:
    """All of it, asked for or not; with what it asks for beside its URL; once for each time that it is wished for."""

    async def story() -> None:
        setting = Setting(tmp_path, politeness=replace(PATIENT, max_failures=2))
        async with crawling("disk", setting) as crawl:
            crawl.ask("form", request=b"POST")
            crawl.frontier.add([found(f"p{n}") for n in range(4)], depth=1)
            assert len(await failing(crawl)) == 2
            await crawl.settled(failed=5, queued=0, known=5)
            if crashes:
                await crawl.crash()
            assert disk_of(crawl).by_hand.retry_given_up() == 5
            assert disk_of(crawl).by_hand.retry_given_up() == 0
            await crawl.settled(failed=0, queued=5, known=5)
            asked = {}
            while (visit := await crawl.next()) is not None:
                asked[visit.url.rpartition("/")[2]] = (visit.request, visit.attempts, visit.again)
                crawl.finish(visit)
            plain = (None, 0, False)
            assert asked == {"form": (b"POST", 0, False), **{f"p{n}": plain for n in range(4)}}
            await crawl.settled(fetched=5, failed=0, queued=0)
            assert disk_of(crawl).by_hand.retry_given_up() == 0

    asyncio.run(story())


def test_a_page_that_failed_while_its_host_answered(tmp_path: Path) -> None:
    """It has had its chances, whether the host answered before or after it."""

    async def story() -> None:
        async with crawling("disk", Setting(tmp_path)) as crawl:
            crawl.frontier.add([found("bad"), found("good"), found("worse")], depth=0)
            for _ in range(3):
                visit = await crawl.next()
                assert visit is not None
                name = visit.url.rpartition("/")[2]
                crawl.finish(visit, state=UrlState.FETCHED if name == "good" else UrlState.FAILED)
            await crawl.settled(fetched=1, failed=2, queued=0)
            assert disk_of(crawl).by_hand.retry_given_up() == 0
            await crawl.settled(fetched=1, failed=2, queued=0)

    asyncio.run(story())
