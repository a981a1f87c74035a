"""The dashboard of a real crawl: who gets what, what an operator does, what of it survives a restart."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from crawling import PROJECT, stats_of
from dashboards import Crawl
from localweb import Answer, LocalWeb, linked
from prometheus_client.parser import text_string_to_metric_families
from waiting import PATIENCE, until

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import HISTORY
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.plugins.dashboard.extension import _MAX_CONNECTIONS
from sitecrawl.plugins.dashboard.web import _MAX_BODY

SECONDS = 0.03
TOKEN = "as-long-as-it-has-to-be"
LATE = """
import asyncio

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.build import Crawl

class Late:
    def __init__(self, database):
        self.database = database

    @classmethod
    def from_crawler(cls, crawler):
        return cls(Crawl.of(crawler).database)

    async def process_start(self, start):
        try:
            while True:
                self.database.get("meta", b"x")
                await asyncio.sleep(0)
        except StorageError:
            async for one in start:
                yield one
"""
ODD = """
class Odd:
    def __init__(self, stats):
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.stats)

    def process_spider_input(self, response):
        self.stats.set_value("spider_exceptions/odd", "many")
"""


def is_closed(connection: socket.socket) -> bool:
    """Whether the other end has dropped it."""
    connection.setblocking(False)
    try:
        return not connection.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True


def answers(crawl: Crawl) -> bool:
    try:
        return crawl.ask("")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def slow_site(pages: int, seconds: float = SECONDS) -> LocalWeb:
    """A front page that links to as many others in two sections, one that is missing, and nothing more. After a
    thousand pages there is no more hurry: it is to last for as long as it is looked at.
    """
    number = count()

    def answer(path: str, host: str) -> Answer | str | None:
        if path == "/":
            return linked("/gone", *(f"/w/{n}" for n in range(pages // 4)), *(f"/good/{n}" for n in range(pages)))
        time.sleep(seconds if next(number) < 1_000 else 1.0)
        return linked("/", title=path) if path.rpartition("/")[2].isdigit() else None

    return LocalWeb(answer)


def slowly(page: Answer | str) -> Callable[[str, str], Answer | str]:
    """The same for every path, and never at once: what is left has to last until it is looked at."""

    def answer(path: str, host: str) -> Answer | str:
        time.sleep(SECONDS)
        return page

    return answer


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with slow_site(20_000) as web:
        yield web


@pytest.fixture(scope="module")
def crawl(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl that does not end."""
    with Crawl(web.root, tmp_path_factory.mktemp("crawl") / "job", SITECRAWL_DASHBOARD_TOKEN=TOKEN) as crawl:
        until(lambda: crawl.figures()["fetched"] > 3, "some pages")
        yield crawl


class TestWhoGetsWhat:
    @pytest.mark.parametrize("path", ["/", "/overview", "/metrics", "/x/overview", "/../", "/%00/", "//x/"])
    def test_without_the_token(self, crawl: Crawl, path: str) -> None:
        """Nothing: not a word of what is there."""
        assert urlsplit(crawl.url).path == f"/{TOKEN}/"
        status, headers, body = crawl.ask(path, raw=True)
        assert (status, body) == (404, b"")
        assert "server" not in headers

    @pytest.mark.parametrize(
        "headers",
        [
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ],
    )
    def test_from_elsewhere(self, crawl: Crawl, headers: dict[str, str]) -> None:
        """Nothing to another origin, though it knew the token; and nothing is done for it."""
        for path in ("", "overview", "metrics"):
            assert crawl.ask(path, headers=headers)[::2] == (404, b"")
        assert crawl.ask("act/stop", method="POST", body={}, headers=headers)[::2] == (404, b"")
        assert crawl.json("overview")["workers"][0]["state"] == "running"

    def test_bytes_that_are_no_text(self, crawl: Crawl) -> None:
        """They are as wrong as anything else, and no reason for a traceback in the crawl's log."""
        for name in ("Authorization", "Host", "Origin", "Sec-Fetch-Site"):
            status, _, body = crawl.ask("overview", headers={name: "Bearer \xff\xfe"})
            assert (status, body) == (404, b""), name
        assert "Traceback" not in crawl.log

    def test_asking_for_no_path(self, crawl: Crawl) -> None:
        """`OPTIONS *` is answered by Twisted before anybody asks for a token, and would say what server this is."""
        status, headers, body = crawl.ask("*", method="OPTIONS", raw=True)
        assert (status, body, "server" in headers) == (404, b"", False)

    def test_on_loopback_alone(self, crawl: Crawl) -> None:
        """No other address of this machine answers on the port."""
        port = urlsplit(crawl.url).port
        assert port is not None
        with pytest.raises(OSError):  # noqa: PT011 - refused or unreachable
            socket.create_connection(("127.0.0.2", port), timeout=PATIENCE)

    def test_files(self, crawl: Crawl) -> None:
        """The page and all it names are served, with headers that forbid everything else."""
        status, headers, body = crawl.ask("")
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert b"http://" not in body
        assert b"https://" not in body
        for name in ("app.js", "style.css"):
            assert crawl.ask(name)[0] == 200, name

    def test_other_files(self, crawl: Crawl) -> None:
        """What is not the page's is not there."""
        for path in ("index.html", "../addon.py", "static/app.js", "..%2f..%2faddon.py", "act/pause"):
            assert crawl.ask(path)[0] == 404, path

    def test_bodies(self, crawl: Crawl) -> None:
        """What is no JSON object is refused, what is huge is not even read."""
        for body in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
            assert crawl.ask("act/pause", method="POST", body=body)[0] == 400
        with pytest.raises(OSError):  # noqa: PT011 - reset, or closed without an answer
            crawl.ask("act/seed", method="POST", body={"urls": "x" * (_MAX_BODY + 1)})
        assert crawl.json("overview")["workers"][0]["state"] == "running"


