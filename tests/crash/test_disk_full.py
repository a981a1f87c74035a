"""A crawl that cannot write stops, says why, and goes on when it can."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from crawling import PROJECT, environment
from killing import Sitecrawl, Web, run, web_of
from localweb import LocalWeb, linked
from waiting import PATIENCE

from sitecrawl.plugins.checking.crawl import check

PAGES = 400


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(PAGES) as served:
        yield served


def limited(crawler: Sitecrawl, web: Web | LargePages, largest: int) -> tuple[int, str]:
    """Run with no file larger than `largest` bytes: a write beyond fails with EFBIG."""
    done = subprocess.run(
        crawler.command(web.root),
        cwd=PROJECT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY)),
    )
    return done.returncode, done.stderr


def ends_complete(crawler: Sitecrawl, web: Web | LargePages) -> None:
    assert [str(problem) for problem in check(crawler.job).problems] == []
    code, log = run(crawler, web)
    assert code == 0, log
    assert crawler.stored() == dict.fromkeys(web.urls(), 1)
    assert [str(problem) for problem in check(crawler.job).problems] == []


def refused(crawler: Sitecrawl, web: Web | LargePages, largest: int, culprit: str) -> None:
    """The crawl stops with exit code 1 and an error that names the file; without the limit it ends complete."""
    code, log = limited(crawler, web, largest)
    assert code == 1
    errors = [line for line in log.splitlines() if "ERROR" in line or line.startswith("sitecrawl:")]
    assert any(re.search(culprit, line) for line in errors), log[-2000:]
    assert "Traceback" not in log
    ends_complete(crawler, web)


class LargePages(LocalWeb):
    """Each page alone is too large for a file of 100,000 bytes, which the database is not before there are many."""

    def __init__(self) -> None:
        noise = Random(1)
        self._numbers = range(3)
        super().__init__({f"/{n}": linked("/1", "/2", title=noise.randbytes(100_000).hex()) for n in self._numbers})

    def urls(self) -> set[str]:
        return {f"{self.root}/{number}" for number in self._numbers}


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    with LargePages() as web:
        refused(Sitecrawl(tmp_path), web, 100_000, r"\.warc\.gz")


@pytest.mark.deep
def test_a_database_that_cannot_be_written(web: Web, tmp_path: Path) -> None:
    refused(Sitecrawl(tmp_path, {"SITECRAWL_WARC_SIZE": 30_000}), web, 150_000, r"(pages\.sqlite|/db)")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.deep
def test_a_full_disk(small_disk: Path, web: Web) -> None:
    """The crawl stops and says that the disk is full; when there is space again it ends complete."""
    crawler = Sitecrawl(small_disk)
    code, log = run(crawler, web)
    assert code == 1
    assert "is full" in log, log[-2000:]
    assert "free some space" in log
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    ends_complete(crawler, web)
