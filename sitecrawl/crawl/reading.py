"""What responses say: their bodies without content codings, and read.

`arrived` is for the middleware that sees a response first, `page_of` for whoever makes a page of it. Here the one has
nothing to do, and the other reads. A plug-in may have both done elsewhere (`SITECRAWL_PARSE_PROCESSES`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.misc import load_object

from sitecrawl.base import declared, plugins
from sitecrawl.base.errors import OptionError
from sitecrawl.base.limits import AnyLimit
from sitecrawl.crawl import configuration
from sitecrawl.page import budget
from sitecrawl.page.beginning import is_markup
from sitecrawl.page.items import Headers, PageItem, Reading, pairs
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.page.text_digest import text_digest

QUARANTINED: Final = "isolation/quarantined"
"""Counts the pages on which a process broke; with `/reason` behind it those that broke it so."""
NO_PARSER: Final = "no_parser"
"""The reason with which a crawl ends whose pages nobody can read."""


class PageReading:
    """See the module."""

    is_isolated = False
    """Whether `arrived` has anything to do."""

    def __init__(self, options: PageOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        self._ready: WeakKeyDictionary[Response, Reading] = WeakKeyDictionary()

    @property
    def max_links(self) -> int:
        """Of a page."""
        return self._options.max_links

    @property
    def max_requisites(self) -> int:
        """Of a page, with what they are made of; 0 where nobody asks for them."""
        return self._options.max_requisites

    async def arrived(self, response: Response, *, max_size: int, page: bool) -> Response:
        """`response` without its content codings, to at most `max_size` bytes, and with its `page` read."""
        raise NotImplementedError

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
        return read_page(url, body, headers, options=self._options, met=met)

    def text(self, page: PageItem) -> str:
        """The text of `page`, as far as it is read. If its links were not read, what is beyond is counted here."""
        limit = None if is_markup(page.content_type) else budget.exceeded(page.body, self._options.budget)
        if limit is not None:
            self._stats.inc_value(limit.stat)
        return budget.text_within(page, self._options.budget)

    def text_digest(self, page: PageItem) -> bytes:
        """Of what a reader sees of `page`; of its bytes where that cannot be had."""
        return text_digest(page.content_type, page.charset, page.body, self._options)

    def close(self) -> None:
        """Nothing more is read."""


def page_reading(settings: BaseSettings, stats: StatsCollector) -> PageReading:
    """That of a plug-in, if one is wanted. Raises `SitecrawlError`, also where that one is off: whoever wants it has
    a reason to have pages read nowhere else.
    """
    working = plugins.working(declared.PLUGINS_OFF.read(settings))
    for name, plugin in plugins.found().items():
        if plugin.reading and plugin.is_wanted(settings):
            if name not in working:
                wanted = ", ".join(setting.name for setting in plugin.wanted_by)
                raise OptionError(
                    f"{wanted} is of the plug-in {name}, which SITECRAWL_PLUGINS_OFF names: leave one out"
                )
            reading: PageReading = load_object(plugin.reading)(settings, stats)
            return reading
    return PageReading(configuration.page(settings), stats)


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
