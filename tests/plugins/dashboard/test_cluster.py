"""The dashboard of a cluster: all workers on the page of any of them."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import chromium
from fleet import Worker, fleet, web_of
from localweb import LocalWeb
from maze import GOOD, with_maze
from playwright.sync_api import Browser, expect
from prometheus_client.parser import text_string_to_metric_families
from redis_servers import Server, server
from syntheticweb import Web
from waiting import PATIENCE, until

from sitecrawl.plugins.dashboard.figures import NUMBERS, read

ADDRESS = re.compile(r"^Dashboard: (http://\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def redis() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(40) as served:
        yield served


@pytest.fixture(scope="module")
def workers(redis: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Worker]]:
    """Two that stay, with nothing to do."""
    settings = {"SITECRAWL_CLUSTER_CRAWL": "watched", "SITECRAWL_CLUSTER_WATCH": True}
    with fleet(tmp_path_factory.mktemp("fleet"), 2, "", redis.url, **settings) as started:
        yield started


@pytest.fixture(scope="module")
def other() -> Iterator[Web]:
    """Another web, with a page on each host."""
    with web_of(12) as served:
        yield served


@pytest.fixture(scope="module")
def busy(workers: list[Worker], web: Web) -> list[Worker]:
    """The same two, which have fetched all pages of the web."""
    page = Page(workers[0])
    page.act("seed", {"urls": " ".join(web.seeds)})
    until(lambda: page.crawl()["fetched"] >= web.pages and not page.crawl()["waiting"], "all pages are fetched")
    return workers


def test_lines_of_the_whole_crawl(busy: list[Worker], web: Web) -> None:
    """Each worker's page has them, of what all have fetched."""
    for worker in busy:
        page = Page(worker)
        history = until(lambda page=page: _told(page, web.pages), "two points, the last of all pages")  # type: ignore[misc]
        assert len(history["t"]) == len(history["waiting"])


def _told(page: Page, pages: int) -> dict[str, Any] | None:
    history: dict[str, Any] = page.tables()["history"]
    return history if len(history["t"]) > 1 and history["fetched"][-1] == pages else None


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def babbling(client: Any, text: str) -> Iterator[None]:
    """A worker that is called `text`, and has rows of `text`."""
    board = "sitecrawl:{watched.0}:"
    figures = {**dict.fromkeys((*NUMBERS, "partitions"), 0), "fetched": 12_345}
    row = dict.fromkeys(("host", "shape", "name", "reason", "state", "ip", "said_no", "waiting", "next"), text)
    rows = {
        "hosts": [row],
        "held": [{**row, "fetched_urls": [{"url": text}], "waiting_urls": [text]}],
        "errors": [{"kind": text, "count": 1, "examples": [{"url": text, "referrer": text}]}],
    }
    names = dict.fromkeys(("place", "name", "spider", "last"), text)
    entry = json.dumps({**names, "state": "running", "figures": figures, "rows": rows})
    client.hset(f"{board}told", text, entry)
    client.zadd(f"{board}heard", {text: time.time() * 1000 + 600_000})
    try:
        yield
    finally:
        client.hdel(f"{board}told", text)
        client.zrem(f"{board}heard", text)


