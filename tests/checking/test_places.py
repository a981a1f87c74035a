"""Files of a crawl that have changed places with one another."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from pagestore_helpers import exchange, page

from sitecrawl.checking.places import check_places, exchanged, finish_exchange, put_back
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory, keep_copy
from sitecrawl.pagestore import WarcStore
from sitecrawl.seen.bloom import ScalableBloom
from sitecrawl.seen.bloom_kinds import kind_named
from sitecrawl.urls.fingerprint import HASH_NAME

KILLED = """
import os, sys
from pathlib import Path
from sitecrawl.checking import places

steps = int(sys.argv[2])

def counted(call):
    def after(*arguments):
        global steps
        done = call(*arguments)
        steps -= 1
        if not steps:
            os.kill(os.getpid(), 9)
        return done
    return after

os.link, Path.replace, Path.rename = map(counted, (os.link, Path.replace, Path.rename))
places.put_back(Path(sys.argv[1]))
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A file of each kind: a manifest, a log and a table, a page index with its WARC file, a Bloom filter."""
    directory = CrawlDirectory(tmp_path / "job", "any")
    for _ in range(2):  # the second opening makes tables of the first one's log
        with closing(Database(directory.database, hash_name=HASH_NAME)) as database:
            keep_copy(database, directory)
            batch = database.batch()
            batch.put("urls", b"key", b"value")
            database.write(batch)
    store = WarcStore(directory.path)
    store.put(of := exchange(), page(of))
    store.checkpoint()
    store.close()
    bloom = ScalableBloom(kind_named("pybloom-live"), capacity=1_000, error_rate=0.01)
    bloom.save(directory.path / "seen.bloom", HASH_NAME)
    return directory.path


def content(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def swap(directory: Path, *patterns: str) -> None:
    one, other = (max(directory.glob(pattern)) for pattern in patterns)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


PAIRS = [
    ("crawl.json", "db/*.log"),
    ("crawl.json", "seen.bloom"),
    ("crawl.json", "warc/*"),
    ("pages.sqlite", "db/*.log"),
    ("pages.sqlite", "db/*.sst"),
    ("warc/*", "db/*.sst"),
    ("warc/*", "db/CURRENT"),
    ("seen.bloom", "db/MANIFEST-*"),
    ("db/IDENTITY", "db/*.sst"),
]


def test_a_sound_crawl(job: Path) -> None:
    """All files are where they belong."""
    assert list(job.glob("db/*.sst"))
    assert not list(check_places(job))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_two_that_have_changed_places(pair: tuple[str, str], job: Path) -> None:
    """The check names both, and the repair puts both back."""
    if "sst" in pair[1]:
        for table in sorted(job.glob("db/*.sst"))[1:]:
            table.unlink()
    before = content(job)
    swap(job, *pair)
    (problem,) = check_places(job)
    assert "it has changed places with" in str(problem)
    put_back(job)
    assert content(job) == before
    assert not list(check_places(job))


def test_two_pairs(job: Path) -> None:
    """Each finds its own."""
    before = content(job)
    swap(job, "crawl.json", "db/*.log")
    swap(job, "pages.sqlite", "db/CURRENT")
    put_back(job)
    assert content(job) == before


def test_what_somebody_has_put_beside_stays_there(job: Path) -> None:
    """A copy takes no damaged file's place by itself, nor does a file that is no crawl's."""
    (job / "pages.sqlite.bak").write_bytes((job / "pages.sqlite").read_bytes())
    (job / "warc" / "index").write_bytes((job / "pages.sqlite").read_bytes())
    (job / "pages.sqlite").write_bytes(b"damaged")
    assert not list(exchanged(job))


def test_a_file_that_is_only_damaged(job: Path) -> None:
    """No other one takes its place."""
    for name in ("crawl.json", "seen.bloom", "pages.sqlite"):
        (job / name).write_bytes(b"")
    assert not list(exchanged(job))


@pytest.mark.parametrize("step", [1, 2, 3])
def test_killed_while_they_are_put_back(step: int, job: Path) -> None:
    """The next repair finishes it."""
    before = content(job)
    swap(job, "crawl.json", "db/*.log")
    words = [sys.executable, "-c", KILLED, str(job), str(step)]
    killed = subprocess.run(words, cwd=PROJECT, env=environment(), check=False)
    assert killed.returncode == -signal.SIGKILL
    finish_exchange(job)
    put_back(job)
    assert content(job) == before
    assert (job / "crawl.json").stat().st_nlink == 1
