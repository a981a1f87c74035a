"""Handlers for news of a crawl's frontier and of other workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from scrapy import FormRequest, Request
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.errors import InvalidUrl, StorageError
from sitecrawl.cluster.options import closing
from sitecrawl.cluster.seedqueue import fields_of
from sitecrawl.crawl.changes import PREFIX as CHANGED
from sitecrawl.crawl.changes import Changes
from sitecrawl.crawl.checkpoints import Checkpoints
from sitecrawl.crawl.fetches import Pages
from sitecrawl.crawl.privates import is_closing, stop, wake
from sitecrawl.crawl.traffic import LOST
from sitecrawl.frontier.contract import Frontier
from sitecrawl.page.media_type import HTML
from sitecrawl.urls.url import CRAWLED, Schemes, Url, parse

LED_TO: Final = "led-to "
"""Prefix, between workers, of a seed that a redirect led to and no person named."""
SAID: Final = "said "
"""Prefix of a message from one worker's spider to those of the others."""


class Engine(Protocol):
    """What the handlers use of a crawl's `Runtime`."""

    crawler: Crawler
    stats: StatsCollector
    frontier: Frontier
    pages: Pages
    checkpoints: Checkpoints
    changes: Changes
    on_given_up: list[Callable[[bytes], None]]
    on_moved: list[Callable[[], None]]

    @property
    def path(self) -> Path: ...
    @property
    def schemes(self) -> Schemes: ...

    def widen(self, seed: Url, *, named: bool) -> None: ...

    def seed(self, seeds: Iterable[Url], *, priority: int = 0) -> int: ...


_OF_REQUEST: Final = frozenset({"url", "method", "meta", "headers", "body"})
"""Keys of a pushed seed; all others are form data."""


class FrontierListener:
    """A `WorkerListener`; no event reaches it before the runtime is complete."""

    def __init__(self, runtime: Engine) -> None:
        self._runtime = runtime

    @property
    def directory(self) -> Path:
        return self._runtime.path

    def given_up(self, key: bytes) -> None:
        for listener in self._runtime.on_given_up:
            listener(key)

    def linked_to(self, key: bytes) -> None:
        """Queue again, as a page, what was fetched as a requisite and is now linked to: its links count."""
        frontier, store = self._runtime.frontier, self._runtime.pages.store
        record = frontier.urls.get(key)
        stored = store.media_type(record.url) if record is not None and store is not None else None
        if stored is None or stored in HTML:
            frontier.again(key)

    def woken(self) -> None:
        wake(self._runtime.crawler)

    def failed(self, error: StorageError) -> None:
        self._runtime.checkpoints.fail(error)

    def counted(self, name: str, number: int) -> None:
        self._runtime.stats.inc_value(name, number)

    def limit_met(self, name: str) -> None:
        if not is_closing(self._runtime.crawler):
            stop(self._runtime.crawler, closing(name))

    def moved(self) -> None:
        for listener in self._runtime.on_moved:
            listener()

    def ended(self, reason: str) -> None:
        if not is_closing(self._runtime.crawler):
            stop(self._runtime.crawler, reason)

    def withdrawn(self, rows: list[int]) -> None:
        if rows:
            self._runtime.stats.inc_value(LOST, len(rows))
        if self._runtime.pages.store is not None:
            self._runtime.pages.store.withdraw(rows)

    def checkpoint(self) -> None:
        self._runtime.checkpoints.run()

    def widened(self, url: str) -> None:
        if url.startswith(CHANGED):
            self._runtime.changes.hear(url.removeprefix(CHANGED))
            return
        if url.startswith(SAID):
            if (heard := getattr(self._runtime.crawler.spider, "heard", None)) is not None:
                heard(url.removeprefix(SAID))
            return
        self._runtime.widen(parse(url.removeprefix(LED_TO), schemes=CRAWLED), named=not url.startswith(LED_TO))

    def seed_pushed(self, text: str) -> bool:
        fields = fields_of(text)
        try:
            url = parse(fields.get("url", ""), schemes=self._runtime.schemes)
            request = None if fields.keys() <= {"url"} else pushed_request(url.href, fields)
            self._runtime.widen(url, named=True)
            if request is None:
                self._runtime.seed([url])
            else:
                self._runtime.crawler.engine.crawl(request)
        except (InvalidUrl, TypeError, ValueError):
            return False
        return True


def pushed_request(url: str, fields: Mapping[str, Any]) -> Request:
    """Request of a pushed seed, as scrapy-redis would make it: keys that are no part of a request are form data. Also
    takes `headers` and `body`. Raises `TypeError` or `ValueError`.
    """
    given = {name: fields[name] for name in ("method", "meta", "headers", "body") if fields.get(name) is not None}
    form = {name: value for name, value in fields.items() if name not in _OF_REQUEST}
    if not form:
        return Request(url, **given)
    texts = {name: list(map(str, value)) if isinstance(value, list) else str(value) for name, value in form.items()}
    return FormRequest(url, formdata=texts, **{"method": "GET", **given})
