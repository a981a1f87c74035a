"""What pages are made of, into the frontier: so much for a page, with what its style sheets and frames are made of.

A page has an allowance, `SITECRAWL_MAX_REQUISITES`. What is left of it when its own requisites are paid for is shared
out among those that may be made of others, and so on. So however sheets import sheets and frames hold frames, a page
costs no more than its allowance, and no chain is longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from scrapy.http import Response

from sitecrawl.base.limits import REQUISITES
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.page_item import page_item
from sitecrawl.crawl.requests import ALLOWANCE, pack
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.queue.order import FIRST
from sitecrawl.page.items import Link
from sitecrawl.page.requisites import HOLDERS


def require(runtime: Runtime, page: bytes, found: Sequence[Link], *, depth: int, allowance: int) -> None:
    """The page, style sheet or frame with the key `page` is made of `found`, of which `allowance` may be fetched,
    with what they are made of.
    """
    wanted = found[:allowance]
    holders = [link for link in wanted if link.kind in HOLDERS]
    left = (allowance - len(wanted)) // len(holders) if holders else 0
    new = runtime.require(page, [link for link in wanted if link.kind not in HOLDERS], depth=depth)
    new += runtime.require(page, holders, depth=depth, request=_request(left) if left else None)
    runtime.stats.inc_value("requisites/found", len(found))
    runtime.stats.inc_value("requisites/new", new)
    if len(wanted) < len(found) or (holders and not left):
        runtime.stats.inc_value(REQUISITES.stat)


def _request(allowance: int) -> bytes:
    """What the request of a requisite is beside a GET, which may be made of so many others."""
    return pack({"meta": {ALLOWANCE: allowance}, "priority": FIRST})


def read_requisite(runtime: Runtime, fetch: Fetch, response: Response) -> None:
    """A requisite has come: what it is made of is fetched as well. Where it links to is nobody's business."""
    allowance = response.meta.get(ALLOWANCE, 0)
    if allowance and 200 <= response.status < 300:
        found = page_item(response, runtime).requisites
        require(runtime, fetch.visit.key, found, depth=fetch.visit.depth, allowance=allowance)
