"""Workers as a user starts them: what they refuse, where seeds come from, what Redis may do to them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import scrapy
from fleet import Worker, fleet, stored, told, two_workers, urls_of, web_of
from localweb import Answer, LocalWeb, linked
from partitions import are_lent, totals
from ports import held_port
from redis_servers import Server, server
from stalling import Proxy
from syntheticweb import Web
from waiting import PATIENCE, until

from sitecrawl.cluster.copy import copied
from sitecrawl.cluster.outside import opened
from sitecrawl.frontier.reader import FrontierReader

SPIDERS = """
import scrapy

class Mine(scrapy.Spider):
    name = "mine"

    async def start(self):
        yield scrapy.Request(self.root + "/", meta={"colour": ("red", 1)}, cb_kwargs={"level": 1}, dont_filter=True)

    def parse(self, response, level):
        for n in range(4):
            form = {"n": str(n)}
            yield scrapy.FormRequest(f"{self.root}/form", formdata=form, callback=self.answer, meta=response.meta)

    def answer(self, response):
        yield {"body": response.text, "colour": list(response.meta["colour"])}
"""


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(150) as served:
        yield served


class TestRefusal:
    @pytest.mark.parametrize(
        ("option", "value", "why"), [("appendonly", "no", "append-only"), ("maxmemory-policy", "allkeys-lru", "full")]
    )
    def test_redis_that_may_lose_the_crawl(self, option: str, value: str, why: str, tmp_path: Path) -> None:
        """It is refused with one line that says why, and which setting takes it all the same."""
        with server(f"--{option}", value, "--maxmemory", "100mb") as weak:
            settings = {"SITECRAWL_CLUSTER": weak.url, "JOBDIR": tmp_path / "job"}
            refused = scrapy("crawl", "generic", "-a", "seeds=http://127.0.0.1:1/", settings=settings)
        assert refused.returncode == 1
        assert why in refused.stderr
        assert "SITECRAWL_CLUSTER_UNSAFE=True" in refused.stderr

    def test_no_redis(self, tmp_path: Path) -> None:
        """Nobody answers: one line."""
        with held_port() as port:
            settings = {"SITECRAWL_CLUSTER": f"redis://user:secret@127.0.0.1:{port}/0", "JOBDIR": tmp_path / "job"}
            refused = scrapy("crawl", "generic", "-a", "seeds=http://127.0.0.1:1/", settings=settings)
        assert refused.returncode == 1
        assert "cannot be reached" in refused.stderr
        assert "secret" not in refused.stderr


class TestSeeds:
    @pytest.mark.deep
    def test_pushed_seeds(self, redis: Server, tmp_path: Path) -> None:
        """What is pushed to scrapy-redis' queue is crawled, also while the crawl runs, and taken out."""
        pages = {"/": linked("/a", "/b"), "/a": linked("/"), "/b": "b"}
        with LocalWeb(pages) as one, LocalWeb(pages) as two, redis.client() as client:
            client.rpush("generic:start_urls", one.root + "/", "no url")
            worker = Worker(tmp_path / "w", "", redis.url, arguments=(), SITECRAWL_CLUSTER_WATCH=True)
            try:
                until(lambda: {"/", "/a", "/b"} <= set(one.paths()), "the pages of the first seed")
                client.rpush("generic:start_urls", json.dumps({"url": two.root + "/", "meta": {"from": "queue"}}))
                until(lambda: {"/", "/a", "/b"} <= set(two.paths()), "the pages of the second seed")
                until(lambda: client.llen("generic:start_urls") == 0, "Redis has the seeds in the crawl")
            finally:
                worker.send(signal.SIGTERM)
                assert worker.wait(PATIENCE) == 0
            assert "No URL in generic:start_urls" in worker.log


class TestHosts:
    @pytest.mark.deep
    def test_dead_host(self, redis: Server, tmp_path: Path) -> None:
        """A host that never answers is given up by all: what waits for it fails, and the crawl ends."""
        with held_port() as port:
            links = [f"http://127.0.0.1:{port}/{number}" for number in range(700)]
            with LocalWeb({"/": linked("/a", *links), "/a": "a"}) as web:
                with fleet(tmp_path, 1, web.root, redis.url, SITECRAWL_FAILURE_DELAY=0.05) as workers:
                    assert workers[0].wait() == 0
                assert set(web.paths()) == {"/", "/a"}
        with redis.client() as client:
            assert (totals(client).failed, totals(client).queued) == (len(links), 0)


