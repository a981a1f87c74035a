"""The credit ledger: who holds how much credit, and the promise that none is made or lost.

AOPIC (Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003) gives every seed the
same credit. Fetching a page spends its credit: a tax goes to the *lambda page*, a virtual page that every page
links to, and the rest is split evenly over the page's distinct out-links. The credit that a page has ever had is its
*history*; its share of all histories converges to the page's PageRank, without the graph ever being stored. When the
lambda page holds more than the page that would be fetched next, it is "fetched": it pays out all it has.

Where we deviate, and why:
- Credit is counted in integers, so that "none is made or lost" is an equation and not an approximation; what does
  not divide evenly stays with the lambda page. `TOTAL` leaves 10^11 units a page at ten million pages.
- Credit that reaches a page that has been fetched and will not be again adds to its history, so to its importance,
  and passes on to the lambda page: kept by the page it would be out of the game for ever. Where pages come back
  (`comes_back`) it waits for the next visit, as published, and each visit gets the same small grant of the lambda
  page's, which holds enough for it: so nothing depends on who is first.
- Where pages come back, credit of late counts (ibid., "Adaptive OPIC"). The paper shrinks a page's history by the
  part of a window that has gone by since its last visit, so each page needs the time of that. Here what comes counts
  the more, the more has flowed (`weight`), which is the same for shares: a page still has one figure. The window is
  a quarter of all credit at first and grows by a fifth of what flows, so no figure grows beyond a float's range.
- A history counts what came along links, and no dividends. Where every page is fetched once, a page's dividends grow
  with the time that it waits, and drown what links say: with them the rank correlation with PageRank is 0.19 on one
  real graph of 6,000 pages, without them 0.32 (benchmarks/order.py, lambda policy `pages`).
- A page that fails, or that links nowhere, leaves all of its credit to the lambda page.
- Seeds that are added later bring new credit with them, as much as each of the first had.

Invariant, whenever no call is under way: the balances of all waiting pages, what is left on hosts' accounts, what
the lambda page holds and what is pending add up to `total`. Where many ledgers share a crawl, their totals and what
is on its way between them add up to all that seeds ever brought.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.credit.policies import Account, LambdaPolicy, owed, policy_named

TOTAL: Final = 10**18
"""Units of credit that the first seeds share."""
_LARGEST: Final = 8 * TOTAL
"""All credit there may ever be, later seeds' included: it fits into 63 bits."""
_LONE_SEED_SHARES: Final = 100
"""Seeds that come one by one bring so little of `TOTAL` each that thousands can."""
TAX_DIVISOR: Final = 10
"""One such part of what a page spends is the tax."""

_WINDOWS: Final = 4
"""So many make up all credit."""
_FADING: Final = 0.8
"""With 0 all counts alike for ever; 1 is a window that never grows, with weights that do so exponentially."""
_AGAIN: Final = " again"
"""Behind the policy's name in the record of a ledger whose pages come back."""

_STATE = struct.Struct(">QQQQQd")


class Purse(Protocol):
    """What the ledger keeps of a page."""

    credit: int
    """Credit that came along links and was not spent yet."""
    mark: int
    """Its host's dividend up to which the page has been settled."""
    history: float
    """Credit that ever came to the page along links, each unit by the weight that it had then."""


class Flow(NamedTuple):
    """What other ledgers of the same crawl have told."""

    spent: float = 0.0
    total: float = 0.0


