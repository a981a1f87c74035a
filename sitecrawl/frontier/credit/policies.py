"""How the lambda page pays out: evenly over all waiting pages, or over hosts first.

Paying N pages costs O(1). A policy keeps a running *dividend*, what every page has been paid so far, and each
page's record remembers the dividend at which it was last settled; the difference is what it is still owed. With
`hosts`, a host stands between: the policy's dividend is what every host has been paid, and a host's own dividend is
what each of its pages has been paid of that. What does not divide evenly stays as `rest`, so nothing is ever lost.

All amounts are integers, in units of credit. Dividends grow as long as the crawl does, and would outgrow any field on
disk where few pages wait: they are counted modulo `WRAP`, which is more than all credit, so differences stay exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final, Protocol

from sitecrawl.base.errors import OptionError

WRAP: Final = 1 << 64


def owed(dividend: int, mark: int) -> int:
    """What was paid to each payee between `mark` and `dividend`."""
    return (dividend - mark) % WRAP


class Account(Protocol):
    """What a policy keeps of a host."""

    payees: int
    """Pages of this host that wait; the policy counts them."""
    dividend: int
    """What each of them has been paid since the host was first known."""
    mark: int
    """The policy's dividend up to which the host has been settled."""
    rest: int
    """What was paid to the host and does not divide by its pages; 0 where none waits."""


class LambdaPolicy(ABC):
    """Who gets what the lambda page pays."""

    name: ClassVar[str]

    def __init__(self, dividend: int = 0, payees: int = 0) -> None:
        self.dividend = dividend
        self.payees = payees
        """Over how many pages or hosts a payment is split."""

    @abstractmethod
    def enter(self, host: Account) -> None:
        """A page of `host` begins to wait."""

    @abstractmethod
    def leave(self, host: Account) -> int:
        """A page of `host` waits no longer. Returns what goes back to the lambda page."""

    @abstractmethod
    def dividend_of(self, host: Account) -> int:
        """What each waiting page of `host` has been paid so far."""

    def pay(self, amount: int) -> int:
        """Pay `amount` out; returns what does not divide."""
        if self.payees == 0:
            return amount
        share, rest = divmod(amount, self.payees)
        self.dividend = (self.dividend + share) % WRAP
        return rest


class PagesPolicy(LambdaPolicy):
    """Evenly over all waiting pages: AOPIC as published."""

    name = "pages"

    def enter(self, host: Account) -> None:
        self.payees += 1
        host.payees += 1

    def leave(self, host: Account) -> int:
        self.payees -= 1
        host.payees -= 1
        return 0

    def dividend_of(self, host: Account) -> int:
        return self.dividend


class HostsPolicy(LambdaPolicy):
    """Evenly over the hosts that have pages waiting, then over a host's waiting pages."""

    name = "hosts"

    def enter(self, host: Account) -> None:
        if host.payees:
            self._settle(host)
        else:
            self.payees += 1
            host.mark = self.dividend
        host.payees += 1

    def leave(self, host: Account) -> int:
        self._settle(host)
        host.payees -= 1
        if host.payees:
            return 0
        self.payees -= 1
        rest, host.rest = host.rest, 0
        return rest

    def dividend_of(self, host: Account) -> int:
        if host.payees:
            self._settle(host)
        return host.dividend

    def _settle(self, host: Account) -> None:
        """Pass on to the host's pages what it was paid since the last time."""
        share, host.rest = divmod(owed(self.dividend, host.mark) + host.rest, host.payees)
        host.dividend = (host.dividend + share) % WRAP
        host.mark = self.dividend


POLICIES: Final[dict[str, type[LambdaPolicy]]] = {"pages": PagesPolicy, "hosts": HostsPolicy}


def policy_named(name: str, dividend: int = 0, payees: int = 0) -> LambdaPolicy:
    """The policy called `name`, in the state in which it was left. Raises `OptionError`."""
    try:
        return POLICIES[name](dividend, payees)
    except KeyError:
        names = ", ".join(sorted(POLICIES))
        raise OptionError(f"There is no lambda policy {name!r}: choose one of {names}") from None
