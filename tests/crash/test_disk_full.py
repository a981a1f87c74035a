"""A crawl that cannot write stops, says why, and goes on when it can."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from killing import Sitecrawl, Web, run, web_of
from waiting import PATIENCE

from sitecrawl.plugins.checking.crawl import check

PAGES = 400


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with web_of(PAGES) as served:
        yield served


def limited(crawler: Sitecrawl, web: Web, largest: int) -> tuple[int, str]:
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


def ends_complete(crawler: Sitecrawl, web: Web) -> None:
    assert [str(problem) for problem in check(crawler.job).problems] == []
    code, log = run(crawler, web)
    assert code == 0, log
    assert crawler.stored() == dict.fromkeys(web.urls(), 1)
    assert [str(problem) for problem in check(crawler.job).problems] == []


@pytest.mark.parametrize(
    ("settings", "largest", "culprit"),
    [
        pytest.param({}, 100_000, r"\.warc\.gz", id="WARC"),
        pytest.param(
            {"SITECRAWL_WARC_SIZE": 30_000}, 150_000, r"(pages\.sqlite|/db)", id="database", marks=pytest.mark.deep
        ),
    ],
)
def test_a_write_that_fails(
    settings: dict[str, object], largest: int, culprit: str, web: Web, tmp_path: Path
) -> None:
    """The crawl stops with exit code 1 and an error that names the file; without the limit it ends complete."""
    crawler = Sitecrawl(tmp_path, settings)
    code, log = limited(crawler, web, largest)
    assert code == 1
    errors = [line for line in log.splitlines() if "ERROR" in line or line.startswith("sitecrawl:")]
    assert any(re.search(culprit, line) for line in errors), log[-2000:]
    assert "Traceback" not in log
    ends_complete(crawler, web)


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
