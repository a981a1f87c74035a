"""A crawl that cannot begin says why in one line, asks nobody, and has an exit code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import crawl as crawl_generic
from crawling import scrapy
from localweb import LocalWeb

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.directory import FORMAT


@pytest.fixture(scope="module")
def untouched() -> Iterator[LocalWeb]:
    with LocalWeb({"/": ""}) as web:
        yield web
        assert web.hits == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-a", "scope=galaxy"], "There is no scope 'galaxy'"),
        (["-a", "max_pages=many"], "max_pages must be a whole number"),
        (["-a", "max_page=1"], "is max_pages meant?"),
        (["-a", "seeds=@/no/such/file"], "/no/such/file cannot be read"),
        (["-a", "seeds=no-such-file.txt"], "file of seeds no-such-file.txt cannot be read: No such file"),
        (["-a", "seeds="], "seeds is empty"),
        (["-s", "SITECRAWL_ORDER=random"], "has to be one of aopic, aopic-published, best, bfs, dfs"),
    ],
    ids=lambda value: value[1].partition(" ")[0] if isinstance(value, list) else "",
)
def test_arguments(untouched: LocalWeb, tmp_path: Path, words: list[str], said: str) -> None:
    """A wrong argument or setting."""
    done = scrapy("crawl", "generic", "-a", f"seeds={untouched.root}", *words, settings={"JOBDIR": tmp_path / "job"})
    refused(done, said, 1)


def refused(done: subprocess.CompletedProcess[str], said: str, code: int) -> None:
    assert said in done.stderr
    assert done.returncode == code
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_directories(untouched: LocalWeb, tmp_path: Path) -> None:
    """One of another spider, of another program, or of a newer version."""
    manifest = {"magic": "sitecrawl crawl", "format": FORMAT, "hash": HASH_NAME, "spider": "other", "created": 0.0}
    manifest["key"] = "00" * 16
    for name, change in (("spider", {}), ("newer", {"format": 99})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "crawl.json").write_text(json.dumps(manifest | change))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.txt").write_text("precious")
    for name, said in (
        ("spider", "holds a crawl of the spider 'other'"),
        ("newer", "has format 99"),
        ("foreign", "is not a crawl of sitecrawl: it holds thesis.txt"),
    ):
        refused(crawl_generic(untouched.root, tmp_path / name), said, 1)
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [(["genric"], "There is no spider 'genric'"), (["a", "b"], "Name one")],
)
def test_spiders(words: list[str], said: str) -> None:
    """An unknown spider, none, or two."""
    done = scrapy("crawl", *words)
    assert said in done.stderr + done.stdout
    assert done.returncode == 2


@pytest.mark.parametrize("name", [".", ".."])
def test_a_job_has_a_directory_of_its_own(tmp_path: Path, name: str) -> None:
    """scrapyd passes any name on: one that leads to the directory of all jobs is refused, and nothing is written."""
    words = ("-a", "seeds=http://127.0.0.1:9/", "-a", f"_job={name}")
    done = scrapy("crawl", "generic", *words, settings={"JOBDIR": tmp_path / "jobs" / "generic" / name})
    assert done.returncode == 1
    assert f"A job cannot be called '{name}'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [*tmp_path.iterdir()]
