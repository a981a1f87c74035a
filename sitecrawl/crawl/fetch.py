"""Progress of a visit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scrapy import Request

from sitecrawl.crawl.requests import is_miss
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.causes import cause_of
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.document_kinds import kind_of as document_kind
from sitecrawl.page.items import Exchange, PageItem, Sent
from sitecrawl.page.media_type import HTML


@dataclass(frozen=True, init=False, eq=False)
class Fetch:
    """A visit as Scrapy works on it, from the frontier's `next` on, until its page is stored.

    Others read its fields, and its methods alone change them. Invariants:

    - Of `status`, `error` and `excluded` at most one is set: the last that has happened counts.
    - There is an `exchange` only with a `status`, and there are `parts` only with an `exchange`.
    - What is `interrupted` is neither stored nor done, whatever else has happened.

    Whose an exchange is: the fetch owns it, from `arrived` on, and gives it to the page store once, when the fetch is
    over (`captured`). A `PageItem` made of it refers to it, and decides by that what is stored:

    - no page, as of a redirect or an error: the exchange alone. By a spider that yields none, as most of Scrapy's do:
      with what it says of itself, if it is one that people read (`own_page`);
    - a page that came through the pipelines (`passed`): with what the page refers to, also if a pipeline has put
      another page or another exchange in its place;
    - a page that a pipeline dropped: nothing.

    What belongs to no fetch, such as a robots.txt or a page made by hand, whoever has it hands to `Fetches.put`.
    """

    visit: Visit
    request: Request
    """The request that Scrapy works on."""
    status: int = 0
    """Status of the answer; 0 without one."""
    error: str = ""
    """Why nothing came back, or nothing of use."""
    excluded: str = ""
    """The rule that forbids it."""
    exchange: Exchange | None = None
    """The exchange, if it is to be stored."""
    page: PageItem | None = None
    """The page that a spider made of it."""
    read: Callable[[], PageItem] | None = None
    """Reads what a spider was given; None where no spider was given anything."""
    stored_page: PageItem | None = None
    """The page that the pipelines let through to the page store."""
    interrupted: bool = False
    """Whether the crawl is being stopped and did not wait for it: the URL stays queued, for the next run."""
    is_given_back: bool = False
    """Whether it goes back into the frontier as if it had never been handed out: this machine could not ask, or the
    host was asked for its robots.txt first, and rests from that."""
    rest: float = 0.0
    """Seconds for which its host is then left alone."""
    links_are_known: bool = False
    """Whether the frontier has its links already: those of its page are to be left out."""
    leads_on: bool = False
    """Whether it redirects to a URL that was not known."""
    is_worth_it: bool = False
    """Whether it was worth having, whatever its status and its content say."""
    parts: tuple[Exchange, ...] = ()
    """Exchanges of the browser that rendered the page, stored together with it."""
    is_unrendered: bool = False
    """Whether a browser was to render it, and could not: it is taken as it came."""
    brought: frozenset[str] = frozenset()
    """The URLs of all that the browser was given: nobody has to fetch these for the page."""
    sent: Sent | None = None
    """Of what came, where the page has another body: what a browser made of that."""
    verdict: Verdict | None = None
    """Whether other pages have its content; None if it was not looked at."""

    def __init__(self, visit: Visit, request: Request) -> None:
        self._note(visit=visit, request=request)  # the others are the class's, until they change

    def _note(self, **fields: Any) -> None:
        vars(self).update(fields)

    def _end(self, status: int = 0, error: str = "", excluded: str = "", exchange: Exchange | None = None) -> None:
        assert bool(status) + bool(error) + bool(excluded) <= 1, (self.visit.url, status, error, excluded)
        self._note(
            status=status,
            error=error,
            excluded=excluded,
            exchange=exchange,
            parts=(),
            brought=frozenset(),
            sent=None,
            read=None,
        )

    def arrived(self, status: int, exchange: Exchange | None = None) -> None:
        """An answer has come; without `exchange` there is nothing of it to store."""
        self._end(status=status, exchange=exchange)

    def rendered(self, parts: tuple[Exchange, ...], brought: frozenset[str], sent: Sent) -> None:
        """A browser has rendered what has arrived."""
        assert self.exchange is not None, self.visit.url
        self._note(parts=parts, brought=brought, sent=sent)

    def not_rendered(self) -> None:
        assert self.exchange is not None, self.visit.url
        self._note(is_unrendered=True)

    def failed(self, error: str) -> None:
        self._end(error=error)

    def exclude(self, rule: str) -> None:
        self._end(excluded=rule)

    def interrupt(self) -> None:
        self._note(interrupted=True)

    def give_back(self, rest: float = 0.0) -> Request:
        """Put the URL back as if it had not been asked for, and leave its host alone for `rest` seconds, or until it
        has rested from what else it was asked for. Gives the request that does so once it is scheduled.
        """
        self._end()
        self._note(is_given_back=True, rest=rest)
        return self.request.replace(dont_filter=True)

    def lead_on(self) -> None:
        assert self.status, self.visit.url
        self._note(leads_on=True)

    def given(self, read: Callable[[], PageItem]) -> None:
        """A spider gets what has arrived, of which `read` makes a page if the spider does not."""
        self._note(read=read)

    def parsed(self, page: PageItem) -> None:
        """A spider has made this page of it, on which the pipelines have yet to decide."""
        self._note(page=page)

    def passed(self, page: PageItem) -> None:
        assert page.exchange is not None, page.url
        self._note(stored_page=page)

    def links_known(self) -> None:
        self._note(links_are_known=True)

    def worth_it(self) -> None:
        self._note(is_worth_it=True)

    def compared(self, verdict: Verdict) -> None:
        self._note(verdict=verdict)

    @property
    def captured(self) -> tuple[Exchange, PageItem | None] | None:
        """Exchange and page to store; see the class."""
        if self.stored_page is not None and self.stored_page.exchange is not None:
            return self.stored_page.exchange, self.stored_page
        if self.exchange is None or (self.page is not None and self.page.exchange is self.exchange):
            return None
        return self.exchange, None

    def own_page(self) -> PageItem | None:
        """What the spider has made no page of, though it is one: HTML, or a document. Its links are the spider's to
        follow, and it is compared with no other page.
        """
        is_answer = self.is_success and not self.is_worth_it and not self.visit.is_requisite
        if self.page is not None or self.read is None or not is_answer or self.request.method == "HEAD":
            return None
        page = self.read()
        is_page = page.content_type in HTML or document_kind(page.content_type, page.body) is not None
        return page if is_page or page.quarantined else None

    @property
    def may_be_rendered(self) -> bool:
        """Whether what came says that it is a page, which a browser could make more of."""
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
        """Whether nobody has said that there is anything at its URL, and nothing is."""
        return is_miss(self.request, self.status)

    @property
    def changed(self) -> bool | None:
        """Whether no page had this body before; None if it was not looked at."""
        return None if self.verdict is None else self.verdict != Verdict.EQUAL

    @property
    def to_compare(self) -> PageItem | None:
        """The page on whose content depends whether the fetch was good; None if it does not."""
        page = self.page if self.is_success and not self.is_worth_it else None
        return None if page is None or page.quarantined else page

    @property
    def is_good(self) -> bool:
        """Whether it was worth a fetch: a success that may be indexed and repeats no other, or a way to a new URL."""
        if self.is_worth_it:
            return True
        if not self.is_success:
            return self.leads_on  # a site may link to its pages by redirects alone
        if self.page is None:
            return True
        repeats = self.verdict is not Verdict.NEW and not self.visit.again  # it repeats itself when it comes again
        return not repeats and not self.page.noindex

    def tell_visit(self) -> None:
        """Let the visit know what came, or why nothing did."""
        self.visit.status = self.status
        self.visit.cause = cause_of(self.error, self.excluded)

    @property
    def state(self) -> UrlState:
        if self.status:
            return UrlState.FETCHED
        return UrlState.FAILED if self.error else UrlState.EXCLUDED
