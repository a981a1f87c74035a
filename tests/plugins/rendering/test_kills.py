"""Kills of a crawl that renders, and of its browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from browsers import below, processes
from chromium import executable
from crawling import PROJECT, crawl, environment, scrapy, scrapy_command, stats_of
from localweb import LocalWeb, Page
from scripted_web import scripted
from waiting import PATIENCE, until

from sitecrawl.pagestore import PageReader

pytestmark = pytest.mark.deep

PAGES = 4
GRAPH = {"/": tuple(f"/{n}" for n in range(PAGES)), **{f"/{n}": ("/",) for n in range(PAGES)}}
SETTINGS = {
    "SITECRAWL_RENDER_WAIT": 2,
    "SITECRAWL_DASHBOARD": False,
    "SITECRAWL_DELAY_FACTOR": 0,
    "STATS_DUMP": True,
    "LOG_LEVEL": "INFO",
}


def counted(job: Path) -> Counter[tuple[str, str]]:
    reader = PageReader(job)
    found = Counter[tuple[str, str]]((capture.kind, capture.url) for capture in reader.captures())
    reader.close()
    return found


class Held(LocalWeb):
    """The site of `GRAPH`, of which one page is not built before `go_on` is set."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        pages = scripted(GRAPH)

        def answer(path: str, host: str) -> Page | None:
            if path == "/api/3" and not self.go_on.is_set():
                self.reached.set()
                self.go_on.wait(PATIENCE)
            return pages.get(path)

        super().__init__(answer)

    def command(self, job: Path) -> list[str]:
        words = ("crawl", "generic", "-a", f"seeds={self.root}", "-a", "render=1")
        return scrapy_command(*words, settings=SETTINGS | {"JOBDIR": job})


def test_a_crawl_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL leaves no process of the browser; the next run stores what is missing, each page and its DOM once."""
    executable()
    job = tmp_path / "job"
    with Held() as web:
        with subprocess.Popen(web.command(job), cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL) as process:
            assert web.reached.wait(PATIENCE), "the page that hangs was never shown"
            until(
                lambda: any("--type=renderer" in words for words in below(process.pid).values()), "a renderer's name"
            )
            started = {pid: words for pid, words in below(process.pid).items() if pid != process.pid}
            process.kill()
        until(lambda: not {pid for pid in started if pid in processes()}, "no process of the browser")
        web.go_on.set()
        done = crawl(web.root, job, render=1, **SETTINGS)
        assert done.returncode == 0, done.stderr
        root = web.root
    found = counted(job)
    for path in GRAPH:
        assert found["page", f"{root}{path}"] == found["rendered", f"urn:rendered:{root}{path}"] == 1
    assert scrapy("check-crawl", str(job)).returncode == 0


def test_a_group_that_is_stopped(tmp_path: Path) -> None:
    """SIGTERM to the crawl, its driver and its browser, as service managers send it: the summary is the last word."""
    executable()
    log = tmp_path / "log"
    with (
        Held() as web,
        log.open("w") as said,
        subprocess.Popen(
            web.command(tmp_path / "job"), cwd=PROJECT, env=environment(), stderr=said, start_new_session=True
        ) as run,
    ):
        assert web.reached.wait(PATIENCE), "the page that hangs was never shown"
        os.killpg(run.pid, signal.SIGTERM)
        web.go_on.set()
        assert run.wait(PATIENCE) == 0, log.read_text()
    assert "The crawl was interrupted" in log.read_text()
    assert "] ERROR:" not in log.read_text()


def test_a_browser_that_is_killed(tmp_path: Path) -> None:
    """It is started again, and the pages that it had are rendered then: none is lost, none taken as it came. The
    summary counts each once.
    """
    executable()
    job = tmp_path / "job"
    with Held() as web:
        log = tmp_path / "log"
        with (
            log.open("w") as errors,
            subprocess.Popen(web.command(job), cwd=PROJECT, env=environment(), stderr=errors) as run,
        ):
            assert web.reached.wait(PATIENCE), "the page that hangs was never shown"
            browsers = [pid for pid, words in below(run.pid).items() if "--remote-debugging" in words]
            for pid in browsers:
                if "--type=" not in processes().get(pid, (0, "--type="))[1]:
                    os.kill(pid, signal.SIGKILL)
            web.go_on.set()
            assert run.wait(PATIENCE) == 0, log.read_text()
        root = web.root
    found = counted(job)
    for path in GRAPH:
        assert found["page", f"{root}{path}"] == found["rendered", f"urn:rendered:{root}{path}"] == 1
    stats = stats_of(log.read_text())
    assert stats["rendering/restarts"] >= 1
    assert stats["rendering/lost"] >= 1
    assert {"rendering/failed", "rendering/given_up"}.isdisjoint(stats)
    assert re.search(rf"responses +{len(GRAPH)}  ", log.read_text())


class Killing(LocalWeb):
    """The site of `GRAPH`. As often as `kills` says of a path, whoever asks for it has its browser killed."""

    def __init__(self, kills: Mapping[str, int]) -> None:
        self.kills = Counter(kills)
        self.crawl = 0
        pages = scripted(GRAPH)

        def answer(path: str, host: str) -> Page | None:
            if self.kills[path] > 0:
                self.kills[path] -= 1
                for pid, words in below(self.crawl).items():
                    if "--remote-debugging" in words and "--type=" not in words:
                        os.kill(pid, signal.SIGKILL)
            return pages.get(path)

        super().__init__(answer)

    def run(self, job: Path, log: Path) -> str:
        words = ("crawl", "generic", "-a", f"seeds={self.root}", "-a", "render=1")
        command = scrapy_command(*words, settings=SETTINGS | {"JOBDIR": job, "CONCURRENT_REQUESTS_PER_DOMAIN": 4})
        with (
            log.open("w") as errors,
            subprocess.Popen(command, cwd=PROJECT, env=environment(), stderr=errors) as crawl,
        ):
            self.crawl = crawl.pid
            assert crawl.wait(PATIENCE) == 0, log.read_text()
        return log.read_text()


def test_a_browser_that_is_killed_again_and_again(tmp_path: Path) -> None:
    """A page under which it is killed five times is rendered all the same. One that has it killed each time is taken
    as it came, the summary says so, and the next run renders it.
    """
    executable()
    job, log = tmp_path / "job", tmp_path / "log"
    with Killing({"/api/": 5, "/api/3": 1000}) as web:
        said = web.run(job, log)
        found, last = counted(job), ("rendered", f"urn:rendered:{web.root}/3")
        assert found[last] == 0
        for path in GRAPH.keys() - {"/3"}:
            assert found["page", f"{web.root}{path}"] == found["rendered", f"urn:rendered:{web.root}{path}"] == 1
        assert stats_of(said)["rendering/given_up"] == 1
        assert (
            "unrendered               1  pages that could not be rendered, and were taken as they came: links" in said
        )
        web.kills.clear()
        again = web.run(job, log)
        assert "rendered                   1  pages" in again
        assert counted(job)[last] == 1
        assert "rendered" not in web.run(job, log)
    assert scrapy("check-crawl", str(job)).returncode == 0
