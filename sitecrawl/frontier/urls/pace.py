"""How long a host usually takes, and for how long a URL of it may bring nothing while others wait.

A seat that waits for a slow URL is one that a quick one does not have, and the pause after it is many times as long.
So what has brought hardly anything for many times the host's usual time is put off behind all else that waits, and
asked for once more in the end, for as long as it takes. Whatever the constants are:

- Nothing is put off twice, or while nothing waits that was not put off itself. So a slow URL costs at most twice the
  time that it takes by itself.
- What is put off moves the usual time up. Where most URLs of a host are slow, that soon is what is usual.
- After each `RUN` in a row, for each request under way, both the time that the next may take and the pause after it
  double, and after `LONGEST_RUN` nothing is put off: with no answer in between it is the host that is slow, or down.

The usual time is the median, kept in one number (Ma, Muthukrishnan and Sandler 2013, "Frugal Streaming for Estimating
Quantiles"): each download moves it by `STEP` towards its own time, and no farther. It is not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

STEP: Final = 1.1
LEAST_PATIENCE: Final = 0.5
"""Seconds: packets are lost, and machines are busy."""
RUN: Final = 10
LONGEST_RUN: Final = 2 * RUN


@dataclass(slots=True)
class Pace:
    """Of one host. Times are in seconds."""

    usual: float = 0.0
    """0 before the first download."""
    in_row: int = 0
    """Attempts that were put off since the last answer."""

    def took(self, seconds: float) -> None:
        """A download has brought an answer after so long; infinite for one that was put off."""
        if not self.usual:
            self.usual = seconds if seconds < inf else 0.0
        elif seconds > self.usual:
            self.usual = min(seconds, self.usual * STEP)
        else:
            self.usual = max(seconds, self.usual / STEP)

    def patience(self, factor: float, seats: int) -> float:
        """For how long nothing may come of a URL, while so many requests are under way: so many times the usual time.
        Infinite where nothing is usual.
        """
        if not self.usual or not factor:
            return inf
        return max(LEAST_PATIENCE, factor * self.usual) * self._doubled(seats)

    def pays(self, seats: int) -> float:
        """What the time of one that was put off counts as, for the pause after it."""
        return self.usual * self._doubled(seats)

    def _doubled(self, seats: int) -> int:
        return 1 << self.in_row // (RUN * max(seats, 1))

    def puts_off(self, seats: int) -> bool:
        """Whether one more is put off; it is then counted."""
        if self.in_row >= LONGEST_RUN * seats:
            return False
        self.in_row += 1
        return True

    def answered(self) -> None:
        """Something has come."""
        self.in_row = 0
