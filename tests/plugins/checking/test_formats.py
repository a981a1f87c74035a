"""Crawls of other versions: refused as they are, or brought to this version's formats."""

from __future__ import annotations

import hashlib
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from console import command
from crawling import crawl
from localweb import LocalWeb, linked

from sitecrawl.pagestore import PageReader

STORED = Path(__file__).parent / "stored"
"""Small crawls, as earlier versions wrote them."""


def digests(directory: Path) -> dict[str, str]:
    """Of what a crawl has written; RocksDB writes a log of its own whenever it opens a database."""
    files = [path for path in directory.rglob("*") if path.is_file() and not path.name.startswith("LOG")]
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("how", [(), ("--repair",), ("--upgrade",)])
def test_a_crawl_of_0_2_0_is_refused_and_left_as_it_is(tmp_path: Path, how: tuple[str, ...]) -> None:
    """It is no damaged crawl of this version: its format is named, and a repair changes nothing."""
    with tarfile.open(STORED / "crawl-0.2.0.tar.gz") as stored:
        stored.extractall(tmp_path, filter="data")
    directory = tmp_path / "crawl-0.2.0"
    before = digests(directory)
    done = command("check-crawl", *how, str(directory))
    assert done.returncode == 2
    assert "is a crawl of another version: its database has format sitecrawl-db-" in done.stderr
    assert digests(directory) == before


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_page_index_is_made_again(tmp_path: Path, version: int) -> None:
    """Of the WARC files, so the crawl is sound afterwards, and lists the same pages."""
    job = tmp_path / "job"
    with LocalWeb(lambda path, host: linked("/a", "/b")) as web:
        crawl(f"{web.root}/", job)
    with PageReader(job) as reader:
        pages = [(one.kind, one.url, one.payload_size) for one in reader.captures()]
    with closing(sqlite3.connect(job / "pages.sqlite")) as index:
        index.execute(f"PRAGMA user_version = {version}")
        index.commit()
    done = command("check-crawl", "--upgrade", str(job))
    assert (done.returncode, "is sound" in done.stdout) == (0, True), done.stderr
    with PageReader(job) as reader:
        assert [(one.kind, one.url, one.payload_size) for one in reader.captures()] == pages
