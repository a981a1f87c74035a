"""Progress of a visit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from scrapy import Request
from scrapy.http import Response

from sitecrawl.crawl.requests import is_miss
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.causes import cause_of
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Exchange, Headers, PageItem, Sent, pairs
from sitecrawl.page.media_type import HTML
from sitecrawl.page.media_type import kind_of as document_kind


@dataclass(frozen=True, slots=True)
class SentAt:
    """Time at which a request was sent; default: now."""

    at: float = field(default_factory=time.time)
    """Unix time in seconds."""
    _tick: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since then by the monotonic clock."""
        return time.monotonic() - self._tick


def exchange_of(request: Request, response: Response, sent_at: SentAt, shown: Headers = ()) -> Exchange:
    """The exchange whose `response` has just come. `shown`: masked headers in the place of those added on sending."""
    names = {name.lower() for name, _ in shown}
    sent = pairs(request.headers)
    return Exchange(
        url=request.url.partition("#")[0],
        started=sent_at.at,
        seconds=sent_at.seconds,
        status=response.status,
        request_headers=[*(one for one in sent if one[0].lower() not in names), *shown] if names else sent,
        headers=pairs(response.headers),
        body=response.body,
        method=request.method,
        request_body=request.body,
        protocol=response.protocol or "HTTP/1.1",
        ip=None if "proxy" in request.meta else _ip(response),
    )


def _ip(response: Response) -> str | None:
    return str(response.ip_address) if response.ip_address is not None else None


