"""What we say of a request in its `meta` stays with that request, whatever a spider hands on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.requests import GUESS, SITEMAP, pack
from sitecrawl.frontier.contract import Asked
from sitecrawl.page.items import Link
from sitecrawl.scheduler import Scheduler

SAID = {GUESS: True, SITEMAP: [0, "usual", "", []]}


class Any(Spider):
    name = "any"


def handed_out(scheduler: Scheduler) -> Request:
    request = scheduler.next_request()
    assert request is not None
    return request


@pytest.mark.parametrize("before", [None, ["http://before.example/"]], ids=repr)
def test_what_we_say_of_a_page_is_not_handed_on(tmp_path: Path, before: list[str] | None) -> None:
    """It goes along with a redirect and a retry, and with no other request that has the page's `meta`."""
    addon = {"ADDONS": {"sitecrawl.addon.Addon": 500}, "JOBDIR": str(tmp_path), "SITECRAWL_DELAY_FACTOR": 0}

    async def found() -> dict[str, set[str]]:
        crawler = get_crawler(Any, addon)
        crawler.spider = crawler._create_spider()
        scheduler, crawl = Scheduler.from_crawler(crawler), Crawl.of(crawler)
        scheduler._spider = crawler.spider
        meta = {**SAID, "mine": 1} | ({"redirect_urls": before} if before else {})
        page = Link("http://a.example/", "a.example", key=bytes(16))
        crawl.frontier.add([page], depth=1, asked=Asked(request=pack({"meta": meta})))
        request = handed_out(scheduler)
        led = {**request.meta, "redirect_urls": [*(before or ()), request.url]}
        scheduler.enqueue_request(Request("http://copied.example/", meta=request.meta))
        scheduler.enqueue_request(Request("http://from-nowhere.example/", meta={**SAID, "mine": 1}))
        scheduler.enqueue_request(request.replace(url="http://led.example/", meta=led))
        handed = [handed_out(scheduler) for _ in range(3)]
        crawl.frontier.downloaded(crawl.fetches[page.key].visit, 0.0)
        scheduler.enqueue_request(request.replace(dont_filter=True))
        handed.append(handed_out(scheduler))
        crawl.checkpoints.close_files()
        return {one.url: {"mine", GUESS, SITEMAP} & one.meta.keys() for one in handed}

    every = {"mine", *SAID}
    assert asyncio.run(found()) == {
        "http://copied.example/": {"mine"},
        "http://from-nowhere.example/": {"mine"},
        "http://led.example/": every,
        "http://a.example/": every,
    }
