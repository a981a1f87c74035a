"""Queue requisites of pages, with a limit for each page.

A page has an allowance (`limits.REQUISITES`). What is left after its own requisites is shared out among those
that may have requisites themselves (style sheets, frames), and so on. So a page costs no more than its allowance,
however they nest.
"""

from __future__ import annotations

from collections.abc import Sequence

from scrapy.http import Response

from sitecrawl.base.limits import REQUISITES
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_item import page_item
from sitecrawl.crawl.requests import ALLOWANCE, pack
from sitecrawl.frontier.urls.order import FIRST
from sitecrawl.page.items import Link
from sitecrawl.page.requisites import HOLDERS


def require(crawl: Crawl, page: bytes, found: Sequence[Link], *, depth: int, allowance: int) -> None:
    """Queue `found`, the requisites of the page, style sheet or frame with the key `page`; at most `allowance`,
    nested ones included.
    """
    wanted = found[:allowance]
    holders = [link for link in wanted if link.kind in HOLDERS]
    left = (allowance - len(wanted)) // len(holders) if holders else 0
    new = crawl.found.require(page, [link for link in wanted if link.kind not in HOLDERS], depth=depth)
    new += crawl.found.require(page, holders, depth=depth, request=_request(left) if left else None)
    crawl.stats.inc_value("requisites/found", len(found))
    crawl.stats.inc_value("requisites/new", new)
    if len(wanted) < len(found) or (holders and not left):
        crawl.stats.inc_value(REQUISITES.stat)


def _request(allowance: int) -> bytes:
    """Stored request of a requisite that may have `allowance` requisites itself; None for a plain GET."""
    return pack({"meta": {ALLOWANCE: allowance}, "priority": FIRST})


def read_requisite(crawl: Crawl, fetch: Fetch, response: Response) -> None:
    """Queue the requisites of a fetched requisite. Its links are not followed."""
    allowance = response.meta.get(ALLOWANCE, 0)
    if allowance and 200 <= response.status < 300:
        found = page_item(response, crawl).requisites
        require(crawl, fetch.visit.key, found, depth=fetch.visit.depth, allowance=allowance)
