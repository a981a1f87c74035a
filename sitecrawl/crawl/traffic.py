"""A run in figures: what came, what failed, and how fast; and words for what keeps a crawl from pages."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from sitecrawl.base.limits import PRIVATE_ADDRESS
from sitecrawl.crawl.page_reading import QUARANTINED
from sitecrawl.crawl.refusals import REFUSED
from sitecrawl.crawl.requests import GUESSES, NOT_DECODED, NOT_SHOWN, OF_REQUISITES, OF_TDM_FILES
from sitecrawl.frontier.urls.causes import OF_ERRORS, OF_RULES, WORDS
from sitecrawl.page.refusals import RefusalKind

_NO_FAILURES: Final = frozenset(
    {"HostGivenUp", "IgnoreRequest", "InWant", "Interrupted", "LoginFailed", "PrivateAddress", "Unreachable"}
)
"""Exceptions by which a middleware declines a request; no failures."""
REDIRECTS: Final = "redirects that end nowhere"
OUT_OF_SCOPE: Final = "redirects out of scope"


def of_exception(name: str) -> str:
    """Words for the exception called `name`; empty if there are none."""
    if name in _NO_FAILURES:
        return ""
    return WORDS[OF_ERRORS[name]] if name in OF_ERRORS else name


def of_status(status: int) -> str:
    """Words for an answer with an error `status`."""
    try:
        return f"answers {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"answers {status}"


def of_rule(rule: str) -> str:
    """Why `rule` forbids a URL."""
    return WORDS[OF_RULES[rule]] if rule in OF_RULES else rule


LOST: Final = "cluster/lost_pages"
"""The statistic of pages that a worker has fetched and that do not count."""
PUT_OFF: Final = "sitecrawl_put_off"
"""In the `meta` of a request: its first attempt was put off."""
_PUT_OFF: Final = frozenset({"NothingYet", "PutOff"})
RATE_SECONDS: Final = 10.0
"""The speed that is shown is that of so many last seconds."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """One run in figures. A robots.txt is no response here, nor a file of TDM reservations."""

    statuses: Counter[int] = field(default_factory=Counter)
    """Responses by status, without those of requisites, errors that were answers to guesses, pages that were asked
    for again because a browser could not show them, and what could not be decoded."""
    failures: Counter[str] = field(default_factory=Counter)
    """Downloads that brought nothing, by what went wrong; every attempt counts that was not put off."""
    received: int = 0
    """Bytes of all responses, as transferred."""
    duplicates: int = 0
    """Links and requests to URLs that were known."""
    forbidden: int = 0
    """URLs that robots.txt forbids."""
    spider_errors: int = 0
    """Exceptions of the spider's own code."""
    private: int = 0
    """Connections that were refused for their address."""
    quarantined: int = 0
    """Pages on which the process broke that read them."""
    links_skipped: int = 0
    """Pages whose links were not followed: others have their content."""
    lost: int = 0
    """Pages that this worker of many has fetched for nothing: others had their sites by then."""
    guesses: int = 0
    """Addresses that were guessed, such as those that sitemaps usually have, and were none."""
    sitemaps_left: int = 0
    """Sitemaps that were not asked for: too many of their sites had brought nothing, or they are nested too deep."""
    requisites: Counter[int] = field(default_factory=Counter)
    """Responses by status to requests for what pages are made of."""
    rendered: int = 0
    """Pages that a browser has rendered."""
    gained: int = 0
    """Rendered pages that had more links or text then."""
    not_rendered: int = 0
    """Pages that a browser could not render: they were taken as they came."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Answers by which a site said no, by kind; those that were challenges are among `statuses`, too."""

    @classmethod
    def read(cls, stats: Mapping[str, Any]) -> Traffic:
        """The figures among Scrapy's statistics."""
        statuses = _numbered(stats, "downloader/response_status_count/")
        statuses.subtract(_numbered(stats, "robotstxt/response_status_count/"))
        statuses.subtract(_numbered(stats, OF_TDM_FILES))
        guesses = _numbered(stats, GUESSES)
        statuses.subtract(guesses)
        statuses.subtract(_numbered(stats, NOT_SHOWN))
        statuses.subtract(_numbered(stats, NOT_DECODED))
        requisites = _numbered(stats, OF_REQUISITES)
        statuses.subtract(requisites)
        followed, new = stats.get("links/followed", 0), stats.get("links/new", 0)
        return cls(
            statuses=+statuses,
            requisites=requisites,
            failures=_failures(stats),
            received=stats.get("downloader/response_bytes", 0),
            duplicates=followed - new + stats.get("dupefilter/filtered", 0),
            forbidden=stats.get("robotstxt/forbidden", 0),
            private=stats.get(PRIVATE_ADDRESS.stat, 0),
            quarantined=stats.get(QUARANTINED, 0),
            links_skipped=stats.get("content/links_skipped", 0),
            lost=stats.get(LOST, 0),
            guesses=guesses.total(),
            sitemaps_left=sum(stats.get(f"sitemaps/{name}", 0) for name in ("left_out", "nested", "too_many")),
            rendered=stats.get("rendering/pages", 0),
            gained=stats.get("rendering/gained", 0),
            not_rendered=stats.get("rendering/given_up", 0),
            refusals=Counter({kind: n for kind in RefusalKind if (n := stats.get(REFUSED + kind, 0))}),
            spider_errors=sum(n for name, n in stats.items() if name.startswith("spider_exceptions/")),
        )

    @property
    def responses(self) -> int:
        return self.statuses.total()

    @property
    def errors(self) -> int:
        refused = sum(n for status, n in self.statuses.items() if status >= 400)
        return refused + self.failures.total() + self.spider_errors


def _numbered(stats: Mapping[str, Any], prefix: str) -> Counter[int]:
    return Counter({int(name[len(prefix) :]): n for name, n in stats.items() if name.startswith(prefix)})


def _failures(stats: Mapping[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, n in stats.items():
        if name.startswith("downloader/exception_type_count/"):
            kind = name.rpartition("/")[2].rpartition(".")[2]
            if kind not in _PUT_OFF and (words := of_exception(kind)):
                found[words] += n
    return found


class Rate:
    """How fast a total has grown in the last seconds, or since the last sample if that is longer ago."""

    def __init__(self, seconds: float = RATE_SECONDS) -> None:
        self._seconds = seconds
        self._samples: deque[tuple[float, int]] = deque()
        self._last = self._fallen = 0

    def update(self, now: float, total: int) -> float:
        """Note `total` at the time `now`; returns its growth a second. It falls where URLs are queued once more: that
        is no growth.
        """
        self._fallen += max(0, self._last - total)
        self._last = total
        total += self._fallen
        self._samples.append((now, total))
        while len(self._samples) > 2 and now - self._samples[0][0] > self._seconds:
            self._samples.popleft()
        since, before = self._samples[0]
        return (total - before) / (now - since) if now > since else 0.0
