"""Outcomes of a crawl's hosts, and why some gave no page: for summary, report and dashboard.

Only hosts of seeds and of their redirects count; links that lead nowhere are no surprise. The cause of a host is what
last kept the crawl from one of its pages, until a page comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scrapy.statscollectors import StatsCollector

from sitecrawl.base.display import printable
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import GUESS, host_of
from sitecrawl.crawl.traffic import REDIRECTS, Traffic, of_exception, of_rule, of_status
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import OUTCOMES
from sitecrawl.crawldir.outcomes import CauseCount, Outcomes
from sitecrawl.crawldir.participant import Participant
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.pagestore.record import NOT_MODIFIED

MAX_HOSTS: Final = 10_000
"""Most hosts counted, the first to be met. Also of `SiteFacts`."""
NO_PAGE: Final = "outcomes/no_page"
"""Statistic: no page was fetched in any run."""
HOSTS: Final = "outcomes/hosts_without_page/"
"""Prefix of the stats that count hosts by why they gave none."""


class OutcomeCounts(Participant):
    """See the module. Tell `ended` of every attempt, and `finished` of every fetch whose visit is over."""

    def __init__(self, database: Database) -> None:
        self._before = Outcomes.unpack(database.get("meta", OUTCOMES))
        self._pages = 0
        self._others = 0
        self._hosts: dict[str, tuple[str, str] | None] = {}
        """Cause and detail of each host without a page; None for a host with one."""
        self._without = 0
        """Hosts without a page."""
        self._causes: list[CauseCount] | None = None
        """Cached result of `causes`; None when it has to be counted anew."""
        self._certificates = dict(self._before.certificates)
        self._has_changed = False

    def ended(self, fetch: Fetch) -> None:
        """Note the end of an attempt; its URL may be retried."""
        if fetch.visit.is_requisite or fetch.is_given_back or GUESS in fetch.request.meta:
            return
        if _is_page(fetch):
            if not fetch.visit.depth or self._without:  # else no host is looked for
                self._note(host_of(fetch.visit.url), None)
        elif fetch.is_redirect and not fetch.leads_on and not fetch.visit.again:  # then the target is known by now
            self.hindered(fetch.visit, REDIRECTS, _target(fetch), is_better_known=True)
        elif why := _why(fetch):
            self.hindered(fetch.visit, why)

    def hindered(self, visit: Visit, why: str, about: str = "", *, is_better_known: bool = False) -> None:
        """Note that `why` kept the crawl from the URL of `visit`. With `is_better_known`, an earlier cause stays."""
        host = host_of(visit.url)
        if visit.depth or visit.is_requisite or not why or (is_better_known and host in self._hosts):
            return
        if self._hosts.get(host, ()) is not None:
            self._note(host, (why, about))

    def _note(self, host: str, cause: tuple[str, str] | None) -> None:
        if host in self._hosts or len(self._hosts) < MAX_HOSTS:
            if self._hosts.get(host, ()) != cause:
                self._causes, self._has_changed = None, True
            self._without += (cause is not None) - (self._hosts.get(host) is not None)
            self._hosts[host] = cause

    def finished(self, fetch: Fetch) -> None:
        """Note the end of a visit."""
        if _is_page(fetch):
            self._pages += 1
        elif fetch.status:
            self._others += 1
        self._has_changed = True

    def distrusted(self, host: str, fault: str) -> bool:
        """Note that `host` is crawled with an invalid certificate; returns whether that is new."""
        if host in self._certificates or len(self._certificates) >= MAX_HOSTS:
            return False
        self._certificates[host] = fault
        self._has_changed = True
        return True

    @property
    def whole(self) -> Outcomes:
        """Outcomes of all runs."""
        pages, others = self._before.pages + self._pages, self._before.others + self._others
        return Outcomes(pages, others, self.causes, self._certificates)

    @property
    def causes(self) -> list[CauseCount]:
        """Causes of hosts without a page in this run, the most frequent first."""
        if self._causes is None:
            self._causes = self._counted()
        return self._causes

    def _counted(self) -> list[CauseCount]:
        known = [(host, *cause) for host, cause in self._hosts.items() if cause is not None]
        examples = {why: f"{host}, {about}" if about else host for host, why, about in reversed(known)}
        return [
            CauseCount(why, hosts, examples[why]) for why, hosts in Counter(why for _, why, _ in known).most_common()
        ]

    def are_none(self, fetched: int) -> bool:
        """Whether no page was fetched in any run. `fetched`: URLs fetched, here and elsewhere."""
        return not self.whole.pages and fetched <= self.whole.others

    def tell(self, stats: StatsCollector, fetched: int) -> None:
        """Write the statistics at the end of the crawl."""
        for cause in self.causes:
            stats.set_value(HOSTS + cause.why, cause.hosts)
        if self.are_none(fetched):
            stats.set_value(NO_PAGE, 1)

    def prepare(self, batch: Batch) -> None:
        if self._has_changed:
            batch.put("meta", OUTCOMES, self.whole.pack())
            self._has_changed = False


def _is_page(fetch: Fetch) -> bool:
    """Whether it is a page. A mere sitemap is none; a 304 is an unchanged page."""
    is_sitemap = fetch.is_worth_it and fetch.page is None and fetch.is_success
    return not is_sitemap and (fetch.is_success or fetch.status == NOT_MODIFIED)


def _why(fetch: Fetch) -> str:
    if fetch.excluded:
        return of_rule(fetch.excluded)
    if fetch.error:
        return of_exception(fetch.error)
    return of_status(fetch.status) if fetch.status >= 400 else ""


def _target(fetch: Fetch) -> str:
    headers = fetch.exchange.headers if fetch.exchange is not None else ()
    found = next((value.decode("latin-1") for name, value in headers if name.lower() == b"location"), "")
    return f"to {printable(found.strip(), 100)}" if found else ""


def of_traffic(traffic: Traffic) -> list[CauseCount]:
    """Causes of failed requests of a run without our frontier, in which hosts are not known. No examples."""
    found = Counter(traffic.failures)
    found.update({of_status(status): n for status, n in traffic.statuses.items() if status >= 400})
    found[REDIRECTS] += sum(n for status, n in traffic.statuses.items() if 300 <= status < 400)
    found[of_rule("robots.txt")] += traffic.forbidden
    return [CauseCount(why, times, "") for why, times in (+found).most_common()]


_LEAST: Final = 20
"""Least number of pages for a statement about a host."""
_NEARLY_ALL: Final = 0.9
"""Share of a host's pages that counts as nearly all."""


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
    """Facts about nearly all pages of a host: `noindex`, or repeated content. They explain what became of the pages;
    they are no fault of the crawl. Give `finished` every fetch whose visit is over (`Crawl.fetches.on_finish`).
    """

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
