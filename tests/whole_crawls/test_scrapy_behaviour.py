"""Scrapy's own behaviour is kept: ordinary spiders give the same items under our scheduler and add-on."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import small_limits
from crawling import HELPERS, environment
from localweb import Answer, LocalWeb, Page, linked
from ports import held_port
from waiting import PATIENCE

pytestmark = pytest.mark.deep

DRIVER = HELPERS / "spiders" / "driver.py"
SPIDERS = [
    "callbacks",
    "async-callbacks",
    "inline-downloads",
    "forms",
    "errbacks",
    "dead-links",
    "duplicates",
    "same-meta",
    "statuses",
    "redirects",
    "start-urls",
    "cookies",
    "cached",
    "downloader-middlewares",
    "spider-middlewares",
    "fingerprints",
    "offsite",
    "depth",
    "rules",
    "sitemap",
    "schemes",
    "state",
    "memory",
]
"""Those of tests/helpers/spiders/stock.py; what each does stands there."""

FORM = "<form action='/post' method='post'><input name='token' value='t'><input name='user'></form>"


def page(path: str, host: str) -> Page | None:
    """The server's pages: a tree, redirects of every kind, and what else the spiders ask for."""
    root = f"http://{host}"
    name, _, rest = path.partition("?")[0].strip("/").partition("/")
    if name == "tree" and (number := int(rest)) < 15:
        return linked(f"/tree/{2 * number + 1}", f"/tree/{2 * number + 2}#x", "/plain", "/tree/0")
    if name == "chain" and rest != "0":
        return Answer(status=302, headers={"Location": f"/chain/{int(rest) - 1}"})
    if name in {"301", "302", "303", "307", "308"}:
        return Answer(status=int(name), headers={"Location": f"/post?{path[1:]}"})
    if name in {"404", "410", "500"}:
        return Answer(b"error", int(name), {"Content-Type": "text/html"})
    locations = {
        "loop": "/loop2",
        "loop2": "/loop",
        "self": "/self",
        "to-other": root.replace(".1:", ".2:") + "/tree/3",
    }
    if name in locations:
        return Answer(status=302, headers={"Location": locations[name]})
    return OTHERS(root).get(name)


def OTHERS(root: str) -> dict[str, Page]:  # noqa: N802
    return {
        "plain": "plain", "post": "posted", "form": FORM, "after": "after", "again": "again", "chain": "end of chain",
        "once-more": "again", "elsewhere": "not this", "no-location": Answer(b"", 302),
        "refresh": "<meta http-equiv=refresh content='0; url=/plain?refreshed'>",
        "login": Answer(b"in", 200, {"Set-Cookie": "session=1; Path=/", "Content-Type": "text/html"}),
        "robots.txt": Answer(f"Sitemap: {root}/index.xml".encode(), 200, {"Content-Type": "text/plain"}),
        "index.xml": xml("sitemapindex", "sitemap", f"{root}/map.xml", f"{root}/map.xml.gz"),
        "map.xml": xml("urlset", "url", f"{root}/tree/1", f"{root}/tree/2", f"{root}/unwanted"),
        "map.xml.gz": Answer(gzip.compress(xml("urlset", "url", f"{root}/plain?packed").body), 200),
    }  # fmt: skip


def xml(outer: str, inner: str, *urls: str) -> Answer:
    entries = "".join(f"<{inner}><loc>{url}</loc></{inner}>" for url in urls)
    body = f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{outer}>'
    return Answer(body.encode(), 200, {"Content-Type": "text/xml"})


OURS = {
    "ADDONS": {"sitecrawl.addon.Addon": 500},
    "ROBOTSTXT_OBEY": False,
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_FAILURE_DELAY": 0.01,
    "SITECRAWL_MAX_HOST_FAILURES": 0,
    "SITECRAWL_ALLOW_PRIVATE": True,
    "SITECRAWL_PROGRESS": False,
    "SITECRAWL_SUMMARY": False,
}

RACING = {"start-urls", "spider-middlewares", "offsite", "memory"}
"""Spiders that begin in two places of one tree: from which of them a page is found first is the network's affair."""


Servers = tuple[LocalWeb, LocalWeb, int]
"""Two servers, and a port on which nobody answers."""