class TestSpiders:
    @pytest.mark.deep
    def test_requests_of_a_users_own_spider(self, redis: Server, tmp_path: Path) -> None:
        """Callbacks, meta and POST bodies pass through Redis; the spider's start request is fetched once."""
        (tmp_path / "mine.py").write_text(SPIDERS)
        with LocalWeb(lambda path, _: f"page {path}") as web:
            settings = {"SITECRAWL_CLUSTER": redis.url, "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_ALLOW_PRIVATE": True}
            words = (
                "runspider",
                str(tmp_path / "mine.py"),
                "-a",
                f"root={web.root}",
                "-O",
                str(tmp_path / "items.jsonl"),
            )
            for number in range(2):
                done = scrapy(*words, settings={**settings, "JOBDIR": tmp_path / f"job{number}"})
                assert done.returncode == 0, done.stderr
            posts = [hit.body for hit in web.hits if hit.method == "POST"]
        assert sorted(posts) == [b"n=0", b"n=1", b"n=2", b"n=3"]
        assert b"pickle" not in b"".join(hit.body for hit in web.hits)


@pytest.mark.parametrize("number", [2, *(pytest.param(number, marks=pytest.mark.deep) for number in (1, 4))])
def test_same_pages_as_one_process(number: int, redis: Server, web: Web, tmp_path: Path) -> None:
    """However many workers there are: all pages, each asked for and stored once, and all of them end."""
    told(web)
    with fleet(tmp_path, number, web.url(0), redis.url, SITECRAWL_LEASE_SECONDS=PATIENCE) as workers:
        assert [worker.wait() for worker in workers] == [0] * number
        pages = stored(workers)
    assert pages.keys() == urls_of(web)
    assert set(pages.values()) == {1}
    asked = told(web)
    assert (asked["pages"], asked["requests"]) == (web.pages, web.pages)


