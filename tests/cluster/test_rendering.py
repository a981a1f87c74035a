"""Browsers where many workers share a crawl: each worker has its own, and what one had begun another one ends."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest
from browsers import below, processes
from chromium import executable
from crawling import scrapy
from fleet import Worker, fleet
from localweb import LocalWeb, Page
from prometheus_client.parser import text_string_to_metric_families
from redis_servers import Server
from scripted_web import scripted
from waiting import PATIENCE, until

from sitecrawl.pagestore import PageReader

pytestmark = pytest.mark.deep

PATHS = ("/", "/1")


class Sites:
    """Two hosts, all pages of which a script builds, with links to all others: none before `go_on` is set."""

    def __init__(self, stack: ExitStack) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        webs = [stack.enter_context(LocalWeb(self, address=f"127.0.0.{n}")) for n in (1, 2)]
        self.urls = tuple(f"{web.root}{path}" for web in webs for path in PATHS)
        self._pages = scripted(dict.fromkeys(PATHS, self.urls))

    def __call__(self, path: str, host: str) -> Page | None:
        if path.startswith("/api/"):
            self.reached.set()
            self.go_on.wait(PATIENCE)
        return self._pages.get(path)


@pytest.fixture
def sites() -> Iterator[Sites]:
    with ExitStack() as stack:
        found = Sites(stack)
        yield found
        found.go_on.set()


def browser_of(worker: Worker) -> dict[str, float]:
    """What the worker's dashboard says of its browser: pages by state, and bytes."""
    (address,) = re.findall(r"^Dashboard: (http://\S+)$", worker.log, re.MULTILINE)
    with build_opener(ProxyHandler({})).open(f"{address}metrics", timeout=PATIENCE) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    found = {family.name: family.samples for family in families}
    pages = {one.labels["state"]: one.value for one in found["sitecrawl_browser_pages"]}
    return {**pages, "memory": found["sitecrawl_browser_memory_bytes"][0].value}


def has_a_page(browser: dict[str, float]) -> bool:
    return (browser["shown"], browser["waiting"]) == (1, 0) and browser["memory"] > 10 << 20


def test_a_worker_that_is_killed_with_its_browser(sites: Sites, redis: Server, tmp_path: Path) -> None:
    """Nothing is left of its browser. The other worker, and the one that starts again, show what it had: together
    they have each page, DOM and picture once.
    """
    executable()
    given: dict[str, Any] = {
        "arguments": ("scope=any", "render=auto", "screenshots=1"),
        "SITECRAWL_CLUSTER_SHARDS": 2,
        "SITECRAWL_RENDER_WAIT": 50,
    }
    with fleet(tmp_path, 1, sites.urls[0], redis.url, **given) as (first,):
        until(sites.reached.is_set, "a page is being shown")
        until(lambda: has_a_page(browser_of(first)), "the dashboard knows of it")
        started = below(first.process.pid)
        assert any("--type=renderer" in words for words in started.values()), started
        with fleet(tmp_path / "other", 1, sites.urls[0], redis.url, **given) as (second,):
            first.kill()
            until(lambda: not started.keys() & processes().keys(), "no process of the browser")
            sites.go_on.set()
            first.start()
            assert [first.wait(PATIENCE), second.wait(PATIENCE)] == [0, 0], first.log + second.log
    jobs = [str(worker.folder / "job") for worker in (first, second)]
    checked = scrapy("check-crawl", redis.url, *jobs)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert scrapy("collect", *jobs, "-o", str(tmp_path / "all")).returncode == 0
    with PageReader(tmp_path / "all") as reader:
        found = Counter((one.kind, one.url.partition("http://")[2]) for one in reader.captures())
    for url in sites.urls:
        for kind in ("page", "rendered", "view"):
            assert found[kind, url.removeprefix("http://")] == 1, (kind, url)
    packed = scrapy("export", "wacz", "-d", str(tmp_path / "all"), "-o", str(tmp_path / "all.wacz"))
    assert f"a list of {len(sites.urls)} successful pages" in packed.stdout + packed.stderr
