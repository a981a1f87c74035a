"""What speaks for a rule and what against it, and so how far it is to be trusted.

    candidate --support--> testing --tests agree--> trusted
                              |                        |
                              +----- failed tests -----+--> dropped --twice the support--> testing
    any of these --two views of a page--> minted --failed tests--> dropped
               the name of a session id --> known --failed tests--> dropped

*Support*: two fetched URLs of one class had the same content. That may be chance, and the pairs that suggest a rule
are chosen by it; so a rule that has enough of it only makes a forecast: URLs of a class that is fetched wait, and a
few of them are fetched to see (a *test*). One that all of these agree with is trusted, and its forecasts go on being
tested. Every number here is small, and has its reason beside it.

What two views of one page show (`frontier.forms.views`) is no chance, and needs no support. Pages of a site where
that has to be looked at differ at each fetch, so its tests fail for another title alone. A key that is called as
sessions are, and has a value like theirs, needs none either; its tests fail for another content, as other sites have
pages behind such names.

A rule is one thing, but it need not hold for all URLs of its place: a forum says "there is no newer topic" at
`view=next` whatever topic `t` names, and `t` alone names the topic. So what is counted is counted by *stratum*, the
names of the keys beside it. A rule joins URLs in a stratum that is *open*, which one agreement is enough for once the
rule is in test, and which a counter-example closes. So a rule carries over from one set of keys to another at the
price of one fetch, and not unseen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.options import RARE

SUPPORT: Final = 3
"""Pairs before a rule is tested. Bar-Yossef et al. (2007, §5) find that below about 3 a rule is as often chance; a
test costs a fetch, so more would cost as much as it saves."""
TESTS: Final = 5
"""Tests that must all agree before a rule is trusted. With the support that makes 8 pages in a row: a rule that is
wrong for half of the URLs gets that far once in 256 times, and is found out by the tests that follow."""
WINDOW: Final = 20
"""A rule is dropped when two of so many tests failed, and a stratum is shut by a counter-example among so many. A
bound on confidence cannot say it: Wilson's lower bound (1927) of 8 agreements out of 8 is 0.68, and passes 0.95 only
at 73. A site of which one page in 1,000 changes between two fetches fails so once in 50,000 tests."""
MAX_STRATA: Final = 64
"""Sets of keys that are told apart: those of six keys, of which any may be missing. In others it joins nothing."""


class State(IntEnum):
    """How far a rule is trusted."""

    CANDIDATE = 0
    TESTING = 1
    TRUSTED = 2
    DROPPED = 3
    """It has failed; it is a candidate again with twice the support."""
    REFUSED = 4
    """A person wants it not to hold."""
    ORDERED = 5
    """A person has said that it holds."""
    MINTED = 6
    """What it takes away is new at each view of a page."""
    KNOWN = 7
    """What it takes away is called as session ids are, and looks like one."""


ACTIVE: Final = frozenset({State.TESTING, State.TRUSTED, State.ORDERED, State.MINTED, State.KNOWN})
"""States in which URLs are joined by the rule."""
_OF_SESSIONS: Final = frozenset({State.MINTED, State.KNOWN})
"""States of rules that take away sessions and the like, and need no support."""


@dataclass(slots=True)
class Evidence:
    """See the module. Strata are named by numbers of 32 bits."""

    state: State = State.CANDIDATE
    need: int = SUPPORT
    """Support that it takes before it is tested."""
    agreed: int = 0
    """Pairs of one class with the same content in strata that are open, since it was last dropped or surprised."""
    differed: int = 0
    """Pairs and tests with another content, ever."""
    tests: int = 0
    """Tests that agreed, since it was last dropped."""
    failed: int = 0
    """Tests that did not, ever."""
    recent: int = 0
    """The last `WINDOW` tests, one bit each, the newest last: 1 for a failure. Others follow it at once."""
    strata: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How many pairs and tests agreed in each stratum, and how many did not."""

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_of_sessions(self) -> bool:
        return self.state in _OF_SESSIONS

    @property
    def is_doubtful(self) -> bool:
        """Whether more than one test in fifty has failed, and not just one: too much for the end of a crawl, where
        what is still joined is lost.
        """
        is_tested = self.state in {State.TRUSTED, *_OF_SESSIONS}
        return is_tested and self.failed > max(1.0, RARE * (self.tests + self.failed))

    @property
    def is_unproven(self) -> bool:
        """Whether it joins URLs before its tests have shown enough."""
        return self.state == State.TESTING or (self.state == State.KNOWN and not self.tests)

    @property
    def mostly_differs(self) -> bool:
        return self.differed > sum(agreed for agreed, _ in self.strata.values())

    def opens(self, stratum: int) -> bool:
        """Whether the rule joins URLs in `stratum`, as far as it is active."""
        if self.state == State.ORDERED:
            return True
        has_agreed = self.is_of_sessions or self.strata.get(stratum, (0, 0))[0] > 0
        return has_agreed and self._balance(stratum) >= 0

    def refuses(self, stratum: int) -> bool:
        """Whether it is known not to hold in `stratum`."""
        return self.state in {State.DROPPED, State.REFUSED} or self._balance(stratum) < 0

    def _balance(self, stratum: int) -> int:
        agreed, differed = self.strata.get(stratum, (0, 0))
        return agreed - WINDOW * differed

    def pair(self, stratum: int, *, same: bool) -> None:
        """Two pages of one class had the same content, or had not; nobody had a forecast in mind."""
        if self.state == State.MINTED and not same:
            return  # its pages differ at each fetch
        was_open = self.opens(stratum)
        self._count(stratum, same=same)
        if same:
            self.agreed += self.opens(stratum)
        elif was_open:
            self.agreed = 0
        if self.state in {State.CANDIDATE, State.DROPPED} and self.agreed >= self.need:
            self.state, self.tests, self.recent = State.TESTING, 0, 0

    def mint(self) -> bool:
        """Two views of a page have shown that what it takes away is new at each; whether that changes anything: not
        if it was wrong before, nor against what a person has said.
        """
        if self.state in {State.MINTED, State.REFUSED, State.ORDERED} or self.failed > 1:
            return False
        self.state, self.recent, self.strata = State.MINTED, 0, {}
        return True

    def test(self, stratum: int, *, same: bool) -> None:
        """A URL that was joined has been fetched, and had its class's content or had not."""
        self._count(stratum, same=same)
        self.tests += same
        self.failed += not same
        if self.state in {State.REFUSED, State.ORDERED}:
            return
        self.recent = (self.recent << 1 | (not same)) & ((1 << WINDOW) - 1)
        if self.recent.bit_count() > 1 or (self.state == State.TESTING and not same):
            self.drop()
        elif self.state == State.TESTING and self.tests >= TESTS:
            self.state = State.TRUSTED

    def _count(self, stratum: int, *, same: bool) -> None:
        if stratum in self.strata or len(self.strata) < MAX_STRATA:
            agreed, differed = self.strata.get(stratum, (0, 0))
            self.strata[stratum] = agreed + same, differed + (not same)
        self.differed += not same

    def drop(self) -> None:
        """What it had was not enough: next time it takes twice as much."""
        if self.state == State.KNOWN:
            self.failed = 0  # its name says nothing, but views of a page may still show that it is new at each
        self.need = 2 * max(self.need, self.agreed + self.tests)
        self.state, self.agreed, self.tests, self.recent = State.DROPPED, 0, 0, 0

    def pack(self) -> tuple[int, ...]:
        return (
            int(self.state), self.need, self.agreed, self.differed, self.tests, self.failed, self.recent,
            *(number for stratum, counts in self.strata.items() for number in (stratum, *counts)),
        )  # fmt: skip

    @classmethod
    def unpack(cls, packed: tuple[int, ...]) -> Evidence:
        """Raises `CorruptFile` for what no `pack` gave."""
        try:
            state, *numbers = packed
            need, agreed, differed, tests, failed, recent, *rest = map(_count, numbers)
            strata = {rest[n]: (rest[n + 1], rest[n + 2]) for n in range(0, len(rest), 3)}
            return cls(State(state), need, agreed, differed, tests, failed, recent, strata)
        except (IndexError, TypeError, ValueError) as error:
            raise CorruptFile(f"The evidence for a rule cannot be read: {packed!r}") from error


def _count(number: object) -> int:
    if not isinstance(number, int) or not 0 <= number < 1 << 63:
        raise ValueError(number)
    return number
