"""What goes on for ever, or ends all at once: pages and sitemaps that are visited again, a keyword that is found."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from crawling import scrapy
from fleet import fleet, two_workers, web_of
from localweb import Answer, LocalWeb, Page, linked
from redis_servers import Server
from waiting import PATIENCE, until

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.sitemaps.store import read_sitemaps
from sitecrawl.crawldir.database import Database

OFTEN = {
    "SITECRAWL_RECRAWL_BUDGET": 1e9,
    "SITECRAWL_RECRAWL_MIN_INTERVAL": 0.3,
    "SITECRAWL_RECRAWL_MAX_INTERVAL": 1,
    "SITECRAWL_SITEMAP_BUDGET": 1e9,
    "SITECRAWL_LEASE_SECONDS": 2,
    "LIMITS": {
        "sitecrawl.crawl.sitemaps.record.MAX_INTERVAL": 1,
        "sitecrawl.crawl.sitemaps.record.MIN_INTERVAL": 0.3,
    },
}
SITES = 6
XML = {"Content-Type": "application/xml"}


class Looks:
    """Pages that count how often they are asked for."""

    def __init__(self) -> None:
        self.looks = Counter[str]()

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return Answer(f"Sitemap: http://{host}/map.xml\n".encode(), headers={"Content-Type": "text/plain"})
        self.looks[path] += 1
        if path == "/map.xml":
            urls = "".join(f"<url><loc>http://{host}/new/{n}</loc></url>" for n in range(self.looks[path]))
            return Answer(f"<urlset>{urls}</urlset>".encode(), headers=XML)
        return linked("/still", title=path)


def goes_on_elsewhere(redis: Server, folder: Path, path: str, *arguments: str) -> Counter[str]:
    """A worker visits `path` again and again, and is killed; another one, which has had nothing to do, takes over."""
    pages = Looks()
    given: dict[str, Any] = {"arguments": arguments, "SITECRAWL_CLUSTER_SHARDS": 1, **OFTEN}
    with LocalWeb(pages) as web, fleet(folder, 1, web.root, redis.url, **given) as (busy,):
        until(lambda: pages.looks[path] > 3, "some visits")
        with fleet(folder / "idle", 1, web.root, redis.url, **given) as (idle,):
            until((folder / "idle" / "worker-0" / "job" / "db").exists, "the other one has begun")
            busy.kill()
            seen = pages.looks[path]
            until(lambda: pages.looks[path] > seen + 3, "some more")
            idle.send(signal.SIGTERM)
            assert idle.wait(PATIENCE) == 0, idle.complaints
            assert "Traceback" not in idle.log
    return pages.looks


def test_pages_are_visited_again(redis: Server, tmp_path: Path) -> None:
    """What is planned goes with the site to whoever has it."""
    looks = goes_on_elsewhere(redis, tmp_path, "/still", "recrawl=1")
    assert looks["/"] > 1


@pytest.mark.deep
def test_sitemaps_are_visited_again(redis: Server, tmp_path: Path) -> None:
    """And what is new in them is fetched: once, or again by the other one if the first was killed before it told."""
    looks = goes_on_elsewhere(redis, tmp_path, "/map.xml", "sitemaps=1", "watch=1")
    assert looks["/new/0"] in {1, 2}
    assert looks["/new/3"] in {1, 2}


class News:
    """Sites in a circle. Each has a feed of its own pages, which its front page names, and a hub of the next site's;
    both list one more whenever they are asked for.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.looks = Counter[str]()
        webs = [stack.enter_context(LocalWeb(self, address=f"127.0.0.{n + 1}")) for n in range(SITES)]
        self.roots = [web.root for web in webs]
        self.lists = [f"{root}{path}" for root in self.roots for path in ("/feed", "/hub")]

    def __call__(self, path: str, host: str) -> Page | None:
        root = f"http://{host}"
        self.looks[root + path] += 1
        if path == "/":
            return "<!doctype html><title>front</title><link rel=alternate type=application/rss+xml href=/feed>"
        if path not in {"/feed", "/hub"}:
            return None if path == "/robots.txt" else linked("/", title=root + path)
        urls = self.listed(root + path)
        if path == "/hub":
            return linked(*urls)
        items = "".join(f"<item><title>{url}</title><link>{url}</link></item>" for url in urls)
        return Answer(f"<rss version='2.0'><channel>{items}</channel></rss>".encode(), headers=XML)

    def listed(self, url: str) -> list[str]:
        """What is there by now."""
        root, _, path = url.rpartition("/")
        site = self.roots.index(root)
        pages = f"{root}/fed" if path == "feed" else f"{self.roots[(site + 1) % SITES]}/of/{site}"
        return [f"{pages}/{n}" for n in range(self.looks[url])]

    def grow(self, by: int) -> None:
        """Wait until all lists have become so much longer, and all that is in them now is fetched."""
        before = self.looks.copy()
        until(lambda: all(self.looks[url] >= before[url] + by for url in self.lists), "the lists are read")
        listed = [page for url in self.lists for page in self.listed(url)]
        until(lambda: all(self.looks[page] for page in listed), "what is listed is fetched")


@pytest.mark.deep
def test_feeds_and_hubs_are_visited_again(redis: Server, tmp_path: Path) -> None:
    """By both workers, and by the one that is left. What is new is fetched once, and counts wherever it is."""
    with ExitStack() as stack:
        news = News(stack)
        hubs = ",".join(f"{root}/hub" for root in news.roots)
        given: dict[str, Any] = {
            "arguments": ("scope=any", "sitemaps=1", "watch=1", f"hubs={hubs}"),
            "SITECRAWL_CLUSTER_SHARDS": 8,
            **OFTEN,
        }
        workers = stack.enter_context(fleet(tmp_path, 2, ",".join(news.roots), redis.url, **given))
        news.grow(3)
        workers[0].kill()
        known = set(news.looks)
        news.grow(2)
        workers[1].send(signal.SIGTERM)
        assert workers[1].wait(PATIENCE) == 0, workers[1].complaints
        assert "Traceback" not in workers[1].log
        with closing(Database(tmp_path / "worker-1" / "job" / "db", hash_name=HASH_NAME)) as database:
            found = {record.url: record.news for record in read_sitemaps(database) if record.url in news.lists}
    assert {news.looks[url] for url in news.looks.keys() - known} == {1}
    assert found.keys() == set(news.lists)
    for visits in found.values():
        assert sum(new > 0 for _, new in visits) >= len(visits) - 1  # one was under way when a worker was killed


@pytest.mark.deep
def test_a_keyword_that_is_found_ends_all(redis: Server, tmp_path: Path) -> None:
    """One worker finds it, and the others do not go on."""
    place = tmp_path / "crawl"
    with web_of(150) as web:
        words = ("-a", f"start={web.url(0)}", "-a", "keyword=Page 17")
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True, "DOWNLOAD_DELAY": 0.2}
        done = scrapy("crawl", "keyword", *words, settings={**settings, **two_workers(redis.url, place)})
    assert done.returncode == 0, done.stderr
    assert "The crawl stopped: the keyword is found." in done.stderr
    assert done.stderr.count("The crawl ") == 1
