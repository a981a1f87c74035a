"""Pages that are decoded and read in processes that may do nothing else, for one trip there and back.

A response is sent when it arrives. What was read of it is kept until a page is made of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.errors import NoParser
from sitecrawl.base.limits import PARSE_MEMORY, PARSE_TIME, AnyLimit
from sitecrawl.crawl import configuration
from sitecrawl.crawl.page_reading import QUARANTINED, PageReading, with_content
from sitecrawl.page.codings import Damaged, TooLarge
from sitecrawl.page.items import Headers, PageItem, Reading, pairs
from sitecrawl.page.links import DIGEST_SIZE, PageOptions, unread_page
from sitecrawl.page.process_pool import PoolOptions, Quarantined, WorkerPool
from sitecrawl.page.process_serving import BadAnswer
from sitecrawl.plugins.isolation import PARSE_PROCESSES
from sitecrawl.plugins.isolation.facts import reading_of


@dataclass(frozen=True, slots=True)
class _Content:
    """What a worker has made of a response."""

    body: bytes
    """Without the content codings that are known."""
    codings: list[bytes]
    """Those that are not."""
    reading: Reading | None
    """None where no page was asked for."""


class _Parsers(WorkerPool):
    """Raises `NoParser` where a first worker cannot be started."""

    def __init__(
        self, options: PoolOptions, page: PageOptions, *, module: str = "sitecrawl.plugins.isolation.worker"
    ) -> None:
        super().__init__(module, {"page": asdict(page)}, options, "set SITECRAWL_PARSE_PROCESSES=0")
        self._page = page

    def read(
        self, url: str, body: bytes, headers: Headers, *, max_size: int, decode: bool = True, page: bool = True
    ) -> _Content:
        """Take the content codings off `body`, to at most `max_size` bytes, if it is to `decode`; read a `page`.

        Raises `Quarantined`, `NoParser`, and as `sitecrawl.page.codings.checked` does `TooLarge` and `Damaged`.
        """
        request = {
            "url": url,
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
            "decode": decode,
            "page": page,
            "max_size": max_size,
        }
        return self._asked(
            request, body, lambda answer, given: self._content(answer, given, body, url), max(max_size, len(body))
        )

    def text_digest(self, content_type: str, charset: str | None, body: bytes) -> bytes:
        """As `sitecrawl.page.links.text_digest`. Raises `Quarantined` and `NoParser`."""
        return self._asked({"digest_of": content_type, "charset": charset}, body, _digest)

    def _content(self, answer: dict[str, Any], given: bytes, sent: bytes, url: str) -> _Content:
        for name, error in (("too_large", TooLarge), ("damaged", Damaged)):
            if isinstance(answer.get(name), str):
                raise error(str(answer[name])[:200])
        kept = answer.get("kept")
        if not isinstance(kept, list) or not all(isinstance(one, str) and one.isascii() for one in kept):
            raise BadAnswer("no codings")
        body = given if answer.get("decoded") is True else sent
        facts = answer.get("facts")
        reading = reading_of(facts, url, body, self._page) if facts is not None else None
        return _Content(body, [one.encode("ascii") for one in kept], reading)


def _digest(answer: dict[str, Any], _: bytes) -> bytes:
    try:
        digest = bytes.fromhex(answer["digest"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadAnswer("no digest") from error
    if len(digest) != DIGEST_SIZE:
        raise BadAnswer("no digest")
    return digest


logger = logging.getLogger(__name__)

_LIMITS: Final[dict[str, AnyLimit]] = {"timeout": PARSE_TIME, "memory": PARSE_MEMORY, "SIGXCPU": PARSE_TIME}


class IsolatedReading(PageReading):
    """See the module. Raises `NoParser` if no process can be started."""

    is_isolated = True

    def __init__(self, page: PageOptions, stats: StatsCollector, processes: int) -> None:
        super().__init__(page, stats)
        self._parsers = _Parsers(PoolOptions(processes, PARSE_TIME.value, PARSE_MEMORY.value), page)
        self._tell(processes)

    @classmethod
    def from_settings(cls, settings: BaseSettings, stats: StatsCollector) -> IsolatedReading:
        return cls(configuration.page(settings), stats, PARSE_PROCESSES.read(settings))

    async def arrived(self, response: Response, *, max_size: int, page: bool) -> Response:
        """`response` without its content codings, and with its `page` read, both of it elsewhere.

        Of one that breaks its reader a page without body and links is left. Raises `Quarantined` if it is to be no
        page, and what `Parsers.read` raises otherwise.
        """
        headers = pairs(response.headers)
        work = partial(self._parsers.read, response.url, response.body, headers, max_size=max_size, page=page)
        try:
            content = await asyncio.get_running_loop().run_in_executor(self._parsers.threads, work)
        except Quarantined as error:
            self._count(response.url, error)
            if not page:
                raise
            return self._kept(with_content(response, b""), Reading(unread_page(response.url, headers, error.reason)))
        decoded = with_content(response, content.body, content.codings)
        return decoded if content.reading is None else self._kept(decoded, content.reading)

    def read_page(self, url: str, body: bytes, headers: Headers, *, met: Counter[AnyLimit] | None = None) -> PageItem:
        if not body:
            return super().read_page(url, body, headers, met=met)
        try:
            reading = self._parsers.read(url, body, headers, max_size=len(body), decode=False).reading
        except Quarantined as error:
            self._count(url, error)
            return unread_page(url, headers, error.reason)
        assert reading is not None
        if met is not None:
            met.update(reading.met)
        return reading.page

    def text_digest(self, page: PageItem) -> bytes:
        try:
            return self._parsers.text_digest(page.content_type, page.charset, page.body)
        except NoParser:
            return page.sha1[:DIGEST_SIZE]
        except Quarantined as error:
            self._count(page.url, error)
            return page.sha1[:DIGEST_SIZE]

    def close(self) -> None:
        self._parsers.close()

    def _kept(self, response: Response, reading: Reading) -> Response:
        self._ready[response] = reading
        return response

    def _count(self, url: str, error: Quarantined) -> None:
        logger.warning("Quarantined: the process that read %s has ended (%s)", url, error.reason)
        self._stats.inc_value(QUARANTINED)
        self._stats.inc_value(f"{QUARANTINED}/{error.reason}")
        if error.reason in _LIMITS:
            self._stats.inc_value(_LIMITS[error.reason].stat)

    def _tell(self, processes: int) -> None:
        fences = ", ".join(self._parsers.fences)
        self._stats.set_value("isolation/fences", fences)
        logger.info("Pages are read in processes of their own (%d), held by %s", processes, fences)
        if "seccomp" not in self._parsers.fences:
            logger.warning("There is no seccomp here: %s alone hold the processes that read pages", fences)
