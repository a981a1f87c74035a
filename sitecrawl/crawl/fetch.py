"""What has become of a visit so far."""

from __future__ import annotations

from typing import Final

from scrapy import Request

from sitecrawl.crawl.requests import is_miss
from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.record import State
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Exchange, PageItem


class Fetch:
    """A visit as Scrapy works on it, from the frontier's `next` on, until its page is stored.

    Others read its properties, and its methods alone change them. Invariants:

    - Of `status`, `error` and `excluded` at most one is set: the last that has happened counts.
    - There is an `exchange` only with a `status`.
    - What is `interrupted` is neither stored nor done, whatever else has happened.

    Whose an exchange is: the fetch owns it, from `arrived` on, and gives it to the page store once, when the fetch is
    over (`captured`). A `PageItem` made of it refers to it, and decides by that what is stored:

    - no page, as of a redirect, an error, or by a spider that yields none: the exchange alone;
    - a page that came through the pipelines (`passed`): with what the page refers to, also if a pipeline has put
      another page or another exchange in its place;
    - a page that a pipeline dropped: nothing.

    What belongs to no fetch, such as a robots.txt or a page made by hand, whoever has it hands to `Runtime.put`.
    """

    __slots__ = (
        "_error",
        "_exchange",
        "_excluded",
        "_interrupted",
        "_is_worth_it",
        "_leads_on",
        "_links_are_known",
        "_page",
        "_passed",
        "_status",
        "_verdict",
        "request",
        "visit",
    )

    def __init__(self, visit: Visit, request: Request) -> None:
        self.visit: Final = visit
        self.request: Final = request
        """The request that Scrapy works on."""
        self._status = 0
        self._error = ""
        self._excluded = ""
        self._exchange: Exchange | None = None
        self._page: PageItem | None = None
        self._passed: PageItem | None = None
        self._verdict: Verdict | None = None
        self._is_worth_it = self._leads_on = self._links_are_known = self._interrupted = False

    # What happens

    def arrived(self, status: int, exchange: Exchange | None = None) -> None:
        """An answer has come; without `exchange` there is nothing of it to store."""
        self._end(status=status)
        self._exchange = exchange

    def failed(self, error: str) -> None:
        """Nothing came, or nothing of use, for this reason."""
        self._end(error=error)

    def exclude(self, rule: str) -> None:
        """This rule forbids it."""
        self._end(excluded=rule)

    def _end(self, status: int = 0, error: str = "", excluded: str = "") -> None:
        assert bool(status) + bool(error) + bool(excluded) <= 1, (self.visit.url, status, error, excluded)
        self._status, self._error, self._excluded, self._exchange = status, error, excluded, None

    def interrupt(self) -> None:
        """The crawl is being stopped and does not wait for it: the URL stays queued, for the next run."""
        self._interrupted = True

    def lead_on(self) -> None:
        """It redirects to a URL that was not known."""
        assert self._status, self.visit.url
        self._leads_on = True

    def parsed(self, page: PageItem) -> None:
        """A spider has made this page of it, on which the pipelines have yet to decide."""
        self._page = page

    def passed(self, page: PageItem) -> None:
        """The pipelines let this page through to the page store."""
        assert page.exchange is not None, page.url
        self._passed = page

    def links_known(self) -> None:
        """Its links have been handed to the frontier already: those of its page are to be left out."""
        self._links_are_known = True

    def worth_it(self) -> None:
        """It was worth having, whatever its status and its content say."""
        self._is_worth_it = True

    def compared(self, verdict: Verdict) -> None:
        """Whether other pages have its content."""
        self._verdict = verdict

    # What has become of it

    @property
    def status(self) -> int:
        """Of the answer; 0 without one."""
        return self._status

    @property
    def error(self) -> str:
        """Why nothing came back."""
        return self._error

    @property
    def excluded(self) -> str:
        """The rule that forbids it."""
        return self._excluded

    @property
    def exchange(self) -> Exchange | None:
        """What came back."""
        return self._exchange

    @property
    def page(self) -> PageItem | None:
        """What a spider made of it."""
        return self._page

    @property
    def captured(self) -> tuple[Exchange, PageItem | None] | None:
        """What is to be stored of it: see the class."""
        if self._passed is not None and self._passed.exchange is not None:
            return self._passed.exchange, self._passed
        if self._exchange is None or (self._page is not None and self._page.exchange is self._exchange):
            return None
        return self._exchange, None

    @property
    def interrupted(self) -> bool:
        return self._interrupted

    @property
    def links_are_known(self) -> bool:
        return self._links_are_known

    @property
    def is_redirect(self) -> bool:
        return 300 <= self._status < 400

    @property
    def is_success(self) -> bool:
        return 200 <= self._status < 300

    @property
    def is_miss(self) -> bool:
        """Whether nobody has said that there is anything at its URL, and nothing is."""
        return is_miss(self.request, self._status)

    @property
    def changed(self) -> bool | None:
        """Whether no page had this body before; None if it was not looked at."""
        return None if self._verdict is None else self._verdict != Verdict.EQUAL

    @property
    def to_compare(self) -> PageItem | None:
        """The page on whose content depends whether the fetch was good; None if it does not."""
        return self._page if self.is_success and not self._is_worth_it else None

    @property
    def is_good(self) -> bool:
        """Whether it was worth a fetch: a success that may be indexed and repeats no other, or a way to a new URL."""
        if self._is_worth_it:
            return True
        if not self.is_success:
            return self._leads_on  # a site may link to its pages by redirects alone
        if self._page is None:
            return True
        repeats = self._verdict is not Verdict.NEW and not self.visit.again  # it repeats itself when it comes again
        return not repeats and not self._page.noindex

    @property
    def state(self) -> State:
        if self._status:
            return State.FETCHED
        return State.FAILED if self._error else State.EXCLUDED
