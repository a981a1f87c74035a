"""Decode and read responses.

`arrived` is for the middleware that sees a response first, `page_of` for whoever makes a page of it. Here `arrived`
does nothing and `page_of` reads. A plug-in may have both done in other processes (`SITECRAWL_PARSE_PROCESSES`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self
from weakref import WeakKeyDictionary

from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.misc import load_object

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.base.limits import AnyLimit
from sitecrawl.crawl import configuration
from sitecrawl.page import budget
from sitecrawl.page.items import Headers, PageItem, Reading, pairs
from sitecrawl.page.links import PageOptions, is_markup, read_page, text_digest

QUARANTINED: Final = "isolation/quarantined"
"""Statistic: pages that broke the process that read them; with `/reason` appended, by reason."""
NO_PARSER: Final = "no_parser"
"""Finish reason if no process can read pages."""


class PageReading:
    """See the module."""

    is_isolated = False
    """Whether `arrived` does anything."""

    def __init__(self, options: PageOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        self._ready: WeakKeyDictionary[Response, Reading] = WeakKeyDictionary()

    @classmethod
    def from_settings(cls, settings: BaseSettings, stats: StatsCollector) -> Self:
        """The reading of one crawl, made once at its start."""
        return cls(configuration.page(settings), stats)

    @property
    def max_links(self) -> int:
        """Most links of a page."""
        return self._options.max_links

    @property
    def max_requisites(self) -> int:
        """Most requisites of a page, nested ones included; 0 if they are not wanted."""
        return self._options.max_requisites

    async def arrived(self, response: Response, *, max_size: int, page: bool) -> Response:
        """Return `response` without content codings, at most `max_size` bytes, and read."""
        raise NotImplementedError

    def look_at(self, response: Response) -> PageItem:
        """The page that `page_of` will return, for callers that need it before the spider."""
        if response not in self._ready:
            self._ready[response] = self.page_of(response)
        return self._ready[response].page

    def page_of(self, response: Response) -> Reading:
        """The page of `response`. Read now if another middleware has changed the response since."""
        if (ready := self._ready.get(response)) is not None:
            return ready
        met: Counter[AnyLimit] = Counter()
        return Reading(self.read_page(response.url, response.body, pairs(response.headers), met=met), met)

    def read_page(self, url: str, body: bytes, headers: Headers, *, met: Counter[AnyLimit] | None = None) -> PageItem:
        """As `sitecrawl.page.links.read_page`, without waiting, wherever pages are read."""
        return read_page(url, body, headers, options=self._options, met=met)

    def text(self, page: PageItem) -> str:
        """The text of `page`, up to the limit for reading. If its links were not read, the excess is counted here."""
        limit = None if is_markup(page.content_type) else budget.exceeded(page.body, self._options.budget)
        if limit is not None:
            self._stats.inc_value(limit.stat)
        return budget.text_within(page, self._options.budget)

    def text_digest(self, page: PageItem) -> bytes:
        """Digest of the visible text of `page`, or of its bytes if there is none."""
        return text_digest(page.content_type, page.charset, page.body, self._options)

    def close(self) -> None:
        """Stop reading."""


def page_reading(settings: BaseSettings, stats: StatsCollector) -> PageReading:
    """The reading of a plug-in, if one is wanted, else ours. Raises `SitecrawlError`, also if two plug-ins are to
    read, or if the one is off whose setting is set: who sets it must not have pages read elsewhere.
    """
    working = plugins.of_crawl(settings)
    chosen = ""
    for name, plugin in plugins.found().items():
        if not plugin.reading or not plugin.is_wanted(settings):
            continue
        if name in working and chosen:
            raise OptionError(f"The plug-ins {chosen} and {name} would both read the pages: leave one out")
        if name in working:
            chosen = name
        elif plugin.wanted_by:
            raise OptionError(
                f"{' and '.join(plugin.wishes(settings))} is of the plug-in {name}, which is off: leave that setting "
                f"out, or have {' and '.join([name, *plugin.needs])} installed and not named by SITECRAWL_PLUGINS_OFF"
            )
    kind: type[PageReading] = load_object(working[chosen].reading) if chosen else PageReading
    return kind.from_settings(settings, stats)


def with_content(response: Response, body: bytes, codings: Sequence[bytes] = ()) -> Response:
    """`response` with `body`, which is still encoded in `codings`.

    Made anew, because `replace` would compute the encoding of the old one.
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