@dataclass(init=False, eq=False)
class Fetch:
    """A visit while Scrapy works on it: from the frontier's `next` until its page is stored.

    Invariants, which the methods keep:

    - At most one of `status`, `error` and `excluded` is set: the last that happened.
    - `exchange` needs a `status`, and `parts` need an `exchange`.
    - An `interrupted` fetch is neither stored nor done.

    The fetch owns its exchange from `arrived` on, and gives it to the page store once, when the fetch is over
    (`captured`). A `PageItem` made of it refers to it and decides what is stored:

    - without a page, as for a redirect or an error: the exchange. If a spider yields no page, as most of Scrapy's do:
      the exchange with the facts of the page itself, if it is HTML or a document (`own_page`);
    - with a page that came through the pipelines (`stored_page`): what that page refers to, also if a pipeline has
      replaced page or exchange;
    - with a page that a pipeline dropped: nothing.

    What belongs to no fetch, such as a robots.txt or a page made by hand, goes to `Fetches.put`.
    """

    visit: Visit
    request: Request
    """The request that Scrapy works on."""
    status: int = 0
    """Status of the answer; 0 without one."""
    error: str = ""
    """Why there was no usable answer."""
    excluded: str = ""
    """The rule that forbids it."""
    exchange: Exchange | None = None
    """The exchange, if it is to be stored."""
    page: PageItem | None = None
    """The page that a spider made of it."""
    read: Callable[[], PageItem] | None = None
    """Reads the page from the response that a spider got; None if no spider got one."""
    stored_page: PageItem | None = None
    """The page that came through the pipelines to the page store."""
    interrupted: bool = False
    """Whether the crawl stopped without waiting for it: the URL stays queued for the next run."""
    is_given_back: bool = False
    """Whether it goes back into the frontier as if never handed out, because this machine could not ask, or the host
    now rests after the request for its robots.txt."""
    rest: float = 0.0
    """Seconds for which its host is then left alone."""
    links_are_known: bool = False
    """Whether the frontier has its links already, so those of its page are left out."""
    leads_on: bool = False
    """Whether it redirects to a URL that was not known."""
    is_worth_it: bool = False
    """Whether it counts as good whatever its status and content."""
    parts: tuple[Exchange, ...] = ()
    """Exchanges of the browser that rendered the page, stored together with it."""
    is_unrendered: bool = False
    """Whether rendering failed, so that the page is taken as sent."""
    brought: frozenset[str] = frozenset()
    """URLs that the browser got for the page, so that they are not fetched as requisites."""
    sent: Sent | None = None
    """The body as sent, if a browser made another one of it."""
    verdict: Verdict | None = None
    """Whether other pages have its content; None if not compared."""

    def __init__(self, visit: Visit, request: Request) -> None:
        self.visit, self.request = visit, request  # the others are the class's, until they change

    def _end(self, status: int = 0, error: str = "", excluded: str = "", exchange: Exchange | None = None) -> None:
        self.status, self.error, self.excluded, self.exchange = status, error, excluded, exchange
        self.parts, self.brought, self.sent, self.read = (), frozenset(), None, None

    def arrived(self, status: int, exchange: Exchange | None = None) -> None:
        """Note an answer; without `exchange` nothing of it is stored."""
        self._end(status=status, exchange=exchange)

    def failed(self, error: str) -> None:
        self._end(error=error)

    def exclude(self, rule: str) -> None:
        self._end(excluded=rule)

    def give_back(self, rest: float = 0.0) -> Request:
        """Put the URL back as if it had not been asked for, and leave its host alone for `rest` seconds, or until it
        has rested from what else it was asked for. Gives the request that does so once it is scheduled.
        """
        self._end()
        self.is_given_back, self.rest = True, rest
        return self.request.replace(dont_filter=True)

    def rendered(self, parts: tuple[Exchange, ...], brought: frozenset[str], sent: Sent) -> None:
        """Note that a browser rendered the answer."""
        self.parts, self.brought, self.sent = parts, brought, sent

    @property
    def captured(self) -> tuple[Exchange, PageItem | None] | None:
        """Exchange and page to store; see the class."""
        if self.stored_page is not None and self.stored_page.exchange is not None:
            return self.stored_page.exchange, self.stored_page
        if self.exchange is None or (self.page is not None and self.page.exchange is self.exchange):
            return None
        return self.exchange, None

    def own_page(self) -> PageItem | None:
        """The page of HTML or a document that the spider made no page of. The spider follows its links itself, and it
        is compared with no other page.
        """
        is_answer = self.is_success and not self.is_worth_it and not self.visit.is_requisite
        if self.page is not None or self.read is None or not is_answer or self.request.method == "HEAD":
            return None
        page = self.read()
        is_page = page.content_type in HTML or document_kind(page.content_type, page.body) is not None
        return page if is_page or page.quarantined else None

    @property
    def may_be_rendered(self) -> bool:
        """Whether the answer is a page that a browser could render."""
        exchange = self.exchange
        if exchange is None or exchange.method != "GET" or exchange.status != 200 or self.visit.is_requisite:
            return False
        types = (value for name, value in exchange.headers if name.lower() == b"content-type")
        return next(types, b"").partition(b";")[0].strip().lower().decode("latin-1") in HTML

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_miss(self) -> bool:
        """Whether a guessed URL turned out not to exist."""
        return is_miss(self.request, self.status)

    @property
    def changed(self) -> bool | None:
        """Whether no page had this body before; None if not compared."""
        return None if self.verdict is None else self.verdict != Verdict.EQUAL

    @property
    def to_compare(self) -> PageItem | None:
        """The page whose content decides whether the fetch was good; None if that is decided otherwise."""
        page = self.page if self.is_success and not self.is_worth_it else None
        return None if page is None or page.quarantined else page

    @property
    def is_good(self) -> bool:
        """Whether it is good: a success that may be indexed and repeats no other page, or a redirect to a new URL."""
        if self.is_worth_it:
            return True
        if not self.is_success:
            return self.leads_on  # a site may link to its pages by redirects alone
        if self.page is None:
            return True
        repeats = self.verdict is not Verdict.NEW and not self.visit.again  # it repeats itself when it comes again
        return not repeats and not self.page.noindex

    def tell_visit(self) -> None:
        """Record the result in the visit."""
        self.visit.status = self.status
        self.visit.cause = cause_of(self.error, self.excluded)

    @property
    def state(self) -> UrlState:
        if self.status:
            return UrlState.FETCHED
        return UrlState.FAILED if self.error else UrlState.EXCLUDED
