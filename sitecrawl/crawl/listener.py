"""What a frontier tells the crawl by itself: each of it goes to whom it concerns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request

from sitecrawl.base.errors import InvalidUrl, StorageError
from sitecrawl.cluster.seedqueue import fields_of
from sitecrawl.crawl.engine import wake
from sitecrawl.urls.url import parse

if TYPE_CHECKING:
    from sitecrawl.crawl.runtime import Runtime


class CrawlListener:
    """A `WorkerListener`. The frontier has it before the runtime is whole, and calls it when that is."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def given_up(self, key: bytes) -> None:
        for listener in self._runtime.on_given_up:
            listener(key)

    def woken(self) -> None:
        wake(self._runtime.crawler)

    def failed(self, error: StorageError) -> None:
        self._runtime.checkpoints.fail(error)

    def counted(self, name: str, number: int) -> None:
        self._runtime.stats.inc_value(name, number)

    def withdrawn(self, rows: list[int]) -> None:
        self._runtime.withdraw(rows)

    def checkpoint(self) -> None:
        self._runtime.checkpoints.run()

    def widened(self, url: str) -> None:
        self._runtime.hear_of_seed(url)

    def seed_pushed(self, text: str) -> bool:
        fields = fields_of(text)
        try:
            url = parse(fields.get("url", ""))
            if fields.keys() <= {"url"}:
                self._runtime.widen(url, named=True)
                self._runtime.seed([url])
            else:
                wanted = {name: fields[name] for name in ("method", "meta", "headers", "body") if name in fields}
                self._runtime.seed_hosts.add(url.host)
                self._runtime.crawler.engine.crawl(Request(url.href, **wanted))
        except (InvalidUrl, TypeError, ValueError):
            return False
        return True
