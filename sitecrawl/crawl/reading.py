"""Where a response's body is decoded and read: here, or in a process that may do nothing else.

`arrived` is for the middleware that sees a response first, `page_of` for whoever makes a page of it. Without
`SITECRAWL_PARSE_PROCESSES` the one has nothing to do, and the other reads. With it the first has both done, for one
trip there and back, and keeps what was read until the second asks.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.statscollectors import StatsCollector

from sitecrawl.base.limits import PARSE_MEMORY, PARSE_TIME, AnyLimit
from sitecrawl.isolation.facts import Reading
from sitecrawl.isolation.parsers import ParserOptions, Parsers
from sitecrawl.isolation.pool import NoParser, Quarantined
from sitecrawl.page import budget
from sitecrawl.page.beginning import is_markup
from sitecrawl.page.items import Headers, PageItem, pairs
from sitecrawl.page.links import PageOptions, read_page, unread_page
from sitecrawl.page.text_digest import DIGEST_SIZE, text_digest

logger = logging.getLogger(__name__)

QUARANTINED: Final = "isolation/quarantined"
"""Counts the pages on which a process broke; with `/reason` behind it those that broke it so."""
NO_PARSER: Final = "no_parser"
"""The reason with which a crawl ends whose pages nobody can read."""
_LIMITS: Final[dict[str, AnyLimit]] = {"timeout": PARSE_TIME, "memory": PARSE_MEMORY, "SIGXCPU": PARSE_TIME}


class PageReading:
    """See the module. Raises `NoParser` where there are to be processes, and none can be started."""

    def __init__(self, options: ParserOptions, stats: StatsCollector) -> None:
        self._options: PageOptions = options.page
        self._stats = stats
        self._ready: WeakKeyDictionary[Response, Reading] = WeakKeyDictionary()
        self._parsers = Parsers(options) if options.processes else None
        if self._parsers is not None:
            self._tell(self._parsers, options.processes)

    @property
    def is_isolated(self) -> bool:
        return self._parsers is not None

    @property
    def max_links(self) -> int:
        """Of a page."""
        return self._options.max_links

    @property
    def max_requisites(self) -> int:
        """Of a page, with what they are made of; 0 where nobody asks for them."""
        return self._options.max_requisites

    async def arrived(self, response: Response, *, max_size: int, page: bool) -> Response:
        """`response` without its content codings, and with its `page` read, both of it elsewhere.

        Of one that breaks its reader a page without body and links is left. Raises `Quarantined` if it is to be no
        page, and what `Parsers.read` raises otherwise.
        """
        assert self._parsers is not None
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

    def look_at(self, response: Response) -> PageItem:
        """The page that `page_of` will give, read now, for whoever has to know before the spider does."""
        if response not in self._ready:
            self._ready[response] = self.page_of(response)
        return self._ready[response].page

    def page_of(self, response: Response) -> Reading:
        """What `response` says. One that another middleware has changed since is read now."""
        if (ready := self._ready.get(response)) is not None:
            return ready
        met: Counter[AnyLimit] = Counter()
        return Reading(self.read_page(response.url, response.body, pairs(response.headers), met=met), met)

    def read_page(self, url: str, body: bytes, headers: Headers, *, met: Counter[AnyLimit] | None = None) -> PageItem:
        """As `sitecrawl.page.links.read_page`, at once and wherever pages are read."""
        if self._parsers is None or not body:
            return read_page(url, body, headers, options=self._options, met=met)
        try:
            reading = self._parsers.read(url, body, headers, max_size=len(body), decode=False).reading
        except Quarantined as error:
            self._count(url, error)
            return unread_page(url, headers, error.reason)
        assert reading is not None
        if met is not None:
            met.update(reading.met)
        return reading.page

    def text(self, page: PageItem) -> str:
        """The text of `page`, as far as it is read. If its links were not read, what is beyond is counted here."""
        limit = None if is_markup(page.content_type) else budget.exceeded(page.body, self._options.budget)
        if limit is not None:
            self._stats.inc_value(limit.stat)
        return budget.text_within(page, self._options.budget)

    def text_digest(self, page: PageItem) -> bytes:
        """Of what a reader sees of `page`; of its bytes where that cannot be had."""
        if self._parsers is None:
            return text_digest(page.content_type, page.charset, page.body, self._options)
        try:
            return self._parsers.text_digest(page.content_type, page.charset, page.body)
        except NoParser:
            return page.sha1[:DIGEST_SIZE]
        except Quarantined as error:
            self._count(page.url, error)
            return page.sha1[:DIGEST_SIZE]

    def close(self) -> None:
        if self._parsers is not None:
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

    def _tell(self, parsers: Parsers, processes: int) -> None:
        fences = ", ".join(parsers.fences)
        self._stats.set_value("isolation/fences", fences)
        logger.info("Pages are read in processes of their own (%d), held by %s", processes, fences)
        if "seccomp" not in parsers.fences:
            logger.warning("There is no seccomp here: %s alone hold the processes that read pages", fences)


def with_content(response: Response, body: bytes, codings: Sequence[bytes] = ()) -> Response:
    """`response` with the content `body`, which is still in `codings`.

    Made anew: `replace` would ask what was there for its encoding.
    """
    headers = response.headers.copy()
    headers.pop("Content-Encoding", None)
    if codings:
        headers["Content-Encoding"] = list(codings)
    kind = responsetypes.from_args(headers=headers, url=response.url, body=body)
    return kind(
        response.url,
        status=response.status,
        headers=headers,
        body=body,
        flags=response.flags,
        request=response.request,
        certificate=response.certificate,
        ip_address=response.ip_address,
        protocol=response.protocol,
    )
