"""`scrapy upload`, where it sends nothing; where it does: tests/plugins/remote/test_copy.py."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from console import command

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.directory import CrawlDirectory


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A crawl that has stored nothing."""
    job = CrawlDirectory(tmp_path / "job", "generic")
    with closing(Database(job.database, hash_name=HASH_NAME)) as database:
        batch = database.batch()
        batch.put("meta", b"outcomes", bytes(1_000))  # as much as a first checkpoint
        database.write(batch)
    return job.path


def test_without_a_store(job: Path) -> None:
    """It says which setting is missing."""
    done = command("upload", "-d", str(job))
    assert (done.returncode, "SITECRAWL_REMOTE" in done.stderr) == (1, True)


def test_a_crawl_that_has_stored_nothing(job: Path, tmp_path: Path) -> None:
    """There is nothing to send."""
    done = command("upload", "-d", str(job), "-s", f"SITECRAWL_REMOTE=file://{tmp_path}/store")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"0 WARC files at file://{tmp_path}/store/job; 0 files sent, 0 B now\n"


def test_a_crawl_that_runs(job: Path, tmp_path: Path) -> None:
    """It sends its files itself."""
    with closing(Database(job / "db", hash_name=HASH_NAME)):
        done = command("upload", "-d", str(job), "-s", f"SITECRAWL_REMOTE=file://{tmp_path}/store")
    assert (done.returncode, "another process" in done.stderr) == (1, True)


@pytest.mark.parametrize("words", [("-d", "{folder}/none"), ("-d", "{folder}"), ("more",)])
def test_what_is_no_crawl(words: tuple[str, ...], tmp_path: Path) -> None:
    """One line, no traceback, and no database is made there."""
    done = command("upload", *(word.format(folder=tmp_path) for word in words))
    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
