"""The scheduler across stops and kills: an ordinary spider's requests, callbacks and state come back."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import forks
import pytest
from crawling import HELPERS, environment, with_settings
from localweb import LocalWeb, linked
from waiting import PATIENCE, until

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.requests import unpack
from sitecrawl.crawldir.database import Database

PAGES = 40
SPIDERS = HELPERS / "spiders" / "graph.py"


def graph() -> dict[str, str]:
    """Pages that link to one another several times over."""
    return {f"/{n}": linked(*(f"/{(n * k + 1) % PAGES}" for k in (1, 2, 3))) for n in range(PAGES)}


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    pages = graph()
    with LocalWeb(lambda path, host: pages.get(path.partition("?")[0])) as served:
        yield served


EXPECTED = {f"/{n}{form}" for n in range(PAGES) for form in ("", "?form")}


class Crawl:
    """Runs of one spider on one JOBDIR, each with a feed of its own."""

    def __init__(self, folder: Path, web: LocalWeb, *, file: Path = SPIDERS) -> None:
        self.folder = folder
        self.web = web
        self.file = file
        self.runs = 0

    def start(self, **settings: object) -> forks.Fork:
        self.runs += 1
        words = ("runspider", str(self.file), "-a", f"root={self.web.root}", "-o", f"{self._run}.jsonl")
        given = with_settings(*words, settings={"JOBDIR": self.folder / "job", **settings})
        return forks.start(given, environment(), self._run.with_suffix(".log"))

    def ended(self, process: forks.Fork) -> str:
        """Wait for the end of the last run; returns its log."""
        process.wait(PATIENCE)
        return self._run.with_suffix(".log").read_text()

    @property
    def _run(self) -> Path:
        """What the names of the last run's files begin with."""
        return self.folder / str(self.runs)

    def run(self, **settings: object) -> str:
        """Run to the end; returns the log."""
        process = self.start(**settings)
        log = self.ended(process)
        assert process.returncode == 0, log
        assert "Traceback" not in log, log
        return log

    def interrupt(self, number: signal.Signals, hits: int) -> str:
        """Run until the server has had `hits` more requests, then send the signal; returns the log."""
        before = len(self.web.hits)
        process = self.start(SITECRAWL_SEEN_CACHE=1)
        until(lambda: len(self.web.hits) >= before + hits, f"{hits} requests")
        process.send_signal(number)
        return self.ended(process)

    def items(self) -> Counter[str]:
        feeds = [feed for feed in self.folder.glob("*.jsonl") if feed.exists()]
        lines = [line for feed in feeds for line in feed.read_text().splitlines() if line.endswith("}")]
        return Counter(json.loads(line)["path"] for line in lines)

    def fetched(self) -> Counter[str]:
        return Counter(self.web.paths())


def test_a_stopped_crawl_goes_on_where_it_was(tmp_path: Path, web: LocalWeb) -> None:
    """Stopped by SIGTERM and by SIGINT, the three runs are one crawl: every request once, every item once."""
    crawl = Crawl(tmp_path, web)
    for number in (signal.SIGTERM, signal.SIGINT):
        assert "(shutdown)" in crawl.interrupt(number, 15)
    log = crawl.run()
    assert crawl.items() == dict.fromkeys(EXPECTED, 1)
    assert crawl.fetched() == dict.fromkeys(EXPECTED, 1)
    assert re.search(r"Resuming .*: \d+ URLs wait", log)
    assert "(finished)" in log


@pytest.mark.parametrize("setting", ["CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_PAGECOUNT"])
def test_closespider_ends_a_run_and_not_the_crawl(tmp_path: Path, web: LocalWeb, setting: str) -> None:
    """Scrapy's limits stop the run with their own reason; the next one brings the rest, nothing twice."""
    crawl = Crawl(tmp_path, web)
    assert f"({setting.lower()})" in crawl.run(**{setting: 20})
    assert 20 <= crawl.items().total() < len(EXPECTED)
    crawl.run()
    assert crawl.items() == dict.fromkeys(EXPECTED, 1)


def test_a_killed_crawl_loses_no_request(tmp_path: Path, web: LocalWeb) -> None:
    """After two SIGKILLs every request has been made and every callback has run, few of them twice."""
    crawl = Crawl(tmp_path, web)
    for _ in range(2):
        crawl.interrupt(signal.SIGKILL, 25)
    crawl.run()
    assert crawl.fetched().keys() == EXPECTED
    fetched = crawl.fetched()
    assert fetched.total() < 2 * len(EXPECTED)


def test_the_state_of_a_spider_is_kept(tmp_path: Path, web: LocalWeb) -> None:
    """`self.state` is what it was when the crawl was stopped, and never more than a checkpoint old."""
    crawl = Crawl(tmp_path, web)
    for number in (signal.SIGTERM, signal.SIGKILL):
        crawl.interrupt(number, 25)
    crawl.run()
    with closing(Database(tmp_path / "job" / "db", hash_name=HASH_NAME)) as database:
        state = unpack(database.get("meta", b"spider-state") or b"")
    assert state == {"pages": PAGES}


def test_a_stored_callback_that_is_gone_stops_the_crawl(tmp_path: Path, web: LocalWeb) -> None:
    """Renaming a callback between two runs loses no request: the crawl names it, and goes on with a better spider."""
    Crawl(tmp_path, web).interrupt(signal.SIGTERM, 10)
    changed = tmp_path / "changed.py"
    changed.write_text(SPIDERS.read_text().replace("self.form", "self.filled").replace("def form", "def filled"))
    broken = Crawl(tmp_path, web, file=changed)
    log = broken.ended(broken.start())
    assert "has no attribute 'form'" in log
    assert "(storage_error)" in log
    assert "Traceback" not in log
    better = tmp_path / "better.py"  # the broken one may have stored requests of its own
    both = "def filled(self, response):\n        yield from self.form(response)\n\n    def form"
    better.write_text(SPIDERS.read_text().replace("def form", both))
    crawl = Crawl(tmp_path, web, file=better)
    crawl.runs = 10
    crawl.run()
    assert crawl.fetched().keys() == EXPECTED
