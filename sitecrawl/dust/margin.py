"""How much of a page changes by itself, which is seen when it is fetched twice.

A clock, a visitors' counter, a nonce, articles that are recommended beside another: two forms of such a page are as
unlike as two fetches of one URL are. So where pages have the title of another and not its text, a few are fetched a
second time. What is new of the text then, and how far it is from before, a page may have in addition, and still say
what another of its title has said. Where two fetches of a URL are alike, all has to be alike.

Both figures have to be met, as each is blind for something: a short list of other links brings little new text, and
the texts of two pages with a large menu are near one another. Where a page brings no more than a second fetch would,
and is yet too far from the other, nobody can tell: it speaks neither for a rule nor against one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sitecrawl.page.simhash import MAX_DISTANCE

KEPT: Final = 4
"""Pages that were fetched twice of which the figures are kept, the last ones: the greatest count."""
MOST: Final = 0.5
"""What brings so much that is new is another page, whatever changes."""
DOUBT: Final = 0.1
"""New text that a page may have more than twice what another had: few words of a short text are sampled."""


class Change(NamedTuple):
    """What two fetches of a URL differed in."""

    share: float
    """Of the second one's text, what its host had not shown."""
    distance: int
    """Bits of the SimHash."""


class Margin:
    """See the module."""

    def __init__(self, suspects: int = 0, changes: tuple[Change, ...] = ()) -> None:
        self.suspects = suspects
        """Pages that came with the title of another, and another text."""
        self.changes = changes

    def suspect(self) -> bool:
        """A page has the title of another, and another text. Whether it should be fetched twice: the first few such
        ones, and then as many again whenever there are twice as many.
        """
        self.suspects += 1
        return self.suspects <= KEPT or self.suspects.bit_count() == 1

    def learn(self, change: Change) -> bool:
        """A URL was fetched twice. Whether that allows for more than before."""
        before = self.share, self.distance
        self.changes = (*self.changes, change)[-KEPT:]
        return self.share > before[0] or self.distance > before[1]

    @property
    def distance(self) -> int:
        """Bits in which two texts may differ and say the same; 0 where two fetches are alike."""
        most = max((change.distance for change in self.changes), default=0)
        return most and most + 2 * MAX_DISTANCE

    @property
    def share(self) -> float:
        """Of a text that says the same, what may be new."""
        return min(2 * max((change.share for change in self.changes), default=0.0) + DOUBT, MOST)

    def doubts(self, share: float) -> bool:
        """Whether a page may say what another of its title does, though it is too far from it: it brings nothing."""
        return self.distance > 0 and share <= self.share
