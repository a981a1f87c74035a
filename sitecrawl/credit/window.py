"""Importance in a crawl that comes back: the adaptive window of AOPIC.

Where pages are fetched again and again, old spending says little of the web of today. The window keeps, for every
page, an estimate of the credit that it had over the last stretch of the crawl (Abiteboul, Preda and Cobena 2003,
"adaptive OPIC", with their interpolation for histories of fixed span). Time is measured by all credit that was spent,
not by the clock: a crawl that rests for a night has not aged.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """What the window remembers of a page."""

    credit: float = 0.0
    """Credit that the page is estimated to have had over the window before `at`."""
    at: float = 0.0
    """All credit that had been spent when the page was last fetched."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of so much spent credit. Raises `ValueError` if it is not positive."""

    span: float

    def __post_init__(self) -> None:
        if self.span <= 0:
            raise ValueError(f"A window of {self.span} spans nothing")

    def fetch(self, share: Share, credit: float, now: float) -> Share:
        """The page has been fetched with `credit`, when `now` had been spent in all."""
        age = now - share.at
        if age >= self.span:  # all it had since is in `credit`: the window's part of that
            return Share(credit * self.span / age, now)
        return Share(share.credit * (self.span - age) / self.span + credit, now)

    def importance(self, share: Share) -> float:
        """The page's share of all that was spent over the window, from 0 to 1."""
        return min(1.0, share.credit / self.span)