class TestWhatItTells:
    def test_overview(self, crawl: Crawl, web: LocalWeb) -> None:
        """One worker, and the rows of its tables; its host has one once an answer has come."""
        told = until(lambda: found if (found := crawl.json("overview"))["hosts"] else None, "a host")
        (worker,) = told["workers"]
        assert (worker["spider"], worker["state"], worker["resumed"]) == ("generic", "running", False)
        assert 0 < worker["figures"]["fetched"] <= len(web.hits)
        (row,) = told["hosts"]
        assert (row["host"], row["state"] in {"asking", "ready", "resting"}) == (f"127.0.0.1:{web.port}", True)
        assert told["held"] == []
        assert len({len(values) for values in told["history"].values()}) == 1

    def test_errors(self, crawl: Crawl, web: LocalWeb) -> None:
        """Each kind with examples, and where they were found."""
        rows = until(lambda: crawl.json("overview")["errors"], "an error")
        example = rows[0]["examples"][0]
        assert (rows[0]["kind"], example["url"], example["referrer"]) == ("404", f"{web.root}/gone", f"{web.root}/")

    def test_connections_are_bounded(self, crawl: Crawl) -> None:
        """Of those that a process of this machine makes, some are dropped; when they are gone the page answers."""
        parts = urlsplit(crawl.url)
        assert parts.port is not None
        many = [socket.create_connection(("127.0.0.1", parts.port)) for _ in range(2 * _MAX_CONNECTIONS)]
        until(lambda: sum(map(is_closed, many)) >= _MAX_CONNECTIONS, "the end of some")
        for connection in many:
            connection.close()
        until(lambda: answers(crawl), "an answer")

    def test_sites_that_say_no(self, tmp_path: Path) -> None:
        """How often and in which way: of each host in its row, and of all in the figures and the metrics."""
        refused = Answer(b"no", 401, {"Content-Type": "text/html"})
        is_over = threading.Event()

        def pages(path: str, host: str) -> Answer | str | None:
            if path == "/last":
                is_over.wait(PATIENCE)
            return linked("/a", "/b", "/last") if path == "/" else refused if path in {"/a", "/b"} else None

        def rows(crawl: Crawl) -> list[str]:
            return [row["said_no"] for row in crawl.json("overview")["hosts"]]

        with LocalWeb(pages) as web, Crawl(web.root, tmp_path / "job", "-a", "order=bfs") as crawl:
            until(lambda: rows(crawl) == ["login walls 2"], "both of them")
            until(
                lambda: crawl.json("overview")["workers"][0]["figures"]["refusals"] == {"login_wall": 2}, "a sample"
            )
            metrics = crawl.ask("metrics")[2].decode()
            assert 'sitecrawl_refusals_total{spider="generic",kind="login_wall"} 2' in metrics
            is_over.set()

    def test_metrics(self, crawl: Crawl) -> None:
        """Prometheus' own parser reads them; the token may be a header."""
        status, headers, body = crawl.ask("/metrics", raw=True, headers={"Authorization": f"Bearer {TOKEN}"})
        assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        found = {family.name: family for family in text_string_to_metric_families(body.decode())}
        urls = {sample.labels["state"]: sample.value for sample in found["sitecrawl_urls"].samples}
        assert urls["fetched"] > 0
        assert urls["waiting"] > 0

    def test_grafana(self, crawl: Crawl) -> None:
        """Every metric that the Grafana dashboard draws is there."""
        text = (Path(__file__).parents[3] / "docs" / "grafana.json").read_text()
        panels = json.loads(text)["panels"]
        named = {
            word
            for panel in panels
            for target in panel.get("targets", ())
            for word in target["expr"].replace("(", " ").replace("{", " ").replace("[", " ").split()
            if word.startswith("sitecrawl_")
        }
        told = crawl.ask("metrics")[2].decode()
        assert len(named) >= 10
        assert [name for name in named if f"# TYPE {name.removesuffix('_bucket')} " not in told] == []


