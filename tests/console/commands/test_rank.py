"""`scrapy rank` on real crawls, at work and finished."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from console import command
from crawling import PROJECT, crawl, environment, scrapy, scrapy_command
from localweb import LocalWeb, linked

PAGES = {
    "/": linked("/star", "/a", "/b", "/gone", "/evil&#27;[2J&#x202e;"),
    "/a": linked("/star", "/"),
    "/b": linked("/star", "/deep"),
    "/star": linked("/a"),
    "/deep": linked("/star"),
}


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(PAGES) as served:
        yield served


@pytest.fixture(scope="module")
def job(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ranked") / "job"
    done = crawl(web.root, directory, order="bfs")
    assert done.returncode == 0, done.stderr
    return directory


def rank(directory: Path, *words: str) -> str:
    done = command("rank", "-d", str(directory), *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_table(job, web):
    """What most pages link to comes first, with importance, depth, status and state."""
    header, first, *rest = rank(job).splitlines()
    assert header.split() == ["importance", "depth", "status", "state", "url"]
    assert first.split()[1:] == ["1", "200", "fetched", f"{web.root}/star"]
    assert len(rest) == 6
    assert any(line.split()[2:] == ["404", "fetched", f"{web.root}/gone"] for line in rest)


def test_hostile_urls(job):
    """A URL with control characters moves no cursor."""
    shown = rank(job)
    assert "/evil%1B" in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_formats_for_programs(job, name):
    """Each row has all fields, the greatest importance first, and the shares add up to one."""
    lines = rank(job, "--format", name).splitlines()
    rows = [json.loads(line) for line in lines] if name == "jsonl" else list(csv.DictReader(lines))
    assert list(rows[0]) == ["importance", "depth", "status", "state", "url"]
    shares = [float(row["importance"]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)


def test_limit(job):
    """--limit cuts the list."""
    assert (
        rank(job, "--limit", "2", "--format", "jsonl").splitlines()
        == (rank(job, "--format", "jsonl").splitlines()[:2])
    )


def test_sites(job, web):
    """--sites adds up what the URLs of a registrable domain have."""
    (row,) = [json.loads(line) for line in rank(job, "--sites", "--format", "jsonl").splitlines()]
    assert row == {
        "importance": pytest.approx(1), "pages": len(web.paths()), "known": len(web.paths()),
        "site": urlsplit(web.root).netloc,
    }  # fmt: skip
    assert rank(job, "--sites").splitlines()[0].split() == ["importance", "pages", "known", "site"]


@pytest.mark.deep
def test_a_crawl_at_work(web, tmp_path):
    """While the crawl holds its database, importance can be read, and grows."""
    directory = tmp_path / "job"
    words = scrapy_command(
        "crawl", "generic", "-a", f"seeds={web.root}", settings={"JOBDIR": directory, "DOWNLOAD_DELAY": 1}
    )
    with subprocess.Popen(words, cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL) as process:
        lines: list[str] = []
        while len(lines) < 3:
            assert process.poll() is None
            lines = command("rank", "-d", str(directory)).stdout.splitlines()
        assert process.poll() is None
        process.kill()
    assert all(web.root in line for line in lines[1:])


def test_the_newest_crawl(job, tmp_path):
    """Without -d it is the newest crawl below crawls/."""
    (tmp_path / "crawls").mkdir()
    (tmp_path / "crawls/mine").symlink_to(job)
    assert command("rank", cwd=tmp_path).stdout == rank(job)


def test_no_crawl():
    """A directory without a crawl is one line and exit code 1."""
    done = scrapy("rank", "-d", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "scrapy: nowhere holds no crawl: it has no crawl.json\n"


def test_a_corrupt_manifest(tmp_path):
    """Damage is one line and exit code 1."""
    (tmp_path / "crawl.json").write_text("{")
    done = command("rank", "-d", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "crawl.json cannot be read" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["extra"], ["--limit", "0"], ["--format", "xml"]])
def test_wrong_usage(words):
    """Arguments that make no sense end with exit code 2."""
    assert command("rank", *words).returncode == 2