class TestFaults:
    @pytest.mark.deep
    def test_scripts_are_lost(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """SCRIPT FLUSH in the midst of a crawl costs nothing."""
        with fleet(tmp_path, 1, web.url(0), redis.url) as workers, redis.client() as client:

            def flushed_to_the_end() -> bool:
                client.script_flush()
                return workers[0].process.poll() is not None

            until(flushed_to_the_end, "the end of the worker")
            assert workers[0].process.returncode == 0, workers[0].complaints
            assert stored(workers).keys() == urls_of(web)

    @pytest.mark.deep
    def test_full_redis(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """A Redis that is full is waited for; when it has room the crawl goes on, and no page is lost."""
        with fleet(tmp_path, 1, web.url(0), redis.url, DOWNLOAD_DELAY=0.4) as workers, redis.client() as client:
            until(lambda: totals(client).fetched, "Redis has a page")
            client.config_set("maxmemory", client.info("memory")["used_memory"])
            try:
                until(lambda: "Waiting for Redis: " in workers[0].log, "the worker waits for Redis")
                assert workers[0].process.poll() is None
            finally:
                client.config_set("maxmemory", "0")
            assert workers[0].wait() == 0
            assert "Redis answers again" in workers[0].log
            assert set(stored(workers).values()) == {1}
            assert stored(workers).keys() == urls_of(web)

    @pytest.mark.deep
    def test_stalled_connection(self, redis: Server, web: Web, tmp_path: Path) -> None:
        """A network that swallows everything for longer than a lease, and then breaks: nothing is lost or doubled."""
        with (
            Proxy(redis.port) as proxy,
            fleet(tmp_path, 1, web.url(0), proxy.url, DOWNLOAD_DELAY=0.1, SITECRAWL_LEASE_SECONDS=2) as workers,
            redis.client() as client,
        ):
            until(lambda: totals(client).fetched, "Redis has a page")
            proxy.stall()
            until(lambda: not are_lent(client), "Redis takes back what it has lent")
            proxy.resume()
            assert workers[0].wait() == 0, workers[0].complaints
            pages = stored(workers)
            assert pages.keys() == urls_of(web)
            assert set(pages.values()) == {1}


@pytest.mark.deep
def test_idle_worker_costs_little(redis: Server, tmp_path: Path) -> None:
    """A worker that waits for work looks at each partition every other second, and at little else."""
    settings = {"SITECRAWL_CLUSTER_WATCH": True, "SITECRAWL_CLUSTER_SHARDS": 16, "SITECRAWL_LEASE_SECONDS": 30}
    with LocalWeb({"/": "one page"}) as web, fleet(tmp_path, 1, web.root, redis.url, **settings) as workers:
        with redis.client() as client:
            until(lambda: totals(client, shards=16).fetched, "Redis has the page")
            look_for_seeds(client, 2)
            look_for_seeds(client, 5)
            names = ("evalsha", "eval", "type", "lrange", "hmget", "get", "hgetall", "hset", "ping")
            sent = sum(calls(client, name) for name in names)
        assert 0 < sent < 5 * 4 * 16
        workers[0].send(signal.SIGTERM)
        assert workers[0].wait(PATIENCE) == 0


def look_for_seeds(client: Any, times: int) -> None:
    """Count Redis' commands anew until the worker has looked so often for seeds, as it does every two seconds."""
    client.config_resetstat()
    until(lambda: calls(client, "type") >= times, f"{times} looks for seeds")


def calls(client: Any, command: str) -> int:
    found = client.info("commandstats").get(f"cmdstat_{command}")
    return int(found["calls"]) if found else 0


@pytest.mark.deep
def test_sitemaps_of_a_shared_crawl(redis: Server, tmp_path: Path) -> None:
    """A sitemap that one worker finds is read by whichever gets its answer: all pages come in, each once,
    of more sitemaps than a site may have for nothing at a time.
    """
    maps = "".join(f"<sitemap><loc>{{root}}/map{n}.xml</loc></sitemap>" for n in range(120))
    urls = "".join("<url><loc>{root}/{map}-" + str(n) + "</loc></url>" for n in range(2))

    def pages(path: str, host: str) -> Answer | str | None:
        root, name = f"http://{host}", path.strip("/").removesuffix(".xml")
        if path == "/robots.txt":
            return Answer(f"Sitemap: {root}/index.xml\n".encode(), 200, {"Content-Type": "text/plain"})
        if path == "/index.xml":
            text = f"<sitemapindex>{maps}</sitemapindex>".replace("{root}", root)
            return Answer(text.encode(), 200, {"Content-Type": "application/xml"})
        if path.endswith(".xml") and name.startswith("map"):
            text = f"<urlset>{urls}</urlset>".replace("{root}", root).replace("{map}", name)
            return Answer(text.encode(), 200, {"Content-Type": "application/xml"})
        return f"<title>{path}</title>" if path == "/" or name.startswith("map") else None

    with LocalWeb(pages) as web:
        settings = {"SITECRAWL_DELAY_FACTOR": 0, **two_workers(redis.url, tmp_path / "crawl")}
        done = scrapy("crawl", "generic", "-a", "sitemaps=1", "-a", f"seeds={web.root}/", settings=settings)
        assert done.returncode == 0, done.stderr
        # Not what the search for sitemaps asks for, such as an address that no site has.
        asked = [path for path in web.paths() if path.startswith("/map") and "-" in path]
    assert sorted(asked) == sorted(f"/map{m}-{n}" for m in range(120) for n in range(2))


@pytest.mark.deep
def test_what_is_held_back(redis: Server, tmp_path: Path) -> None:
    """A worker says how much was left; who reads the crawl on Redis sees it, with what speaks for it."""

    def maze(path: str, host: str) -> str | None:
        says = path.translate(dict(zip(range(ord("0"), ord("9") + 1), "abcdefghij", strict=True)))  # no numbers: news
        text = f"<p>{' '.join(f'{says}{chr(n)}' for n in range(97, 123))} {says * 20}</p>"
        if path == "/":
            return linked(*(f"/good/{n}" for n in range(20)), "/maze/0", title=path) + text
        if path.startswith("/good/"):
            return linked("/", title=path) + text
        if path.startswith("/maze/"):
            number = 20 * int(path.removeprefix("/maze/"))
            return linked(*(f"/maze/{number + n}" for n in range(1, 21)), title=path) + text
        return None

    with LocalWeb(maze) as web, fleet(tmp_path, 1, web.root, redis.url, SITECRAWL_TRAP_BUDGET=200) as workers:
        assert workers[0].wait() == 5
        log = (workers[0].folder / "log").read_text()
    with opened({"url": redis.url}, "generic") as crawl, copied(crawl) as copy, FrontierReader(copy) as reader:
        (held,) = reader.held()
        waiting = {url.url for url in reader.waiting()}
    assert f"{len(waiting):,} known URLs not fetched: {len(waiting):,} held back in 1 set that grows" in log
    assert (held.shape, held.why, held.waiting) == ("/maze/*", "grows", len(waiting))
    assert len(held.waiting_urls) == len(held.fetched_urls) == 3
    assert set(held.waiting_urls) <= waiting
