"""When to visit a sitemap again: by what it yields, and by what a visit costs.

A sitemap that brings r good new links a second, visited every T seconds, lets each wait T/2 on average; a visit
costs c requests (a 304 next to nothing). Link-seconds of waiting plus the price p of a request, in link-seconds, are

    r T/2 + p c/T,   least at   T = k sqrt(c/r)   with   k = sqrt(2 p).

If a site's visits come to more than its budget of B requests a second, k grows until they do not: to the sum of
sqrt(r/c) over its sitemaps, divided by B. (The square root is why a sitemap with a hundred times the news gets
ten times the visits, not a hundred times: visits in proportion would starve the many that bring little.)

The rate is estimated from the visits after the first, each older one counting `_FADING` times the one after it. The
sitemap's own word (the dates of its entries, or else `changefreq`) counts as much as what `_TRUST_SECONDS` of
watching would tell, while most of its predictions come true.

Pure functions over records: no clock, no disk.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from typing import Final

from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import MAX_NEWS, NEVER, SitemapKind, SitemapRecord, SitemapState

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
_RECENT: Final = 30 * DAY
_PERIODS: Final = {
    "always": 3600.0,
    "hourly": 3600.0,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
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


def rate(record: SitemapRecord) -> float:
    """Good new links a second that the sitemap is expected to bring."""
    share = trust(record)
    hoped = record.claimed * share * _TRUST_SECONDS if share >= BELIEVED else 0.0
    links = (record.gain + _PRIOR_LINKS + hoped) / (record.watched + _TRUST_SECONDS)
    return links * record.good_share * (1 - record.spam_share)


def trust(record: SitemapRecord) -> float:
    """Share of the sitemap's predictions that came true, 0 to 1, one more assumed true."""
    return (record.right + 1) / (record.right + record.wrong + 1)


def cost(record: SitemapRecord) -> float:
    """Cost of a visit in requests: unchanged ones cost little."""
    changed = 1 - record.unchanged / record.successes if record.successes else 1.0
    return max(_LEAST_COST, changed)


def weight(record: SitemapRecord) -> float:
    """Share of its site's budget, in visits; 0 if it is not visited again."""
    return sqrt(rate(record) / cost(record)) if is_watched(record) else 0.0


def is_watched(record: SitemapRecord) -> bool:
    """Whether the sitemap will be visited again."""
    if record.kind == SitemapKind.MISSING or record.state == SitemapState.MOVED:
        return False
    if record.kind in {SitemapKind.ROBOTS, SitemapKind.FRONT} or _may_come_back(record):
        return True
    is_spam = record.visits >= _HOPELESS and record.entries == 0 and record.alien > 0
    return record.state == SitemapState.VALID and not is_spam


def _may_come_back(record: SitemapRecord) -> bool:
    """Whether it is named, and its host could not answer."""
    unanswered = record.status in {0, 429} or record.status >= 500
    return record.state == SitemapState.INVALID and record.how != How.USUAL and unanswered


def interval(record: SitemapRecord, weights: float, options: ScheduleOptions) -> float:
    """Seconds from one visit to the next; `weights` is the sum of `weight` over all sitemaps of the site."""
    if not is_watched(record):
        return NEVER
    factor = max(sqrt(2 * options.price), weights * DAY / options.budget if options.budget else NEVER)
    seconds = factor * sqrt(cost(record) / max(rate(record), 1e-12))
    seconds = min(max(seconds, MIN_INTERVAL), MAX_INTERVAL)
    return min(seconds * 2.0 ** min(record.failures, 30), MAX_INTERVAL)


def is_recent(date: float, now: float) -> bool:
    """Whether an entry of `date` is recent enough to tell the rate of new ones."""
    return now - _RECENT < date <= now


def claim(recent: int, frequencies: Counter[str]) -> float:
    """Claimed new links a second: by the number of recent entries, or else their usual `changefreq`."""
    if recent:
        return recent / _RECENT
    named = [frequency for frequency, _ in frequencies.most_common(1)]
    period = _PERIODS.get(named[0]) if named else None
    return 1 / period if period else 0.0


def told(record: SitemapRecord, lastmod: float, index: SitemapRecord, now: float) -> None:
    """Apply the index's `lastmod` for `record`: visit it now, or not for long."""
    record.lastmod = lastmod
    if trust(index) < BELIEVED or not record.visited or not is_watched(record):
        return
    if lastmod > record.visited:
        record.next_visit = min(record.next_visit, now)
    else:
        record.next_visit = record.visited + MAX_INTERVAL


# What a visit teaches


def visited(record: SitemapRecord, now: float, *, new: int, seconds: float, unchanged: bool = False) -> None:
    """A visit succeeded at `now`, took `seconds`, and brought `new` links that were new."""
    before, is_first = record.visited, record.successes == 0
    _spend(record, now, seconds)
    record.successes += 1
    record.unchanged += unchanged
    record.failures = 0
    record.state = SitemapState.VALID
    record.new += new
    record.news = [*record.news, (now, new)][-MAX_NEWS:]
    if is_first:
        return
    since = now - before
    _test(record, new, since)
    record.gain = record.gain * _FADING + new
    record.watched = record.watched * _FADING + since


def failed(record: SitemapRecord, now: float, *, seconds: float) -> None:
    """A visit at `now` brought no sitemap."""
    _spend(record, now, seconds)
    record.failures += 1
    if not record.successes:
        record.state = SitemapState.INVALID


def _spend(record: SitemapRecord, now: float, seconds: float) -> None:
    record.visits += 1
    record.visited = now
    record.latency += (seconds - record.latency) / (4 if record.visits > 1 else 1)


def _test(record: SitemapRecord, new: int, since: float) -> None:
    """Test the claim against the new links that came."""
    predicted = record.claimed * since
    if predicted >= _ENOUGH_TO_TELL:
        learn(record, came_true=predicted / _ROUGHLY <= new)


def learn(record: SitemapRecord, *, came_true: bool) -> None:
    """Record whether one claim of the sitemap was right."""
    record.right = record.right * _FADING + came_true
    record.wrong = record.wrong * _FADING + (not came_true)
