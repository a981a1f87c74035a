"""A crawl with a store elsewhere: what is there when it has ended, whatever happened meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import crawl
from localweb import LocalWeb, Page, linked
from s3_server import S3, SECRET, s3_server

from sitecrawl.pagestore import PageReader

SMALL = 2_000
"""Bytes of a WARC file: two or three pages."""


def site(path: str, host: str) -> Page | None:
    number = path.strip("/") or "0"
    if not number.isdigit() or int(number) >= 30:
        return None
    return linked(f"/{2 * int(number) + 1}", f"/{2 * int(number) + 2}", title=number)


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site) as served:
        yield served


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3]:
    with s3_server(tmp_path) as server:
        yield server


def files_of(job: Path) -> dict[str, bytes]:
    return {f"warc/{file.name}": file.read_bytes() for file in (job / "warc").iterdir()}


def fetched(s3: S3, folder: Path, prefix: str = "crawls/job/") -> Path:
    """What is in the bucket, as files."""
    for key, data in s3.objects().items():
        path = folder / key.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_the_store_has_what_is_here(web: LocalWeb, s3: S3, tmp_path: Path) -> None:
    """Every WARC file byte by byte, each sent once; and an index by which all of it can be read without the rest."""
    done = crawl(web.root, tmp_path / "job", SITECRAWL_WARC_SIZE=SMALL, **s3.settings())
    assert done.returncode == 0, done.stderr
    here = files_of(tmp_path / "job")
    assert len(here) > 5
    there = {key.removeprefix("crawls/job/"): data for key, data in s3.objects().items()}
    assert {name: data for name, data in there.items() if name.startswith("warc/")} == here
    assert there.keys() - here.keys() == {"pages.sqlite", "sitecrawl.json"}
    assert set(s3.written().values()) == {1}
    copy = fetched(s3, tmp_path / "copy")
    with PageReader(copy) as theirs, PageReader(tmp_path / "job") as ours:
        assert [theirs.read(one).body for one in theirs.pages()] == [ours.read(one).body for one in ours.pages()]
    assert f"{len(here)} WARC files at s3://pages/crawls/job" in done.stderr
    assert SECRET not in done.stderr
