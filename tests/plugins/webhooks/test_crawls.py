"""What real crawls tell their webhooks: real receivers, real ends."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from crawling import crawl, scrapy, stats_of
from dashboards import Crawl
from fleet import fleet, web_of
from localweb import Answer, LocalWeb, linked
from redis_servers import server
from waiting import PATIENCE, until

SECRET = "k" * 20


class Receiver(LocalWeb):
    """Takes whatever it is told."""

    def __init__(self) -> None:
        super().__init__(lambda path, host: "ok")

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(hit.body) for hit in self.hits]

    @property
    def events(self) -> list[str]:
        return [one["event"] for one in self.told]

    def first(self, event: str) -> dict[str, Any]:
        """The first of these, as soon as it has come."""
        return until(
            lambda: next((one for one in self.told if one["event"] == event), None), lambda: f"{event} in {self.told}"
        )


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as started:
        yield started


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a", "/gone"), "/a": linked("/")}) as served:
        yield served


def hooks(receiver: LocalWeb, **fields: object) -> str:
    return json.dumps([{"url": f"{receiver.root}/", **fields}])


def test_start_and_end(web: LocalWeb, receiver: Receiver, tmp_path: Path) -> None:
    """Which crawl it is, what came of it, and how it ended, before the process does; then, that it goes on."""
    (tmp_path / "key").write_text(SECRET)
    words = {
        "SITECRAWL_WEBHOOKS": hooks(receiver, secret=f"@{tmp_path / 'key'}"),
        "STATS_DUMP": True,
        "LOG_LEVEL": "INFO",
    }
    done = crawl(web.root, tmp_path / "job", **words)
    assert done.returncode == 0, done.stderr
    start, end = receiver.told
    assert (start["event"], start["crawl"], start["spider"], start["worker"]) == ("start", "job", "generic", None)
    assert (start["resumed"], start["previous"]) == (False, None)
    assert (end["event"], end["reason"], end["no_page"]) == ("end", "finished", False)
    assert end["text"].startswith("The crawl job ended with 1 known URL not fetched") or "finished" in end["text"]
    assert end["figures"]["statuses"] == {"200": 2, "404": 1}
    assert end["figures"]["errors"] == 1
    assert end["figures"]["crawl"]["fetched"] == 3
    assert all("webhook-signature" in hit.headers for hit in receiver.hits)
    assert stats_of(done.stderr)["webhooks/sent"] == 2
    assert SECRET not in done.stderr
    crawl(web.root, tmp_path / "job", SITECRAWL_WEBHOOKS=receiver.root)
    assert (receiver.told[2]["resumed"], receiver.told[2]["previous"]) == (True, "finished")


def test_no_page(receiver: Receiver, tmp_path: Path) -> None:
    """A crawl that came to nothing says so, and why."""
    with LocalWeb({}) as web:
        crawl(web.root, tmp_path / "job", SITECRAWL_WEBHOOKS=receiver.root)
    end = receiver.told[-1]
    assert end["no_page"] is True
    assert end["causes"] == [{"why": "answers 404 Not Found", "hosts": 1}]
    assert "fetched no page" in end["text"]


def test_a_receiver_that_is_down(web: LocalWeb, tmp_path: Path) -> None:
    """The crawl is as it would be without it, and its log has a line."""
    with Receiver() as gone:
        pass
    done = crawl(web.root, tmp_path / "job", SITECRAWL_WEBHOOKS=f"{gone.root}/hidden")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("was not told") == 1
    assert "hidden" not in done.stderr.partition("resume")[0]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("setting", ["gopher://x/", '[{"url": "http://x/", "event": "end"}]'])
def test_a_setting_of_no_use(setting: str, tmp_path: Path) -> None:
    """One line, before anything is fetched."""
    done = crawl("http://127.0.0.1:1", tmp_path / "job", SITECRAWL_WEBHOOKS=setting)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "SITECRAWL_WEBHOOKS" in line


def test_a_look_is_nobodys_news(web: LocalWeb, receiver: Receiver) -> None:
    """`scrapy fetch` is no crawl."""
    assert scrapy("fetch", f"{web.root}/", settings={"SITECRAWL_WEBHOOKS": receiver.root}).returncode == 0
    assert receiver.hits == []


class Gated(LocalWeb):
    """An endless site whose pages come while the gate is open."""

    def __init__(self) -> None:
        self.gate = Event()
        super().__init__(self._page)

    def _page(self, path: str, host: str) -> Answer | str | None:
        if path == "/robots.txt":
            return None
        if path != "/":
            self.gate.wait(PATIENCE)
        number = int(path.strip("/") or "0")
        return linked(f"/{number + 1}")


@pytest.fixture
def gated() -> Iterator[Gated]:
    with Gated() as served:
        yield served
        served.gate.set()


QUICK = {"_STALL": 1.5, "_HEARTBEAT": 1.0}
"""Seconds."""


def responses_at(receiver: Receiver, event: str) -> int | None:
    """How many responses there were when it was told last."""
    told = [one["figures"]["responses"] for one in receiver.told if one["event"] == event]
    return told[-1] if told else None


@pytest.mark.deep
def test_stall_and_kill(gated: Gated, receiver: Receiver, tmp_path: Path) -> None:
    """A stall is told once, and its end; signs of life come meanwhile. After a kill the next start tells of it."""
    every = ["start", "end", "stall", "resumed", "heartbeat"]
    settings: dict[str, Any] = {
        "SITECRAWL_WEBHOOKS": hooks(receiver, events=every),
        "LIMITS": {f"sitecrawl.plugins.webhooks.extension.{name}": value for name, value in QUICK.items()},
        "SITECRAWL_HOLD_TRAPS": False,  # its pages say nothing, and the crawl would end before it is killed
    }  # fmt: skip
    with Crawl(gated.root, tmp_path / "job", **settings) as first:
        until(
            lambda: responses_at(receiver, "stall") == 1, "a stall after the first page"
        )  # a slow start may be one, too
        assert receiver.first("stall")["lasts"] >= 1.5
        gated.gate.set()
        assert receiver.first("resumed")["lasts"] >= 1.5
        until(lambda: receiver.events.count("heartbeat") > 2, "signs of life")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(PATIENCE)
    turns = [event for event in receiver.events if event in {"stall", "resumed"}]
    assert turns == [("stall", "resumed")[number % 2] for number in range(len(turns))]
    assert "end" not in receiver.events
    with Crawl(gated.root, tmp_path / "job", **settings) as second:
        again = until(lambda: [one for one in receiver.told if one["event"] == "start"][1:], "another start")
        assert (again[0]["resumed"], again[0]["previous"]) == (True, "killed")
        second.process.send_signal(signal.SIGINT)
        assert receiver.first("end")["reason"] == "shutdown"
        second.end()


def site(is_bad: Callable[[int], bool]) -> LocalWeb:
    def answer(path: str, host: str) -> Answer | str | None:
        number = int(path.strip("/")) if path.strip("/").isdigit() else 0
        if path == "/robots.txt":
            return None
        return Answer(status=500) if is_bad(number) else linked(*(f"/{n}" for n in range(1, 60)))

    return LocalWeb(answer)


def test_errors(receiver: Receiver, tmp_path: Path) -> None:
    """Where more than the threshold goes wrong, it is told once."""
    with site(lambda number: number > 0) as web:
        crawl(
            web.root,
            tmp_path / "job",
            SITECRAWL_WEBHOOKS=receiver.root,
            RETRY_ENABLED=False,
            SITECRAWL_FAILURE_DELAY=0,
        )
    assert receiver.events == ["start", "errors", "end"]
    errors = receiver.told[1]
    assert errors["share"] > 0.5
    assert errors["errors"] <= errors["attempts"]


@pytest.mark.deep
def test_on_a_cluster(receiver: Receiver, tmp_path: Path) -> None:
    """However many workers there are, the crawl starts once and ends once; heartbeats are each worker's."""
    every = ["start", "end", "heartbeat"]
    with web_of(60) as web, server() as redis:
        settings = {"SITECRAWL_WEBHOOKS": hooks(receiver, events=every), "SITECRAWL_CLUSTER_CRAWL": "shared"}
        with fleet(tmp_path, 2, web.url(0), redis.url, **settings) as workers:
            assert [worker.wait() for worker in workers] == [0, 0], [worker.log for worker in workers]
    assert [event for event in receiver.events if event != "heartbeat"] == ["start", "end"]
    assert {one["crawl"] for one in receiver.told} == {"shared"}
    assert len({one["worker"] for one in receiver.told if one["event"] == "heartbeat"}) == 2
    assert receiver.told[-1]["event"] == "end"