class Run:
    """All spiders in one process, with the same settings."""

    def __init__(
        self,
        folder: Path,
        servers: Servers,
        settings: dict[str, object],
        spiders: Sequence[str] = SPIDERS,
    ) -> None:
        common = {"HTTPCACHE_DIR": str(folder / "cache"), "RETRY_TIMES": 1, "TELNETCONSOLE_ENABLED": False}
        self.jobs = folder / "jobs"
        web, other, refused = servers
        web.hits.clear()
        job = {
            "settings": common | settings,
            "arguments": {"root": web.root, "other": other.root, "refused": f"http://127.0.0.1:{refused}"},
            "spiders": spiders,
            "jobs": str(folder / "jobs"),
        }
        file = folder / "job.json"
        file.write_text(json.dumps(job))
        command = [sys.executable, str(DRIVER), str(file)]
        env = environment(PYTHONPATH=str(HELPERS), **small_limits.as_variable(small_limits.PATIENT))
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        self.log = done.stderr
        self.results: dict[str, Any] = json.loads(file.with_suffix(".out").read_text())
        self.hits = Counter((hit.method, hit.path, hit.body, hit.headers.get("Cookie")) for hit in web.hits)

    def items(self, name: str) -> Counter[str]:
        """Each item as JSON."""
        items = self.results[name]["items"]
        if name in RACING:
            items = [{key: value for key, value in item.items() if key != "depth"} for item in items]
        return Counter(json.dumps(item, sort_keys=True) for item in items)

    def stat(self, name: str, stat: str) -> Any:
        return self.results[name]["stats"].get(stat)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with LocalWeb(page) as web, LocalWeb(page, address="127.0.0.2", port=web.port) as other, held_port() as refused:
        yield web, other, refused


@pytest.fixture(scope="module")
def stock(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("stock"), servers, {})


@pytest.fixture(scope="module")
def ours(servers: Servers, stock: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("ours"), servers, OURS)


@pytest.mark.parametrize("name", SPIDERS)
def test_a_spider_gives_the_items_that_it_gives_under_scrapy(stock: Run, ours: Run, name: str) -> None:
    """The same items, each as often, and the spider finishes by itself."""
    assert ours.items(name) == stock.items(name)
    assert stock.items(name)
    assert ours.stat(name, "finish_reason") == stock.stat(name, "finish_reason") == "finished"


def test_the_server_is_asked_the_same(stock: Run, ours: Run) -> None:
    """Methods, URLs, bodies and cookies that the server saw are the same, each as often."""
    assert ours.hits == stock.hits


def test_what_cannot_be_stored_stays_in_memory(ours: Run) -> None:
    """Requests with lambdas run, are counted, and bring one warning in all."""
    assert ours.stat("memory", "scheduler/unserializable") >= ours.stat("memory", "scheduler/dequeued/memory") > 1
    warnings = [line for line in ours.log.splitlines() if "stays in memory" in line]
    assert len(warnings) == 1
    assert "is not a method of the spider 'memory'" in warnings[0]


@pytest.mark.parametrize("name", sorted(set(SPIDERS) - {"memory"}))
def test_ordinary_requests_are_stored(ours: Run, name: str) -> None:
    """Whatever Scrapy's own spiders and helpers put into a request has a stored form."""
    assert ours.stat(name, "scheduler/unserializable") is None


def test_inline_downloads_are_no_pages_of_the_request_under_way(ours: Run) -> None:
    """A download with a page's `meta` is stored as itself, and the page too."""
    with closing(sqlite3.connect(ours.jobs / "inline-downloads" / "pages.sqlite")) as index:
        stored = Counter(
            url.rpartition("/")[2] for (url,) in index.execute("SELECT url FROM pages WHERE status = 200")
        )
    assert stored.pop("plain") == 16 + 1  # every page of the crawl asks for it, itself included
    assert stored == {str(number): 1 for number in range(15)}


def test_files_and_data_urls_are_not_in_the_page_store(ours: Run) -> None:
    """What came over no network is not archived as if it had."""
    with closing(sqlite3.connect(ours.jobs / "schemes" / "pages.sqlite")) as index:
        assert list(index.execute("SELECT url FROM pages")) == []


def test_a_crawl_without_trouble_ends_without_warnings(stock: Run, ours: Run) -> None:
    """Whatever request it names, the log tells of two troubles that stock Scrapy's does not: a request that cannot be
    stored, and a crawl that has fetched no page.
    """

    def told(run: Run) -> set[str]:
        lines = [line.split("] ", 1)[-1] for line in run.log.splitlines()]
        troubles = [line for line in lines if line.startswith(("WARNING", "ERROR", "CRITICAL"))]
        return {re.sub(r"<\S+ http\S+>", "<request>", line) for line in troubles}

    in_memory, no_page = sorted(told(ours) - told(stock), reverse=True)
    assert "stays in memory" in in_memory
    assert no_page.startswith("ERROR: The crawl fetched no page: answers 404")


def test_errbacks_hear_of_hosts_that_were_given_up(servers: Servers, stock: Run, tmp_path: Path) -> None:
    """Whether a request was made in vain or not at all, whoever waits for it is told, once."""

    def failed(run: Run) -> list[str]:
        return sorted(item["failed"] for item in run.results["errbacks"]["items"] if "failed" in item)

    given_up = Run(tmp_path, servers, OURS | {"SITECRAWL_MAX_HOST_FAILURES": 3}, ["errbacks"])
    assert failed(given_up) == failed(stock)
    assert "HostGivenUp" in str(given_up.items("errbacks"))
    assert given_up.stat("errbacks", "finish_reason") == "finished"
