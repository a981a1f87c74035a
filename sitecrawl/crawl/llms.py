"""Ask the hosts of seeds for their llms.txt, once each, and take what these list as links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from urllib.parse import urlsplit

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import GUESS, pack
from sitecrawl.crawl.runtime import Runtime
from sitecrawl.frontier.contract import Asked
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.llms_txt import PATH, is_llms_txt, links_in
from sitecrawl.urls.url import WEB, Url, parse

_DEPTH = 1
"""Depth as of sitemaps. Not 0: where a seed redirects to is in scope."""


def ask(runtime: Runtime, seeds: Iterable[Url]) -> None:
    """Queue a request for each host, before its pages. Those of earlier runs are known and not repeated."""
    for url in {seed.host: parse(PATH, seed.href) for seed in seeds if seed.scheme in WEB}.values():
        link = Link(url.href, url.host, priority=1, key=runtime.key_of(url.href))
        request = pack({"meta": {GUESS: True}})  # nobody has said that there is one
        runtime.frontier.add([link], depth=_DEPTH, asked=Asked(request=request, brings_credit=True))


def read(runtime: Runtime, fetch: Fetch | None, page: PageItem) -> bool:
    """Set the links of `page` to those that it lists, if it is an llms.txt; False for another page in its place."""
    if urlsplit(page.url).path != PATH or not 200 <= page.status < 300:
        return True
    if is_llms_txt(page):
        found = islice(links_in(runtime.reading.text(page), page.url), runtime.reading.max_links)
        page.links = list(found)
        return True
    if fetch is None or GUESS not in fetch.request.meta:
        return True
    fetch.worth_it()  # what answers for all that is missing is no page, and says nothing of its section
    return False