class Page:
    """A plain HTTP client of a worker's page."""

    def __init__(self, worker: Worker) -> None:
        found = until(lambda: ADDRESS.search(worker.log), "the address of the page")
        self.address = found[1]
        self._url = urlsplit(self.address)

    def ask(self, path: str, body: object = None) -> tuple[int, Any]:
        status, answer = self.raw(path, body)
        return status, json.loads(answer)

    def raw(self, path: str, body: object = None) -> tuple[int, bytes]:
        connection = HTTPConnection(self._url.hostname or "", self._url.port, timeout=PATIENCE)
        try:
            data = None if body is None else json.dumps(body)
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request("GET" if body is None else "POST", self._url.path + path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def table(self, path: str) -> dict[str, Any]:
        status, answer = self.ask(path)
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    def act(self, name: str, fields: dict[str, str]) -> str:
        status, answer = self.ask(f"act/{name}", fields)
        assert status == 200, answer
        return str(answer["done"])

    def crawl(self) -> dict[str, Any]:
        """The counts of the crawl."""
        found: dict[str, Any] = self.ask("overview")[1]["crawl"]
        return found

    def workers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("overview")[1]["workers"]
        return found

    def tables(self) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("overview")[1]
        return found


def stat(worker: Worker, name: str) -> int:
    """0 of a worker that came too late for any page."""
    return int(["0", *re.findall(rf"'{re.escape(name)}': (\d+)", worker.log)][-1])


LOOKED_AT = {
    "sitecrawl.plugins.dashboard.web._LAST": PATIENCE,
    "sitecrawl.plugins.dashboard.cluster._LAST": PATIENCE,
    "sitecrawl.plugins.dashboard.cluster._LOST_SECONDS": PATIENCE,
    "sitecrawl.plugins.dashboard.monitor._WATCHED": PATIENCE,
}
"""Of a page that stays until its end has been looked at, with the last figures of all."""


@pytest.mark.usefixtures("workers")  # they start meanwhile
def test_all_workers_on_one_page(redis: Server, web: Web, tmp_path: Path) -> None:
    """The page of one lists both; when they have ended, what it has added up is what their statistics say."""
    settings = {"SITECRAWL_CLUSTER_CRAWL": "totals", "SITECRAWL_CLUSTER_WATCH": True, "LIMITS": LOOKED_AT}
    with fleet(tmp_path, 2, "", redis.url, **settings) as workers:
        page, last = Page(workers[0]), dict[str, Any]()
        until(lambda: len(page.workers()) == 2, "both workers on the page")
        page.act("seed", {"urls": " ".join(web.seeds)})
        until(lambda: page.crawl()["fetched"] == web.pages and not page.crawl()["waiting"], "all pages are fetched")
        page.act("stop", {})
        while last.get("workers", [{}])[0].get("state") != "ended":
            last = page.tables()
        assert [worker.wait() for worker in workers] == [0, 0]
    assert [one["state"] for one in last["workers"]] == ["ended", "ended"]
    assert len({one["id"] for one in last["workers"]}) == 2
    figures = [one["figures"] for one in last["workers"]]
    assert sum(one["fetched"] for one in figures) == web.pages == last["crawl"]["fetched"]
    assert last["crawl"]["waiting"] == 0
    received = sum(stat(worker, "downloader/response_bytes") for worker in workers)
    assert sum(one["received"] for one in figures) == received


WELL_SAMPLED = 10 * GOOD
"""Pages of the maze: more than it has had when it is held back, and fewer than it has when nothing else is left."""


@pytest.mark.deep
def test_last_fetches(redis: Server, tmp_path: Path) -> None:
    """When only a maze is left, which one worker fetches, the pages of both say so; before, neither does."""
    goes_on = Event()

    def pages(path: str, host: str) -> str | None:
        if sum(one.startswith("/maze/") for one in served.paths()) > WELL_SAMPLED:
            goes_on.wait(PATIENCE)
        return with_maze(path, host)

    settings = {
        "SITECRAWL_CLUSTER_CRAWL": "maze",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "SITECRAWL_TRAP_BUDGET": 2 * WELL_SAMPLED,
    }
    with LocalWeb(pages) as served, fleet(tmp_path, 2, served.root, redis.url, **settings) as workers:
        told = [Page(worker) for worker in workers]
        for page in told:
            until(lambda page=page: "fetching 1 set" in page.workers()[0]["last"], "it says what is fetched")  # type: ignore[misc]
        goes_on.set()
        assert [worker.wait() for worker in workers] == [5, 5], "both leave the maze"


class TestWatched:
    def test_acts_are_for_all(self, workers: list[Worker]) -> None:
        """What the page of one is asked for is done by both; what a cluster cannot do is said."""
        one, two = (Page(worker) for worker in workers)
        until(lambda: len(one.workers()) == 2, "both workers on the page")
        for action, state in (("pause", "paused"), ("resume", "running")):
            status, told = one.ask(f"act/{action}", {})
            assert status == 200
            assert "All workers" in told["done"]
            until(
                lambda state=state: [found["state"] for found in two.workers()] == [state] * 2,  # type: ignore[misc]
                f"both workers are {state}",
            )

    def test_tables_and_acts_are_of_all(self, workers: list[Worker], other: Web) -> None:
        """Seeds that are given to one are fetched by both; the page of either lists what both have, and blocks and
        sets free what the other has.
        """
        one, two = pages = [Page(worker) for worker in workers]
        one.act("pause", {})
        until(lambda: [found["state"] for found in two.workers()] == ["paused"] * 2, "both workers are paused")
        done = one.act("seed", {"urls": " ".join(other.seeds)})
        assert re.search(r"\d+ (seeds? added|sent to other workers)", done)  # it may have none of the sites yet
        names = {urlsplit(url).netloc for url in other.seeds}
        for page in pages:
            until(
                lambda page=page: {row["host"] for row in page.tables()["hosts"]} == names,  # type: ignore[misc]
                "all hosts in the table",
            )
        for name in names:
            assert "hears of it" in one.act("block", {"host": name})
        for page in pages:
            until(
                lambda page=page: {row["host"] for row in page.tables()["held"]} == names,  # type: ignore[misc]
                "all are held back",
            )
        until(lambda: one.crawl()["demoted"] == len(names), "all are counted")
        for name in names:
            two.act("release", {"host": name})
        until(lambda: not one.tables()["held"], "nothing is held back")
        two.act("resume", {})
        until(lambda: not one.crawl()["waiting"], "all pages are fetched")

    def test_metrics(self, busy: list[Worker]) -> None:
        """A worker's page has all metrics: the counts of the crawl, and each worker's own."""

        def told() -> dict[str, Any]:
            status, text = Page(busy[0]).raw("metrics")
            assert status == 200
            return {family.name: family for family in text_string_to_metric_families(text.decode())}

        found = until(lambda: all_in(told()), "both workers with all that they have fetched")
        tiers = {sample.labels["tier"] for sample in found["sitecrawl_seen_lookups"].samples}
        assert tiers == {"cache", "recent", "bloom", "buffer", "disk"}
        assert [one.value for one in found["sitecrawl_worker_up"].samples] == [1, 1]

    @pytest.mark.deep
    def test_text_of_another_worker(self, workers: list[Worker], redis: Server, browser: Browser) -> None:
        """Whatever stands on the board, or is answered, is shown as text."""
        text, one = '<img src=x onerror="window.owned=1">', Page(workers[0])

        with redis.client() as client, babbling(client, text):
            page = browser.new_page()
            page.goto(one.address)
            for caption in ("Workers", "Hosts with the most URLs waiting", "Held back", "Errors"):
                expect(page.get_by_role("region", name=caption)).to_contain_text(text)
            expect(page.locator("#where")).to_contain_text("All workers of a cluster")
            expect(page.locator("#seed")).to_be_enabled()
            assert page.evaluate("window.owned") is None
            assert page.locator("#tables img").count() == 0

    @pytest.mark.deep
    def test_lost_worker(self, workers: list[Worker], redis: Server) -> None:
        """A worker that was killed is shown as lost, with nothing in use; what is no worker's is not shown."""
        page = Page(workers[0])
        with redis.client() as client:
            until(lambda: [one["state"] for one in page.workers()] == ["running"] * 2, "a word of each worker")
            (told,) = client.keys("*{watched.0}:told")
            client.hset(told, "stranger", "<b>no JSON")
            client.zadd(told.replace(b"told", b"heard"), {"stranger": time.time() * 1000})
        workers[1].kill()
        until(lambda: [one["state"] for one in page.workers()] == ["running", "lost"], "one worker is lost")
        lost = page.workers()[1]
        assert lost["age"] >= 6
        assert lost["figures"]["memory"] == 0
        workers[1].start()
        until(lambda: [one["state"] for one in page.workers()].count("running") == 2, "the worker is back")

    def test_stop(self, workers: list[Worker], redis: Server) -> None:
        """Stop ends whoever is there; whoever starts again afterwards goes on."""
        assert Page(workers[0]).ask("act/stop", {})[0] == 200
        assert [worker.wait(PATIENCE) for worker in workers] == [0, 0]
        started = len(ADDRESS.findall(workers[1].log))
        with redis.client() as client:
            _, before = last_word(client)
            workers[1].start()
            until(lambda: last_word(client)[1] > before, "a word of the worker, which is answered with the wish")
            _, first = last_word(client)
            until(lambda: last_word(client)[1] > first, "a word of the worker after the answer")
            assert last_word(client)[0]["state"] == "running"
        assert len(ADDRESS.findall(workers[1].log)) == started + 1
        assert workers[1].process.poll() is None
        workers[1].send(signal.SIGTERM)
        assert workers[1].wait(PATIENCE) == 0


def all_in(found: dict[str, Any]) -> dict[str, Any] | None:
    """`found`, if the workers have fetched together what the crawl has, and have all partitions."""
    (crawl,) = (one.value for one in found["sitecrawl_urls"].samples if one.labels["state"] == "fetched")
    fetched, partitions = (
        sum(one.value for one in found[f"sitecrawl_worker_{name}"].samples) for name in ("fetched", "partitions")
    )
    return found if (fetched, partitions) == (crawl, 4) else None


def last_word(client: Any) -> tuple[dict[str, Any], float]:
    """What was last told of a worker, by any of them, and when."""
    ((session, at),) = client.zrange("sitecrawl:{watched.0}:heard", -1, -1, withscores=True)
    return json.loads(client.hget("sitecrawl:{watched.0}:told", session) or b""), at


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff",
        b"null",
        b"[" * 5_000,
        b'{"state": "running"}',
        b'{"state": "running", "figures": []}',
        b'{"state": "", "name": "", "place": "", "spider": "", "last": "", "rows": {}, "figures": {"rate": 1}}',
    ],
)
def test_no_worker(text: bytes) -> None:
    """What cannot be a worker's is none."""
    assert read(text) is None
