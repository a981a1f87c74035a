"""A repair that is killed at each of its durable steps can be begun again, and ends as if it had not been."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crawling import crawl, states_of
from durable_steps import REPAIRS
from killing import command, killed_at
from localweb import LocalWeb, linked

from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.checking.crawl import check

PAGES = 24


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl that has ended: tables, several WARC files."""
    job = tmp_path_factory.mktemp("whole") / "job"
    site = {f"/{n or ''}": linked(f"/{2 * n + 1}", f"/{2 * n + 2}", title=str(n)) for n in range(PAGES)}
    with LocalWeb(site) as web:
        for pages in (PAGES // 2, 0):  # the second start makes tables of the log
            done = crawl(web.root, job, max_pages=pages, SITECRAWL_WARC_SIZE=6_000)
            assert done.returncode == 0, done.stderr
    return job


def without_manifest(job: Path) -> None:
    (job / "crawl.json").unlink()


def overwritten(file: Path) -> None:
    content = bytearray(file.read_bytes())
    half = len(content) // 2
    content[half : half + 20] = bytes(20)
    file.write_bytes(content)


def bad_store(job: Path) -> None:
    overwritten(min(job.glob("warc/*.gz")))


def bad_database(job: Path) -> None:
    file = next(job.glob("db/MANIFEST*"))
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a manifest that is lost": without_manifest,
    "a page store that is damaged": bad_store,
    "a database that is damaged": bad_database,
}


def stored(job: Path) -> list[str]:
    """The pages, each of which can be read back."""
    with PageReader(job) as reader:
        found = [capture for capture in reader.pages() if capture.kind == "page"]
        assert all(reader.read(capture).body for capture in found)
    return sorted(capture.url for capture in found)


@pytest.mark.parametrize("damage", REPAIRS)
def test_a_repair_that_is_killed(damage: str, whole: Path, tmp_path: Path) -> None:
    """Whatever it had done by then: the next one ends with what a repair that nobody disturbs ends with."""
    words, log = ["check-crawl", "--repair"], tmp_path / "log"
    ends = []
    for number, points in enumerate([(), *REPAIRS[damage]]):
        job = tmp_path / str(number)
        shutil.copytree(whole, job)
        DAMAGES[damage](job)
        for point in points:
            killed_at(point, [*words, str(job)], log)
        assert command([*words, str(job)], log) == 0, log.read_text()
        assert [str(problem) for problem in check(job).problems] == []
        ends.append((stored(job), states_of(job)))
        assert not [*job.rglob("*.new*"), *job.rglob("*.moving")]
    assert ends == ends[:1] * len(ends)
