"""Facts about nearly all pages of a host: `noindex`, or repeated content.

They explain to users what became of the pages; they are no fault of the crawl.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.frontier.forms.duplicates import Verdict

_LEAST: Final = 20
"""Least number of pages for a statement about a host."""
_NEARLY_ALL: Final = 0.9
"""Share of a host's pages that counts as nearly all."""
MAX_HOSTS: Final = 10_000
"""Most hosts counted, the first to give pages."""


@dataclass(slots=True)
class HostPages:
    """Counts of one host's pages."""

    pages: int = 0
    noindex: int = 0
    equal: int = 0
    """Pages with a known body."""
    near: int = 0
    """Pages with the title and nearly the text of another."""

    def facts(self, host: str) -> Iterator[str]:
        """The fact in words."""
        if self.pages < _LEAST:
            return
        if self.noindex >= _NEARLY_ALL * self.pages:
            yield f"{host}: {self.noindex:,} of {self.pages:,} pages are noindex"
        if self.equal and self.equal == self.pages - 1:
            yield f"{host}: all {self.pages:,} pages have one body"
        elif (repeats := self.equal + self.near) >= _NEARLY_ALL * self.pages:
            yield f"{host}: {repeats:,} of {self.pages:,} pages say what another says"


class SiteFacts:
    """Give `finished` every fetch whose visit is over (`Crawl.fetches.on_finish`)."""

    def __init__(self) -> None:
        self._hosts: dict[str, HostPages] = {}

    def finished(self, fetch: Fetch) -> None:
        if fetch.page is None or not fetch.is_success or fetch.visit.again:
            return
        name = fetch.visit.url.partition("://")[2].partition("/")[0].rpartition("@")[2]  # a tenth of a urlsplit
        host = self._hosts.get(name)
        if host is None:
            if len(self._hosts) >= MAX_HOSTS:
                return
            host = self._hosts[name] = HostPages()
        host.pages += 1
        host.noindex += fetch.page.noindex
        host.equal += fetch.verdict is Verdict.EQUAL
        host.near += fetch.verdict is Verdict.NEAR

    def facts(self) -> list[str]:
        """Facts in words, hosts with the most pages first."""
        hosts = sorted(self._hosts.items(), key=lambda item: -item[1].pages)
        return [fact for name, pages in hosts for fact in pages.facts(name)]