class Ledger:
    """Moves credit between pages and the lambda page. The pages' records belong to the frontier, which writes down
    every record and host that a call has changed.
    """

    def __init__(self, policy: LambdaPolicy) -> None:
        self.policy = policy
        self.total = 0
        self.reserve = 0
        """What the lambda page holds."""
        self.pending = 0
        """What was spent on pages whose records have not been credited yet."""
        self.spent = 0.0
        """All credit that ever came along links, by its weight: the sum of all histories."""
        self.elsewhere = Flow()
        self.seed_share = 0
        """What every seed brings."""
        self.comes_back = False
        """Whether pages that have been fetched will be again. A crawl of which that was so once keeps to it."""

    def share(self, seeds: int) -> int:
        """What each of `seeds` seeds brings; the first that are told of decide on it."""
        self.seed_share = self.seed_share or TOTAL // max(seeds, _LONE_SEED_SHARES)
        return self.seed_share

    def seed(self, seeds: int) -> int:
        """Make the credit of `seeds` new seeds; returns each one's."""
        new = self.make(self.share(seeds) * seeds)
        self.reserve += new % seeds if seeds else 0
        return new // seeds if seeds else 0

    def make(self, amount: int) -> int:
        """Make so much credit, or what there may still be; returns it."""
        new = min(amount, max(0, _LARGEST - self.total))
        self.total += new
        return new

    def grant(self, pages: int) -> int:
        """The lambda page pays one of `pages` that is to be fetched again, if it holds so much: a seed's share, or
        where all come back what each of them pays in taxes, on average, when all credit goes round once.
        """
        share = self.total // (TAX_DIVISOR * max(pages, 1)) if self.comes_back else self.seed_share
        amount = min(self.reserve, share)
        self.reserve -= amount
        return amount

    def enter(self, page: Purse, host: Account) -> None:
        """`page` begins to wait, and is paid dividends."""
        self.policy.enter(host)
        page.mark = self.policy.dividend_of(host)

    def leave(self, page: Purse, host: Account) -> None:
        """`page` waits no longer; what it was paid is its own."""
        self._settle(page, host)
        self.reserve += self.policy.leave(host)

    def spend(self, page: Purse, host: Account, links: int, nofollow: int, *, rest: int = 0) -> int:
        """The waiting `page` spends all it has on `links` distinct pages and, a tenth each, on `nofollow` others.

        It keeps the shares of `rest` further links, which come later. Returns the tenth of a share. The caller
        `credit`s the targets in time; until then it is `pending`.
        """
        self._settle(page, host)
        tenths = 10 * links + nofollow
        amount = page.credit * tenths // (tenths + 10 * rest) if rest else page.credit
        page.credit -= amount
        tenth = (amount - amount // TAX_DIVISOR) // tenths if tenths else 0
        self.pending += tenth * tenths
        self.reserve += amount - tenth * tenths
        return tenth

    def credit(self, page: Purse, amount: int, *, waits: bool) -> None:
        """Credit that was spent on `page` reaches it; one that will not be fetched again passes it on."""
        self.credit_many([(page, amount, waits)])

    def credit_many(self, payments: Iterable[tuple[Purse, int, bool]]) -> None:
        """`credit` for each page with its amount, and whether it waits: a checkpoint has thousands."""
        pending, reserve, spent, weight = self.pending, self.reserve, self.spent, self.weight
        for page, amount, waits in payments:
            pending -= amount
            worth = weight * amount
            page.history += worth
            spent += worth
            if waits:
                page.credit += amount
            else:
                reserve += page.credit + amount
                page.credit = 0
        self.pending, self.reserve, self.spent = pending, reserve, spent

    def lose(self, amount: int) -> None:
        """What was spent on a page that there is no record of any more goes to the lambda page."""
        self.pending -= amount
        self.reserve += amount

    def send(self, amount: int) -> None:
        """What was spent on a page of another ledger's leaves this one's books."""
        self.pending -= amount
        self.total -= amount

    def receive(self, amount: int) -> None:
        """What was spent on a page of this ledger's has come from another one; then it is like any other."""
        self.pending += amount
        self.total += amount

    def give_up(self, page: Purse) -> None:
        """What the page holds goes to the lambda page: it will not be fetched (again)."""
        self.reserve += page.credit
        page.credit = 0

    def pay(self, waiting: int = 1, pages: int = 1) -> None:
        """The lambda page pays out all it holds to what waits; where pages come back, the part of that in `pages`."""
        kept = self.reserve - self.reserve * waiting // pages if self.comes_back else 0
        self.reserve = kept + self.policy.pay(self.reserve - kept)

    @property
    def weight(self) -> float:
        """What a unit of credit that comes now counts, beside the very first: 1 where each page is fetched once."""
        if not self.comes_back:
            return 1.0
        spent = max(self.spent + self.elsewhere.spent, 0.0)
        total = max(self.total + self.elsewhere.total, TOTAL / _LONE_SEED_SHARES)  # what the first seed has brought
        return float((1 + _WINDOWS * spent / total) ** _FADING)

    def importance(self, page: Purse) -> float:
        """The page's share of all credit that came along links, from 0 to 1; of late, where pages come back."""
        return page.history / self.spent if self.spent else 0.0

    def _settle(self, page: Purse, host: Account) -> None:
        dividend = self.policy.dividend_of(host)
        page.credit += owed(dividend, page.mark)
        page.mark = dividend

    def pack(self) -> bytes:
        policy = self.policy
        state = _STATE.pack(self.total, self.reserve, self.seed_share, policy.dividend, policy.payees, self.spent)
        return state + f"{policy.name}{_AGAIN * self.comes_back}".encode()

    @classmethod
    def unpack(cls, data: bytes) -> Ledger:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            total, reserve, share, dividend, payees, spent = _STATE.unpack_from(data)
            text = data[_STATE.size :].decode()
            ledger = cls(policy_named(text.removesuffix(_AGAIN), dividend, payees))
        except (struct.error, ValueError) as error:
            raise CorruptFile(f"The ledger's record of {len(data)} bytes cannot be read: {error}") from error
        ledger.total, ledger.reserve, ledger.seed_share, ledger.spent = total, reserve, share, spent
        ledger.comes_back = text.endswith(_AGAIN)
        return ledger
