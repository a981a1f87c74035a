"""A small site, and crawls of it in every phase of their lives: what an attack damages."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from crawling import environment
from forks import Fork, start
from localweb import Answer, LocalWeb, linked
from waiting import until

PAGES: Final = 60
SETTINGS: Final = {
    "SITECRAWL_DELAY_FACTOR": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    "SITECRAWL_DASHBOARD": False,
    "TELNETCONSOLE_ENABLED": False,
    "CLOSESPIDER_TIMEOUT": 60,
    "LOG_LEVEL": "INFO",
}


class Site(LocalWeb):
    """Every page leads to two others, so that all are found; some have the same body, some are redirects."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(self._page, port=port)
        vars(self._server)["handle_error"] = lambda *_: None  # a crawl that is killed leaves its connections
        self.latency = 0.0
        """Seconds that each page takes."""

    def _page(self, path: str, host: str) -> Answer | str | None:
        time.sleep(self.latency)
        name = path.removeprefix("/")
        if name.startswith("old"):
            return Answer(status=301, headers={"Location": f"/{name.removeprefix('old')}"})
        return self.body(int(name)) if name.isdigit() and int(name) < PAGES else None

    @staticmethod
    def body(number: int) -> str:
        """What the page of that number says. Every third link of the tree leads over a redirect."""
        children = [child for child in (2 * number + 1, 2 * number + 2) if child < PAGES]
        links = [f"/old{child}" if child % 3 == 0 else f"/{child}" for child in children]
        if not children and number % 5 == 0:
            return linked("/1", title="again")
        words = " ".join(str(hash((number, word))) for word in range(40))
        return linked(*links, f"/{number // 2}", f"/missing{number % 7}", title=f"page {number}: {words}")

    def urls(self) -> set[str]:
        return {f"{self.root}/{number}" for number in range(PAGES)}


@dataclass
class Ended:
    code: int
    log: str


class Forks:
    """Crawls, each in a process of its own, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self._fork: Fork | None = None

    def start(self, seeds: str, job: Path, *words: str, **settings: object) -> int:
        """The process id of a crawl that begins now; `end` waits for it."""
        options = {**SETTINGS, **settings, "JOBDIR": job}
        named = [part for name, value in options.items() for part in ("-s", f"{name}={value}")]
        self._log.unlink(missing_ok=True)
        self._fork = start(["crawl", "generic", "-a", f"seeds={seeds}", *words, *named], environment(), self._log)
        return self._fork.pid

    def end(self) -> Ended:
        assert self._fork is not None
        return Ended(self._fork.wait(), self._log.read_text(errors="replace"))

    def close(self) -> None:
        if self._fork is not None:
            self._fork.wait()


@dataclass
class Range:
    """Where attacks are made: the site, the forks and one directory for each phase."""

    site: Site
    forks: Forks
    folder: Path
    kept: Path | None = None
    """Where the crawls of an earlier range are, or are to be left."""
    phases: dict[str, Path] = field(default_factory=dict)

    def crawl(self, job: Path, *words: str, **settings: object) -> Ended:
        """To its end."""
        self.forks.start(f"{self.site.root}/0", job, *words, **settings)
        return self.forks.end()

    def killed(self, job: Path, when: Callable[[Path], bool], *words: str, **settings: object) -> None:
        """Killed as soon as `when` is true of its directory."""
        self.site.latency = 0.0 if words else 0.06
        process = self.forks.start(f"{self.site.root}/0", job, *words, **settings)
        try:
            until(lambda: when(job), "the crawl has come as far as it is to be killed")
        finally:
            os.kill(process, signal.SIGKILL)
            self.forks.end()
            self.site.latency = 0.0

    def begin(self, phase: str) -> None:
        """Make the crawl of a phase, or take the one that was kept."""
        job = self.phases[phase] = (self.kept or self.folder) / phase
        if not job.exists():
            made = self.folder / f"{phase}.made"
            PHASES[phase](self, made)
            shutil.move(made, job)


def _stored(job: Path) -> int:
    """Captures that the page index's last checkpoint counts."""
    file = job / "pages.sqlite"
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as index:
        (number,) = index.execute("SELECT last_id FROM checkpoint").fetchone()
    return int(number)


def _young(at: Range, job: Path) -> None:
    """All rows are in the log, and there are no tables."""
    at.killed(job, lambda job: _stored(job) > 0 and (job / "db" / "CURRENT").exists())
    assert not list(job.glob("db/*.sst"))


def _half(at: Range, job: Path) -> None:
    """Tables, and a log beside them."""
    at.crawl(job, "-a", "max_pages=20")
    before = _stored(job)
    at.killed(job, lambda job: _stored(job) > before)


def _paused(at: Range, job: Path) -> None:
    at.crawl(job, "-a", "max_pages=35")


def _finished(at: Range, job: Path) -> None:
    at.crawl(job)


def _rotated(at: Range, job: Path) -> None:
    """Many WARC files."""
    at.crawl(job, "-a", "max_pages=40", SITECRAWL_WARC_SIZE=9_000)
    assert len(list(job.glob("warc/*"))) > 3


def _recrawled(at: Range, job: Path) -> None:
    """Some pages have been fetched more often than once."""
    fast = {"SITECRAWL_RECRAWL_MIN_INTERVAL": 0.5, "SITECRAWL_RECRAWL_MAX_INTERVAL": 1.0}
    at.killed(job, lambda job: _stored(job) > 2 * PAGES, "-a", "recrawl=1", **fast)


PHASES: Final[dict[str, Callable[[Range, Path], None]]] = {
    "young": _young,
    "half": _half,
    "paused": _paused,
    "finished": _finished,
    "rotated": _rotated,
    "recrawled": _recrawled,
}


@contextmanager
def range_in(folder: Path, kept: Path | None = None) -> Iterator[Range]:
    """A site and its forks; `begin` the phases. Their crawls stay in `kept`, with the port of the site."""
    port = kept / "port" if kept is not None else None
    with Site(int(port.read_text()) if port is not None and port.exists() else 0) as site:
        if port is not None and not port.exists():
            port.parent.mkdir(parents=True, exist_ok=True)
            port.write_text(str(site.port))
        folder.mkdir(parents=True, exist_ok=True)
        forks = Forks(folder)
        try:
            yield Range(site, forks, folder, kept)
        finally:
            forks.close()
            shutil.rmtree(folder, ignore_errors=True)
