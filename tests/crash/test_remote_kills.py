"""A crawl that is killed while its files are on their way to a store elsewhere."""

from __future__ import annotations

from pathlib import Path
from random import Random

from killing import Sitecrawl, survive, web_of
from s3_server import s3_server

PAGES = 200
KILLS = 3
SLOW = 0.05
"""Seconds for each half of a file: uploads are under way at most moments."""


def test_every_file_is_there_once(tmp_path: Path) -> None:
    """Killed at random moments, with uploads cut off by the store besides: in the end it has what is here, byte by
    byte, and none of it was sent twice.
    """
    with s3_server(tmp_path) as s3, web_of(PAGES, latency=0.005) as web:
        s3.faults(delay=SLOW, cut=2)
        crawler = Sitecrawl(tmp_path, settings={"SITECRAWL_WARC_SIZE": 10_000, **s3.settings()})
        losses = survive(crawler, web, KILLS, Random(7), longest=2.5)
        assert losses.kills >= KILLS - 1
        assert (losses.lost, losses.twice, losses.error) == (0, 0, "")
        place = "crawls/job/warc/"
        there = {name.removeprefix(place): data for name, data in s3.objects().items() if name.startswith(place)}
        assert there == {file.name: file.read_bytes() for file in (crawler.job / "warc").iterdir()}
        assert {number for name, number in s3.written().items() if name.startswith(place)} == {1}
        assert any(status == 0 for *_, status in s3.requests()), "no upload was cut off"