class TestWhatIsDone:
    @pytest.mark.deep
    def test_an_operator_at_work(self, tmp_path: Path) -> None:
        """Pause, block, resume, set free, add a seed, stop; and the next run knows what was decided."""
        with (
            slow_site(400) as web,
            LocalWeb({"/": linked("/more"), "/more": linked("/last")}, address="127.0.0.2") as two,
        ):
            with Crawl(web.root, tmp_path / "job", "-a", "scope=host", SITECRAWL_ALLOW_PRIVATE=False) as crawl:
                until(web.paths, "a request")
                assert crawl.act("pause").startswith("Paused")
                assert crawl.json("overview")["workers"][0]["state"] == "paused"
                host = f"127.0.0.1:{web.port}"
                self.come_to_rest(crawl)
                asked = len(web.hits)
                assert crawl.act("block", host=host, shape="/w/*") == f"Blocked: {host}/w/*"
                self.come_to_rest(crawl)
                self.come_to_rest(crawl)
                assert len(web.hits) == asked
                (row,) = until(lambda: crawl.json("overview")["held"], "what is held back")
                assert (row["shape"], row["name"]) == ("/w/*", f"{row['host']}/w/*")
                assert row["reason"].startswith("blocked by hand at fetch")
                samples = [one["url"] for one in row["fetched_urls"]] + row["waiting_urls"]
                assert len(set(samples)) == len(samples) >= 3
                assert all(sample.startswith(f"{web.root}/w/") for sample in samples)
                crawl.act("resume")
                until(lambda: len(web.hits) > asked + 15, "requests after the pause")
                assert not [path for path in web.paths()[asked:] if path.startswith("/w/")]
                assert crawl.act("seed", urls=f"{two.root} {two.root}/") == "1 seed added"
                # Its links are in scope, and its private address is allowed.
                until(lambda: "/last" in two.paths(), "the pages behind the seed")
                self.refused(crawl)
                crawl.act("stop")
                assert crawl.end() == 0
                assert "The crawl was stopped by hand, from its dashboard." in crawl.log
                assert stats_of(crawl.log)["dashboard/stop"] == 1
            with FrontierReader(tmp_path / "job") as reader:
                (unit,) = reader.units(demoted=True)
            assert (unit.shape, unit.reason[:15]) == ("/w/*", "blocked by hand")
            web.pages = slowly(linked(f"{two.root}/later"))  # followed, for the seed was added by hand
            two.pages = {"/later": linked("/afterwards"), "/afterwards": "<p>"}
            with Crawl(web.root, tmp_path / "job", "-a", "scope=host") as crawl:
                until(lambda: "/afterwards" in two.paths(), "the pages behind the seed")
                asked = len(web.hits)
                until(lambda: len(web.hits) > asked + 10, "further requests")
                assert not [path for path in web.paths()[asked:] if path.startswith("/w/")]
                crawl.act("release", host=host, shape="/w/*")
                until(
                    lambda: [path for path in web.paths()[asked:] if path.startswith("/w/")],
                    "a request of the section that was set free",
                )
                crawl.act("stop")
                assert crawl.end() == 0
            with FrontierReader(tmp_path / "job") as reader:
                units = {unit.shape: unit for unit in reader.units(host)}
                history = reader.history()
                answered = sum(record.status == 200 for _, record in reader.records())
            assert units["/w/*"].reason == "set free by hand: it will not be demoted again"
            assert history is not None
            ok = [value for value in history.series()["ok"] if value is not None]
            assert ok == sorted(ok)  # totals go on over both runs
            assert ok[-1] == answered

    def come_to_rest(self, crawl: Crawl) -> None:
        """The crawl's next sample, of which it takes one a second, finds nothing in flight."""
        now = time.time()
        until(lambda: (f := crawl.figures())["at"] > now and f["in_flight"] == 0, "nothing is in flight")

    def refused(self, crawl: Crawl) -> None:
        for name, fields in (
            ("block", {"host": "nobody.example"}),
            ("block", {"host": 7}),
            ("block", {"host": "\ud800"}),
            ("seed", {"urls": "mailto:x@y"}),
            ("seed", {"urls": "ftp://a.example/"}),
            ("seed", {"urls": ""}),
            ("seed", {"urls": "http://a.example/ " * 1001}),
        ):
            status, _, body = crawl.ask(f"act/{name}", method="POST", body=fields)
            assert status == 400, name
            assert json.loads(body)["error"]
        assert crawl.ask("act/explode", method="POST", body={})[0] == 404

    def test_a_pause_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Page and metrics say why the crawl pauses by itself, and since when."""
        with closing(socket.socket()) as refusing:
            refusing.bind(("127.0.0.1", 0))
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{refusing.getsockname()[1]}")
            monkeypatch.delenv("no_proxy", raising=False)
            with Crawl("http://a.example/", tmp_path / "job", proxied=True) as crawl:
                until(lambda: crawl.json("overview")["workers"][0]["lacking"], "the pause")
                (worker,) = crawl.json("overview")["workers"]
                assert worker["lacking"]["why"] == "no proxy answers, or none lets the crawl through"
                begun = worker["figures"]["at"] - worker["figures"]["seconds"]
                assert begun <= worker["lacking"]["since"] <= time.time()
                _, _, metrics = crawl.ask("metrics")
        found = dict(re.findall(r'sitecrawl_want_seconds\{spider="generic",want="(\w+)"\} (\S+)', metrics.decode()))
        assert [want for want, seconds in found.items() if float(seconds) > 0] == ["proxies"]

    def test_a_port_that_is_taken(self, tmp_path: Path) -> None:
        """The crawl goes on without its page, and says so."""
        with socket.socket() as other, LocalWeb({"/": "<p>"}) as web:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with Crawl(web.root, tmp_path / "job", SITECRAWL_DASHBOARD=f"127.0.0.1:{port}") as crawl:
                assert crawl.end() == 0
            assert f"port {port} of SITECRAWL_DASHBOARD cannot be had" in crawl.log
            assert web.paths() == ["/"]

    @pytest.mark.deep
    def test_a_stop_before_the_seeds(self, tmp_path: Path) -> None:
        """The page is there before they are: the crawl ends well, and the next run has them."""
        (tmp_path / "late.py").write_text(LATE)
        with LocalWeb({"/": "<p>"}) as web:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(PROJECT)]))
                crawl = Crawl(web.root, tmp_path / "job", SPIDER_MIDDLEWARES='{"late.Late": 1}')
            with crawl:
                crawl.act("stop")
                assert crawl.end() == 0
            assert web.paths() == []
            with Crawl(web.root, tmp_path / "job") as crawl:
                assert crawl.end() == 0
            assert web.paths() == ["/"]

    def test_figures_that_cannot_be_had(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Statistics are anybody's: what an extension writes into them hurts the page, and no checkpoint."""
        (tmp_path / "odd.py").write_text(ODD)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(PROJECT)]))
        odd = '{"odd.Odd": 1}'
        with (
            LocalWeb({"/": linked("/a"), "/a": "<p>"}) as web,
            Crawl(web.root, tmp_path / "job", SPIDER_MIDDLEWARES=odd, SITECRAWL_SUMMARY=False) as crawl,
        ):
            assert crawl.process.wait(PATIENCE) == 0, crawl.log
        with FrontierReader(tmp_path / "job") as reader:
            assert sum(record.status == 200 for _, record in reader.records()) == 2
        assert "The crawl's history cannot be kept" in crawl.log

    @pytest.mark.deep
    def test_a_history_that_is_damaged(self, tmp_path: Path) -> None:
        """The crawl does not depend on it: it says so, and begins a new one."""
        with LocalWeb({"/": linked("/a"), "/a": "<p>"}) as web:
            with Crawl(web.root, tmp_path / "job", "-a", "max_pages=1") as crawl:
                assert crawl.end() == 0
            with closing(Database(tmp_path / "job" / "db", hash_name=HASH_NAME)) as database:
                batch = database.batch()
                batch.put("meta", HISTORY, b"damaged")
                database.write(batch)
            with Crawl(web.root, tmp_path / "job") as crawl:
                assert crawl.end() == 0
        assert "The crawl's history begins anew: The history of 7 bytes cannot be read" in crawl.log
        with FrontierReader(tmp_path / "job") as reader:
            history = reader.history()
        assert history is not None
        assert history.last()["fetched"] == 2
