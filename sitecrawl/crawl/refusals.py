"""Count refusals by sites, and tell the user once a host what can be done.

The middlewares decide how long a host rests and how often a page is retried.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from scrapy.statscollectors import StatsCollector

from sitecrawl.base.display import printable
from sitecrawl.crawl.fetch import Fetch
from sitecrawl.crawl.requests import host_of
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import REFUSALS
from sitecrawl.crawldir.outcomes import HostRefusals, RefusalTotals
from sitecrawl.crawldir.participant import Participant
from sitecrawl.page.media_type import HTML
from sitecrawl.page.refusals import SHELL_SIZE, Refusal, RefusalKind, is_shell, returns_to
from sitecrawl.urls.url import parse_or_none

logger = logging.getLogger(__name__)

REFUSED: Final = "refused/"
"""Prefix of the stats that count by kind."""
_MAX_LOGINS: Final = 1000
"""Most login pages remembered."""

NAMES: Final[Mapping[str, str]] = {
    RefusalKind.CHALLENGE: "challenges",
    RefusalKind.RATE_LIMITED: "rate limits",
    RefusalKind.LOGIN_WALL: "login walls",
    RefusalKind.EMPTY_SHELL: "empty shells",
    RefusalKind.EMPTY_RENDERED: "empty in a browser",
    RefusalKind.LOGGED_OUT: "logged out",
    RefusalKind.LOGIN_FAILED: "logins failed",
}
"""Names of kinds in tables."""
_WORDS: Final[Mapping[str, str]] = {
    RefusalKind.CHALLENGE: "asks for a proof that a browser or a person is there",
    RefusalKind.RATE_LIMITED: "says that it is asked too often",
    RefusalKind.LOGIN_WALL: "shows its pages only after a login",
    RefusalKind.EMPTY_SHELL: "sends a page that a browser has to build: it has no text and no links",
    RefusalKind.EMPTY_RENDERED: "sends a page of scripts that has no text and no links in a browser, either",
    RefusalKind.LOGGED_OUT: "has logged the crawl out",
    RefusalKind.LOGIN_FAILED: "does not let the crawl log in",
}
ADVICE: Final[Mapping[str, str]] = {
    RefusalKind.CHALLENGE: "It gets none, and rests. Crawl it slower (-s DOWNLOAD_DELAY=10), say who you are "
    "(-s SITECRAWL_CONTACT=...), ask its owner, or leave it out",
    RefusalKind.RATE_LIMITED: "It rests for as long as it asks. Crawl it slower (-s DOWNLOAD_DELAY=10)",
    RefusalKind.LOGIN_WALL: "Leave them out (-a deny=...), or ask for an account, and let the crawl log in "
    "(docs/login.md)",
    RefusalKind.EMPTY_SHELL: "This site builds its pages in the browser: try -a render=1. Or look for a sitemap "
    "(-a sitemaps=1), a feed or an API of the site",
    RefusalKind.EMPTY_RENDERED: "Give its scripts more time (-s SITECRAWL_RENDER_WAIT=20), or look for a sitemap "
    "(-a sitemaps=1), a feed or an API of the site",
    RefusalKind.LOGGED_OUT: "It logs in again where it can. If that happens often, others may use the same account, "
    "or a link ends the session: leave it out (deny)",
    RefusalKind.LOGIN_FAILED: "Its pages wait, and are not asked for. Look at the sheet's login, and resume the "
    "crawl",
}
_TOLD_AT: Final = {**dict.fromkeys(RefusalKind, 1), RefusalKind.RATE_LIMITED: 3, RefusalKind.LOGIN_WALL: 3}
"""Number of refusals at which a host is named in the log, because single ones need no action."""
_PAGE: Final = "docs/refused.md"


class Refusals(Participant):
    """See the module. Give `finished` every fetch whose visit is over (`Crawl.fetches.on_finish`)."""

    def __init__(self, database: Database, stats: StatsCollector) -> None:
        self._stats = stats
        self._whole = RefusalTotals.unpack(database.get("meta", REFUSALS))
        """Totals of all runs."""
        self.run = RefusalTotals()
        """Totals of this run."""
        self.are_looked_for = False
        """Whether a middleware looks for refusals."""
        self._has_changed = False
        self._logins: set[str] = set()
        """Keys of pages that ask for a login and take an address to go on to."""

    def met(self, url: str, refusal: Refusal) -> None:
        """Count a refusal of `url`."""
        host = host_of(url)
        self._has_changed = True
        self._stats.inc_value(REFUSED + refusal.kind)
        self._whole.add(host, refusal.kind, refusal.by)
        times = self.run.add(host, refusal.kind, refusal.by)
        if times == _TOLD_AT[refusal.kind]:
            logger.warning("%s", told(HostRefusals(host, refusal.kind, times, refusal.by)))

    def login_at(self, url: str) -> None:
        """Note that the page at `url` asks for a login."""
        if len(self._logins) < _MAX_LOGINS:
            self._logins.add(_page_of(url))

    def leads_to_login(self, asked: str, location: str) -> bool:
        """Whether `asked` redirects to a known login page that leads back afterwards."""
        target = parse_or_none(location, asked) if self._logins else None
        return target is not None and _page_of(target.href) in self._logins and returns_to(target.href, asked)

    def finished(self, fetch: Fetch) -> None:
        """Look for empty shells, which needs the page. One that another page of its host links to is part of a site
        with pages, such as a frame or a search result, and no shell.
        """
        page = fetch.page
        if page is None or page.links or not fetch.is_success or page.content_type not in HTML or page.quarantined:
            return
        if fetch.is_unrendered:  # nobody knows what a browser makes of it
            return
        is_first = page.referrer is None or host_of(page.referrer) != host_of(page.url)
        if is_first and len(page.body) <= SHELL_SIZE and is_shell(page.body):
            self.met(page.url, Refusal(RefusalKind.EMPTY_RENDERED if fetch.parts else RefusalKind.EMPTY_SHELL))

    def prepare(self, batch: Batch) -> None:
        if self._has_changed:
            batch.put("meta", REFUSALS, self._whole.pack())
            self._has_changed = False


def told(row: HostRefusals) -> str:
    """A host's refusals in words, with what can be done."""
    by = f" ({row.by})" if row.by else ""
    return printable(f"{row.host} {_WORDS[row.kind]}{by}. {ADVICE[row.kind]}: {_PAGE}", 1000)


def summed_up(rows: Iterable[HostRefusals]) -> str:
    """Describe how often one host said no, in each way."""
    return ", ".join(
        f"{NAMES.get(row.kind, row.kind)} {row.times:,}{f' ({row.by})' if row.by else ''}" for row in rows
    )


def _page_of(url: str) -> str:
    """`url` without its query."""
    return url.partition("?")[0]
