"""What `scrapy export` and `scrapy report` write to a URL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import crawl, scrapy
from localweb import LocalWeb, linked
from s3_server import S3, s3_server


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    job = tmp_path_factory.mktemp("crawl") / "job"
    with LocalWeb({"/": linked("/a", "/b"), "/a": "<title>a</title>", "/b": "<title>b</title>"}) as web:
        assert crawl(web.root, job).returncode == 0
    return job


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    """With a bucket that has nothing in it."""
    yield server
    server.faults(status=0)
    server.clear()


@pytest.mark.parametrize(
    ("words", "objects"),
    [
        (("export", "-o", "s3://pages/out/pages.jsonl"), {"out/pages.jsonl"}),
        (("export", "wacz", "-o", "s3://pages/crawl.wacz"), {"crawl.wacz"}),
        (("report", "-o", "s3://pages/report.html"), {"report.html"}),
    ],
)
def test_it_is_there(words: tuple[str, ...], objects: set[str], job: Path, s3: S3) -> None:
    """What a file here would have."""
    done = scrapy(*words, "-d", str(job), settings=s3.settings())
    assert done.returncode == 0, done.stderr
    assert s3.objects().keys() == objects
    assert words[-1] in done.stdout + done.stderr
    assert all(s3.objects().values())


@pytest.mark.deep
def test_whole_or_not_at_all(job: Path, s3: S3) -> None:
    """Of an export that fails nothing is there; and `--since last` gives its pages again."""
    words = ("export", "--since", "last", "-o", "s3://pages/pages.csv", "-d", str(job))
    s3.faults(status=403)
    failed = scrapy(*words, settings=s3.settings())
    assert failed.returncode == 1
    assert "credentials" in failed.stderr
    assert s3.objects() == {}
    s3.faults(status=0)
    done = scrapy(*words, settings=s3.settings())
    assert "3 pages are in s3://pages/pages.csv" in done.stderr
    assert scrapy(*words, settings=s3.settings()).stderr.count("0 pages") == 1


def test_no_name(job: Path, s3: S3) -> None:
    """A URL that ends in a slash names no file."""
    done = scrapy("report", "-o", "s3://pages/", "-d", str(job), settings=s3.settings())
    assert done.returncode == 1
    assert "the name of a file" in done.stderr
