"""A sitemap's record, its form on disk (docs/formats/database.md), and when to visit it again: by what it yields, and
by what a visit costs.

A sitemap that brings r good new links a second, visited every T seconds, lets each wait T/2 on average; a visit
costs c requests (a 304 next to nothing). Link-seconds of waiting plus the price p of a request, in link-seconds, are

    r T/2 + p c/T,   least at   T = k sqrt(c/r)   with   k = sqrt(2 p).

If a site's visits come to more than its budget of B requests a second, k grows until they do not: to the sum of
sqrt(r/c) over its sitemaps, divided by B. (The square root is why a sitemap with a hundred times the news gets
ten times the visits, not a hundred times: visits in proportion would starve the many that bring little.)

The rate is estimated from the visits after the first, each older one counting `_FADING` times the one after it. The
sitemap's own word (the dates of its entries, or else `changefreq`) counts as much as what `_TRUST_SECONDS` of
watching would tell, while most of its predictions come true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from math import sqrt
from typing import Any, Final

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawl.sitemaps.entry import Form, Problem
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.urls.url import site_of

NEVER: Final = float("inf")
_MAX_NEWS: Final = 20
"""Visits whose new links are remembered one by one."""
DAY: Final = 86_400.0

_FADING: Final = 0.85
"""Weight of a visit after each further one: the last six or seven make the estimate."""
_TRUST_SECONDS: Final = DAY
"""Seconds of watching that count as much as a sitemap's own claims."""
_PRIOR_LINKS: Final = 0.25
"""New links assumed in addition, because a silent sitemap may wake up."""
_LEAST_COST: Final = 0.2
"""Cost of an unchanged visit, in requests."""
_ENOUGH_TO_TELL: Final = 3.0
"""New links that a claim must predict before a visit can test it."""
_ROUGHLY: Final = 4.0
"""Factor by which a correct prediction may be off."""
_HOPELESS: Final = 5
"""Visits after which a sitemap that has listed nothing but spam is given up."""
MIN_INTERVAL: Final = 600.0
"""Seconds between two visits, at least."""
MAX_INTERVAL: Final = 30 * DAY
"""Seconds between two visits, at most."""
BELIEVED: Final = 0.5
"""Least trust at which claims count."""


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    """How often sitemaps are visited."""

    budget: float = 500.0
    """Requests a day for all sitemaps of a site."""
    price: float = 3600.0
    """Seconds that one new link may wait for what a request costs."""


class SitemapKind(IntEnum):
    """What is expected at an address."""

    SITEMAP = 0
    """Pages, and other sitemaps."""
    ROBOTS = 1
    """`Sitemap:` lines."""
    FRONT = 2
    """Links that are called a site map."""
    MISSING = 3
    """Nothing: how the host answers an address that cannot exist."""


class SitemapState(IntEnum):
    OPEN = 0
    """Not visited yet."""
    VALID = 1
    """It lists something, or did when it last could be read."""
    INVALID = 2
    """There is no sitemap."""
    MOVED = 3
    """It is at another address, which has its own record."""


