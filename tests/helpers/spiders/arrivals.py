"""Tells a test, which runs in another process, that requests wait for robots.txt."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler


class Arrivals:
    """A downloader middleware before that of robots.txt: a byte of the file `ARRIVALS` for each request."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Path(crawler.settings["ARRIVALS"]))

    def process_request(self, request: Request) -> None:
        with self._path.open("ab") as file:
            file.write(b".")
