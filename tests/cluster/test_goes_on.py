"""What goes on for ever, or ends all at once: pages and sitemaps that are visited again, a keyword that is found."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

from crawling import scrapy
from fleet import fleet, web_of
from localweb import Answer, LocalWeb, Page, linked
from redis_servers import Server
from waiting import until

OFTEN = {
    "SITECRAWL_RECRAWL_BUDGET": 1e9,
    "SITECRAWL_RECRAWL_MIN_INTERVAL": 0.3,
    "SITECRAWL_RECRAWL_MAX_INTERVAL": 1,
    "SITECRAWL_SITEMAP_BUDGET": 1e9,
    "SITECRAWL_SITEMAP_MIN_INTERVAL": 0.3,
    "SITECRAWL_SITEMAP_MAX_INTERVAL": 1,
    "SITECRAWL_LEASE_SECONDS": 2,
}
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
        until(lambda: pages.looks[path] > 3, "some visits", 60)
        with fleet(folder / "idle", 1, web.root, redis.url, **given) as (idle,):
            until((folder / "idle" / "worker-0" / "job" / "db").exists, "the other one has begun")
            busy.kill()
            seen = pages.looks[path]
            until(lambda: pages.looks[path] > seen + 3, "some more", 60)
            idle.send(signal.SIGTERM)
            assert idle.wait(30) == 0, idle.log[-2000:]
            assert "Traceback" not in idle.log
    return pages.looks


def test_pages_are_visited_again(redis: Server, tmp_path: Path) -> None:
    """What is planned goes with the site to whoever has it."""
    looks = goes_on_elsewhere(redis, tmp_path, "/still", "recrawl=1")
    assert looks["/"] > 1


def test_sitemaps_are_visited_again(redis: Server, tmp_path: Path) -> None:
    """And what is new in them is fetched, once."""
    looks = goes_on_elsewhere(redis, tmp_path, "/map.xml", "sitemaps=1", "watch=1")
    assert looks["/new/0"] == 1
    assert looks["/new/3"] == 1


def test_a_keyword_that_is_found_ends_all(redis: Server, tmp_path: Path) -> None:
    """One worker finds it, and the others do not go on."""
    place = tmp_path / "crawl"
    with web_of(150) as web:
        words = ("--workers", "2", "-d", str(place), "--redis", redis.url, "-a", f"start={web.url(0)}")
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True, "DOWNLOAD_DELAY": 0.2}
        done = scrapy("cluster", "keyword", *words, "-a", "keyword=Page 17", settings=settings)
    assert done.returncode == 0, done.stderr
    logs = [(place / f"worker-{number}.log").read_text() for number in (1, 2)]
    assert all("The crawl stopped: the keyword is found." in log for log in logs), logs