@dataclass(slots=True)
class SitemapRecord:
    """One address at which new links are looked for. Times are Unix seconds."""

    url: str
    host: str
    """Of `url`, with its port where that is not the scheme's own."""
    kind: SitemapKind = SitemapKind.SITEMAP
    how: How = How.HAND
    parent: str = ""
    """What named it."""
    vouchers: list[str] = field(default_factory=list)
    """Hosts whose robots.txt names it, or the index that it is part of."""
    found: float = 0.0
    state: SitemapState = SitemapState.OPEN
    form: Form = Form.UNKNOWN
    problems: Problem = Problem.NONE
    visits: int = 0
    successes: int = 0
    """Visits that brought a sitemap, or a 304."""
    unchanged: int = 0
    """Of these, those that found it unchanged."""
    failures: int = 0
    """Failures in a row."""
    visited: float = 0.0
    """The last visit's end; 0 before any."""
    latency: float = 0.0
    """Seconds that a visit takes, as a mean in which the last one counts a quarter."""
    etag: str = ""
    modified: str = ""
    """The last Last-Modified header."""
    digest: bytes = b""
    """BLAKE2b-128 of the last body: a server that knows no ETag may send the same again."""
    lastmod: float = 0.0
    """When it last changed, as its index says; 0 if that does not."""
    entries: int = 0
    """Entries at the last successful visit, like the next three fields."""
    alien: int = 0
    """Entries that it has no authority for."""
    skipped: int = 0
    """Entries that are no URL."""
    newest: float = 0.0
    """The newest `lastmod` of an entry; 0 without any."""
    new: int = 0
    """Links that were new, over all visits."""
    news: list[tuple[float, int]] = field(default_factory=list)
    """Time and number of new links of each of the last visits."""
    judged: int = 0
    """Pages fetched that were first seen in it."""
    good: int = 0
    """Good ones among these."""
    right: float = 0.0
    """How often its dates and frequencies proved true; what is old counts less."""
    wrong: float = 0.0
    gain: float = 0.0
    """New links of the visits after the first; what is old counts less."""
    watched: float = 0.0
    """Seconds over which these came."""
    claimed: float = 0.0
    """New links a second by its own dates and frequencies."""
    next_visit: float = NEVER
    status: int = 0
    """The last answer's; 0 before any, and where none came."""
    final: str = ""
    """The last answer's address."""
    text_hash: int = 0
    """SimHash of the last answer's text, where that was a page."""
    origin: str = ""
    """What redirected here; asked again when this fails."""
    hops: int = 0
    """Redirects that led here."""
    unfinished: int = 0
    """Links that were new, of a visit that is not over."""
    listed: bytes = b""
    """Where many workers share a crawl: four bytes for each of the first links of the last visit that brought it."""
    left: int = 0
    """Sitemaps that it names, left out for want of budget."""

    @property
    def site(self) -> str:
        """Site whose budget pays for it: that of the first voucher, or its own."""
        return site_of(self.vouchers[0] if self.vouchers else self.host)

    @property
    def is_guess(self) -> bool:
        """Whether it is a guessed address at which no sitemap was found."""
        return self.kind == SitemapKind.MISSING or (self.how == How.USUAL and self.state != SitemapState.VALID)

    @property
    def spam_share(self) -> float:
        """Share of its entries without authority."""
        return self.alien / (self.entries + self.alien) if self.alien else 0.0

    @property
    def good_share(self) -> float:
        """Share of good pages; 1 if none was fetched."""
        return (self.good + 1) / (self.judged + 1)

    @property
    def success_rate(self) -> float:
        return self.successes / self.visits if self.visits else 0.0

    @property
    def rate(self) -> float:
        """Good new links a second that the sitemap is expected to bring."""
        hoped = self.claimed * self.trust * _TRUST_SECONDS if self.trust >= BELIEVED else 0.0
        links = (self.gain + _PRIOR_LINKS + hoped) / (self.watched + _TRUST_SECONDS)
        return links * self.good_share * (1 - self.spam_share)

    @property
    def trust(self) -> float:
        """Share of the sitemap's predictions that came true, 0 to 1, one more assumed true."""
        return (self.right + 1) / (self.right + self.wrong + 1)

    @property
    def _cost(self) -> float:
        """Cost of a visit in requests: unchanged ones cost little."""
        changed = 1 - self.unchanged / self.successes if self.successes else 1.0
        return max(_LEAST_COST, changed)

    @property
    def weight(self) -> float:
        """Share of its site's budget, in visits; 0 if it is not visited again."""
        return sqrt(self.rate / self._cost) if self.is_watched else 0.0

    @property
    def is_watched(self) -> bool:
        """Whether the sitemap will be visited again."""
        if self.kind == SitemapKind.MISSING or self.state == SitemapState.MOVED:
            return False
        if self.kind in {SitemapKind.ROBOTS, SitemapKind.FRONT} or self._may_come_back:
            return True
        is_spam = self.visits >= _HOPELESS and self.entries == 0 and self.alien > 0
        return self.state == SitemapState.VALID and not is_spam

    @property
    def _may_come_back(self) -> bool:
        """Whether it is named, and its host could not answer."""
        unanswered = self.status in {0, 429} or self.status >= 500
        return self.state == SitemapState.INVALID and self.how != How.USUAL and unanswered

    def interval(self, weights: float, options: ScheduleOptions) -> float:
        """Seconds from one visit to the next; `weights` is the sum of `weight` over all sitemaps of the site."""
        if not self.is_watched:
            return NEVER
        factor = max(sqrt(2 * options.price), weights * DAY / options.budget if options.budget else NEVER)
        seconds = factor * sqrt(self._cost / max(self.rate, 1e-12))
        seconds = min(max(seconds, MIN_INTERVAL), MAX_INTERVAL)
        return min(seconds * 2.0 ** min(self.failures, 30), MAX_INTERVAL)

    def dated(self, lastmod: float, index: SitemapRecord, now: float) -> None:
        """Apply the `lastmod` that its `index` gives: visit it now, or not for long."""
        self.lastmod = lastmod
        if index.trust < BELIEVED or not self.visited or not self.is_watched:
            return
        if lastmod > self.visited:
            self.next_visit = min(self.next_visit, now)
        else:
            self.next_visit = self.visited + MAX_INTERVAL

    # What a visit teaches

    def succeeded(self, now: float, *, new: int, seconds: float, unchanged: bool = False) -> None:
        """A visit ended at `now`, took `seconds`, and brought `new` links that were new."""
        before, is_first = self.visited, self.successes == 0
        self._spend(now, seconds)
        self.successes += 1
        self.unchanged += unchanged
        self.failures = 0
        self.state = SitemapState.VALID
        self.new += new
        self.news = [*self.news, (now, new)][-_MAX_NEWS:]
        if is_first:
            return
        since = now - before
        predicted = self.claimed * since
        if predicted >= _ENOUGH_TO_TELL:
            self.learn(came_true=predicted / _ROUGHLY <= new)
        self.gain = self.gain * _FADING + new
        self.watched = self.watched * _FADING + since

    def failed(self, now: float, *, seconds: float) -> None:
        """A visit at `now` brought no sitemap."""
        self._spend(now, seconds)
        self.failures += 1
        if not self.successes:
            self.state = SitemapState.INVALID

    def _spend(self, now: float, seconds: float) -> None:
        self.visits += 1
        self.visited = now
        self.latency += (seconds - self.latency) / (4 if self.visits > 1 else 1)

    def learn(self, *, came_true: bool) -> None:
        """Record whether one claim of the sitemap was right."""
        self.right = self.right * _FADING + came_true
        self.wrong = self.wrong * _FADING + (not came_true)

    def pack(self) -> bytes:
        """A MessagePack map of what differs from a new record."""
        values = {name: getattr(self, name) for name in _NAMES}
        changed = {name: _plain(value) for name, value in values.items() if value != _NEW[name]}
        packed: bytes = msgpack.packb(changed)
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> SitemapRecord:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            found = msgpack.unpackb(data)
            for name, make in _MAKERS.items():
                if name in found:
                    found[name] = make(found[name])
            return cls(**found)
        except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"A sitemap record of {len(data)} bytes cannot be read: {error}") from error


def _news(pairs: Any) -> list[tuple[float, int]]:
    return [(at, count) for at, count in pairs]


_NAMES: Final = tuple(f.name for f in fields(SitemapRecord))
_NEW: Final = {name: getattr(SitemapRecord("", ""), name) for name in _NAMES}
_MAKERS: Final = {
    "kind": SitemapKind,
    "how": How,
    "state": SitemapState,
    "form": Form,
    "problems": Problem,
    "news": _news,
}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, (SitemapKind, How, SitemapState, Form, Problem)) else value
