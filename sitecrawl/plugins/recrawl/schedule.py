"""When to fetch a page again: by how often it changes, by its importance, and by what there is to spend.

A page changes at random, on average r times a second (a Poisson process: Cho and Garcia-Molina 2003, "Effective page
refresh policies for web crawlers", measured that it holds well enough). Fetched every T seconds, our copy is fresh
for the share F(rT) = (1 - exp(-rT)) / rT of the time. With w for its importance, the sum of w F over all pages, less
the price p of each fetch, is greatest where the last fetch of every page is worth its price:

    w (1 - exp(-rT) (1 + rT)) / r = p.

So what changes often is visited more often, up to a point: a page that changes faster than it can be followed
(w < p r) is not worth the fetches, and is visited less and less. (Visits in proportion to the rate do worse than
visits that are equal for all, ibid., section 4.) It is not given up at once, for what was seen at short intervals
says little of long ones: its next visit comes after `_FARTHEST` changes at most.

The price follows the budget: each plan moves it a little, so that all plans together come to what may be spent.

The rate is estimated from visits that saw a change or none, which cannot tell one change from several: by Cho and
Garcia-Molina's estimator for that ("Estimating frequency of change", 2003), visits fading as they age, and half a
visit with a change always taken to have come, so that what has been still for long is looked at now and then.

Pure functions over records: no clock, no disk.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from math import exp, log, sqrt
from typing import Final

import msgpack

from sitecrawl.base.errors import CorruptFile

DAY: Final = 86_400.0
MOST_FAILURES: Final = 5
"""Visits in a row that brought no page, after which a page is given up."""
MAX_VALIDATOR: Final = 1_000
"""Characters of an ETag or a Last-Modified that are remembered: longer ones are no use to anybody."""

_FADING: Final = 0.9
"""What a visit counts when the next one is done: the last ten make the estimate."""
_LEAST, _MOST = 0.2, 5.0
"""How much less or more than the average page a page may count, whatever its importance."""
_FARTHEST: Final = 8.0
"""Changes that a page is expected to have made by its next visit, at most."""
_GAIN: Final = 2.0
"""How much the price follows the plans while each page is planned once. Plans go with the root of the price."""
_HALVINGS: Final = 40


@dataclass(frozen=True, slots=True)
class Visits:
    """The record of a page that is fetched repeatedly."""

    visited: float
    """Unix time of the last visit that brought the page, in seconds."""
    next_visit: float = 0.0
    """Unix time; 0 while it is under way."""
    interval: float = 0.0
    """Seconds from `visited` to the next visit, as planned."""
    digest: bytes = b""
    """Of what a reader sees of the page."""
    etag: str = ""
    modified: str = ""
    """The Last-Modified header, as it came."""
    visits: float = 0.0
    """Visits after the first, fading."""
    changes: float = 0.0
    """Those of them that found a change."""
    watched: float = 0.0
    """Seconds between them in all, fading in the same way."""
    failures: int = 0
    """Visits in a row that brought no page."""

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb(astuple(self))
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> Visits:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            values = msgpack.unpackb(data)
        except (ValueError, TypeError, msgpack.UnpackException) as error:
            raise CorruptFile(f"The record of a page's visits cannot be read: {error}") from error
        if not isinstance(values, list) or [type(value) for value in values] != _KINDS:
            raise CorruptFile("The record of a page's visits cannot be read: it has other fields")
        return cls(*values)

    def after(self, now: float, *, digest: bytes | None) -> Visits:
        """The record after a visit at `now`. `digest` is None if the server reported no change."""
        changed = digest is not None and digest != self.digest
        return replace(
            self,
            visited=now,
            digest=self.digest if digest is None else digest,
            visits=self.visits * _FADING + 1,
            changes=self.changes * _FADING + changed,
            watched=self.watched * _FADING + max(0.0, now - self.visited),
            failures=0,
        )

    @property
    def rate(self) -> float:
        """Changes a second that the page is expected to make; 0 before its second visit."""
        if not self.visits or not self.watched:
            return 0.0
        still = (self.visits - self.changes + 0.5) / (self.visits + 1)
        return -log(still) * self.visits / self.watched


_KINDS: Final = [type(value) for value in astuple(Visits(0.0))]


@dataclass(frozen=True, slots=True)
class RecrawlOptions:
    """How often pages are fetched again."""

    budget: float = 10_000.0
    """Fetches a day, for all pages together."""
    min_interval: float = 3600.0
    """Seconds between two fetches of a page, at least."""
    max_interval: float = 30 * DAY
    """Seconds between two fetches of a page, at most."""

    def interval(self, visits: Visits, importance: float, price: float) -> float:
        """Seconds from the last visit to the next; `importance` as `worth` gives it."""
        changes = visits.rate
        if changes == 0.0:
            seconds: float = sqrt(self.min_interval * self.max_interval)
        else:
            seconds = _best(price * changes / importance) / changes
        seconds *= float(1 << visits.failures)
        return min(max(seconds, self.min_interval), self.max_interval)

    def first_interval(self, pages: int) -> float:
        """Seconds in which the budget allows all of `pages` to be fetched once: nothing is known of them yet."""
        return min(pages * DAY / self.budget if self.budget else 0.0, self.max_interval)

    def new_price(self, price: float, planned: float, pages: int) -> float:
        """The price after one more plan, when all plans together come to `planned` fetches a second."""
        budget = self.budget / DAY
        if not budget or not planned:
            return price
        change = float((planned / budget) ** (_GAIN / max(pages, 10)))
        return min(max(price * change, 1e-6), 1e12)


def worth(importance: float, pages: int) -> float:
    """A page's importance in that of the average page, of so many `pages`; between a fifth and five times."""
    return min(max(importance * pages, _LEAST), _MOST)


def _best(target: float) -> float:
    """The x up to `_FARTHEST` at which 1 - exp(-x) (1 + x), which grows from 0 to 1, is nearest to `target`."""
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if 1 - exp(-middle) * (1 + middle) < target:
            low = middle
        else:
            high = middle
    return high
