"""A crawl that is killed while its files are on their way to a store elsewhere."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from killing import Sitecrawl, Web, run, start, web_of
from s3_server import S3, s3_server
from waiting import until

pytestmark = pytest.mark.deep

PAGES = 150
KILLS = 3
PLACE = "crawls/job/warc/"
SLOW = 0.02
"""Seconds for each half of a file: at most moments one is under way."""


def sent(s3: S3) -> dict[str, int]:
    """How often each WARC file was sent."""
    return {name: number for name, number in s3.written().items() if name.startswith(PLACE)}


def kill_after_uploads(crawler: Sitecrawl, web: Web, s3: S3, number: int) -> int:
    """Start, and kill when so many more files are in the store: before all are noted, and in the middle of the next.
    The exit code.
    """
    before = len(sent(s3))
    with start(crawler, web) as process:
        until(lambda: process.poll() is not None or len(sent(s3)) >= before + number, "files are sent")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode


def test_every_file_is_there_once(tmp_path: Path) -> None:
    """Killed between uploads and their notes, with uploads cut off by the store besides: in the end it has what is
    here, byte by byte, and none of it was sent twice.
    """
    with s3_server(tmp_path) as s3, web_of(PAGES, latency=0.005) as web:
        s3.faults(delay=SLOW, cut=2)
        crawler = Sitecrawl(tmp_path, settings={"SITECRAWL_WARC_SIZE": 8_000, **s3.settings()})
        codes = [kill_after_uploads(crawler, web, s3, number) for number in range(1, KILLS + 1)]
        assert codes == [-signal.SIGKILL] * KILLS
        code, log = run(crawler, web)
        assert code == 0, log
        there = {name.removeprefix(PLACE): data for name, data in s3.objects().items() if name.startswith(PLACE)}
        assert there == {file.name: file.read_bytes() for file in (crawler.job / "warc").iterdir()}
        assert set(sent(s3).values()) == {1}
        assert any(status == 0 for *_, status in s3.requests()), "no upload was cut off"
        assert {url for url, _ in crawler.pages()} == web.urls()
        assert len(list(crawler.pages())) == PAGES
