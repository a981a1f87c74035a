"""Numbers of a page's links, and of those that stay on its host, site or worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.media_type import HTML
from sitecrawl.pagestore.lookup import url_key
from sitecrawl.urls.url import site_of


class LinkCounts(NamedTuple):
    """Link counts of one page. All but the first count a canonical URL once."""

    hrefs: int | None = None
    """Links on the page, repeated ones included."""
    links: int | None = None
    """Distinct URLs that it links to."""
    host_links: int | None = None
    """Links to its own host, with the same port."""
    site_links: int | None = None
    """Links to its site: its registrable domain, if it has one."""
    worker_links: int | None = None
    """Links to sites of the storing worker; None in a single process."""


_FEW: Final = 8
"""Hosts whose links are counted one host after the other."""
NO_COUNTS = LinkCounts()
"""Counts of anything but a page of HTML whose links were read."""


@dataclass(frozen=True, slots=True)
class LinkCounter:
    """Counts the links of pages. `identity`: same value for all forms of a URL, as `Link.key`; `is_here`:
    whether a host belongs to this worker.
    """

    identity: Callable[[str], Hashable] = url_key
    is_here: Callable[[str], bool] | None = None

    def count(self, page: PageItem, host: str) -> LinkCounts:
        """Count the links of `page`, which is on `host`."""
        if page.content_type not in HTML or page.quarantined or not 200 <= page.status < 300:
            return NO_COUNTS
        hosts = self._hosts(page.links)
        site = site_of(host)
        near = sum(number for name, number in hosts.items() if name and site_of(name) == site)
        hrefs = max(page.hrefs, len(page.links))  # whoever made the page by hand may have left them out
        return LinkCounts(hrefs, sum(hosts.values()), hosts.get(host, 0), near, self._here(hosts, site))

    def _hosts(self, links: Sequence[Link]) -> dict[str, int]:
        """How many targets each host has."""
        keys = {link.key for link in links}
        if len(keys) == len(links) and b"" not in keys:
            names = [link.host for link in links]
        else:
            names = [*{link.key or self.identity(link.url): link.host for link in links}.values()]
        distinct = set(names)  # of nearly all pages so few that a `Counter` would take three times as long
        return {name: names.count(name) for name in distinct} if len(distinct) <= _FEW else Counter(names)

    def _here(self, hosts: Mapping[str, int], site: str) -> int | None:
        if self.is_here is None:
            return None
        return sum(n for name, n in hosts.items() if name and (site_of(name) == site or self.is_here(name)))


BY_URL: Final = LinkCounter()
"""Counter without fingerprints and workers."""
