"""A crawl that is told to stop: once, it ends cleanly and soon; twice, at once. Both times nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, environment, scrapy, scrapy_command, states_of
from localweb import LocalWeb, Page, linked
from waiting import FOREVER, PATIENCE, until

from sitecrawl.frontier.urls.record import UrlState

PAGES = 60


class HangingWeb:
    """A site whose page `/hangs` does not answer before `released` is set."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return None
        if path == "/hangs":
            self.released.wait(FOREVER)
            return "there it is"
        number = int(path.strip("/") or 0)
        time.sleep(0.02)
        return linked("/hangs", *(f"/{n}" for n in (2 * number + 1, 2 * number + 2) if n < PAGES))


@pytest.fixture
def pages() -> HangingWeb:
    return HangingWeb()


@pytest.fixture
def web(pages: HangingWeb) -> Iterator[LocalWeb]:
    with LocalWeb(pages) as served:
        yield served
        pages.released.set()


def start(web: LocalWeb, folder: Path, **more: object) -> subprocess.Popen[str]:
    settings = {
        "SITECRAWL_DELAY_FACTOR": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "SITECRAWL_MAX_IDLE_TIME": 0,
        "DOWNLOAD_TIMEOUT": FOREVER,
        "JOBDIR": folder / "job",
        **more,
    }
    command = scrapy_command("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings)
    return subprocess.Popen(
        command, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def wait_for_hits(web: LocalWeb, count: int) -> None:
    until(lambda: len(web.paths()) >= count, f"{count} requests")


def stored(folder: Path) -> Counter[str]:
    listed = scrapy("pages", "-d", str(folder / "job"), "--format", "urls")
    assert listed.returncode == 0, listed.stderr
    return Counter(line.rpartition("/")[2] for line in listed.stdout.split() if "robots.txt" not in line)


def finish(web: LocalWeb, pages: HangingWeb, folder: Path) -> None:
    """Resume, now that nothing hangs, and find every page stored once."""
    pages.released.set()
    process = start(web, folder)
    log = process.communicate(timeout=PATIENCE)[0]
    assert "finished" in log, log
    assert set(states_of(folder / "job").values()) == {UrlState.FETCHED}
    assert stored(folder) == dict.fromkeys(["", "hangs", *map(str, range(1, PAGES))], 1)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.deep)])
def test_one_signal_ends_the_crawl_although_a_host_hangs(
    web: LocalWeb, pages: HangingWeb, tmp_path: Path, number: signal.Signals
) -> None:
    """Downloads have a few seconds left; what is cut off then waits for the next run, which is told how."""
    process = start(web, tmp_path)
    wait_for_hits(web, 20)
    process.send_signal(number)
    log = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 0, log
    assert "The crawl was interrupted." in log
    assert f"JOBDIR={tmp_path / 'job'}" in log
    assert "Traceback" not in log
    assert not pages.released.is_set()
    assert states_of(tmp_path / "job")[f"{web.root}/hangs"] == UrlState.QUEUED
    finish(web, pages, tmp_path)


@pytest.mark.deep
def test_one_signal_ends_a_pause(web: LocalWeb, pages: HangingWeb, tmp_path: Path) -> None:
    """A page that waits for the pause after its host's robots.txt is left to the next run at once."""
    process = start(web, tmp_path, DOWNLOAD_DELAY=FOREVER)
    until(lambda: any(hit.path == "/robots.txt" for hit in web.hits), "the request for robots.txt")
    process.send_signal(signal.SIGTERM)
    log = process.communicate(timeout=PATIENCE)[0]
    assert "was interrupted." in log
    assert "Traceback" not in log
    assert not web.paths()
    finish(web, pages, tmp_path)


@pytest.mark.deep
def test_two_signals_end_the_crawl_at_once(web: LocalWeb, pages: HangingWeb, tmp_path: Path) -> None:
    """The last checkpoint counts, and nothing is lost or stored twice."""
    process = start(web, tmp_path, LOG_LEVEL="INFO")
    wait_for_hits(web, 25)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert any("Send again to force" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert not pages.released.is_set()
    finish(web, pages, tmp_path)


@pytest.mark.deep
def test_a_third_signal_changes_nothing(web: LocalWeb, pages: HangingWeb, tmp_path: Path) -> None:
    """Whoever leans on Ctrl-C gets an end, and a crawl that can be resumed."""
    process = start(web, tmp_path)
    wait_for_hits(web, 25)

    def leaned_on() -> bool:
        process.send_signal(signal.SIGINT)  # to nobody, once it has ended
        return process.poll() is not None

    until(leaned_on, "the end of the crawl")
    process.communicate()
    finish(web, pages, tmp_path)
