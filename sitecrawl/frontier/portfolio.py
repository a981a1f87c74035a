"""Which of a host's URLs is next: a few orders pick in turns, and each has its share whatever the others believe.

No order is the best on every site, and none knows beforehand which it is. So one frontier serves four:

- *Breadth first* (`breadth`), which judges nothing.
- *Credit alone*: AOPIC as it was published, the most credit first.
- *Worth* (`turns`): sections in turns, by what their fetches gave of late.
- *Worth and links*: the section that is best by its worth times the credit that it has received for each URL that is
  known of it. What a site is about it links to again and again; what it derives from that, such as forms, versions
  and filters, it links to once.

What is guaranteed, for each host, when n of its URLs have been fetched, for whatever reason:

- Of what *breadth first* would take, in its own order, n / `SHARE` are done. Pages that other orders have fetched
  count, so it picks only what these have left out: about one in ten.
- The same holds of *credit alone*, by the credit that URLs had when they were taken, in classes of half an octave.

Both look at what is held back as a trap, too: a verdict costs a section its turns, and not its pages. Where nothing
else of the host waits they pick nothing, so a trap keeps no crawl going; nor do they pick what grows on a host that
has dried up (`drought`). The other two share what is left, half and
half. So whatever these believe, what breadth first has after n fetches is in after `SHARE` times n, as far as it is
known which page was the first to link to a URL: it is the one that was read first.

A spider that asks for URLs before others, and a depth limit, decide first; within what they leave open, sections take
turns by worth.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from enum import Enum, auto
from math import sqrt
from operator import itemgetter
from typing import Final, NamedTuple

from sitecrawl.frontier.turns import next_of, next_section, take_turn
from sitecrawl.frontier.urls.breadth import Breadth
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import LEVEL_ENDS, LINK_LEVEL, Order, class_of, goes_first
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.tables import UrlTable

SHARE: Final = 4
"""Breadth first and credit alone are sure of one in so many picks each, the other two together of as many."""


class By(Enum):
    """Whose pick it is."""

    BREADTH = auto()
    CREDIT = auto()
    WORTH = auto()
    """Also what goes by ranks alone."""
    LINKS = auto()


class Pick(NamedTuple):
    """A URL that is next on its host."""

    entry: bytes
    """Its entry in the queue of its section."""
    section: Section
    by: By


class Portfolio:
    """See the module. `in_flight` holds the keys of the URLs that are being fetched."""

    def __init__(self, order: Order, breadth: Breadth, urls: UrlTable, in_flight: Container[bytes]) -> None:
        self._order = order
        self._breadth = breadth
        self._urls = urls
        self._in_flight = in_flight

    def next_of(self, host: Host) -> Pick | None:
        """What is to be taken next of `host`; None if nothing waits that may be taken."""
        waiting = host.waiting()
        if not waiting:
            return None
        if self._order.takes_turns and not self._order.by_level:
            level = min([entry[:LEVEL_ENDS] for entry, _ in waiting])
            if level == LINK_LEVEL:
                return self._in_turn(host, [one for one in waiting if one[0].startswith(LINK_LEVEL)])
        return Pick(*next_of(host, waiting, self._order), By.WORTH)

    def last_of(self, host: Host, sections: Sequence[Section]) -> Pick | None:
        """The same where nothing else is left than `sections` of `host`, which are held back: beside the plain orders
        the one goes that says most that is new, and each is tried.
        """
        waiting = [(entry, one) for one in sections if (entry := one.queue.peek()) is not None]
        if not waiting:
            return None
        if self._order.takes_turns and (first := self._plain(host, waiting, sections)) is not None:
            return first
        return Pick(*max(waiting, key=lambda one: (one[1].news + 1) / (one[1].asked + 1)), By.LINKS)

    def _in_turn(self, host: Host, waiting: Sequence[tuple[bytes, Section]]) -> Pick:
        """The pick of the order whose turn it is."""
        if (plain := self._plain(host, waiting)) is not None:
            return plain
        if host.judged % 2:
            return Pick(*next_section(host, waiting), By.WORTH)
        return Pick(*max(waiting, key=_worth_and_links), By.LINKS)

    def _plain(
        self, host: Host, waiting: Sequence[tuple[bytes, Section]], only: Container[Section] | None = None
    ) -> Pick | None:
        """What the plain orders pick, if one of them is behind; of all sections of `host`, or `only` of some."""
        fetches = max(host.picks, host.fetched)  # tests of rules and redirects are no picks
        if SHARE * host.passed < fetches and (first := self._first_found(host, fetches, only)) is not None:
            return Pick(*first, By.BREADTH)
        if SHARE * host.rich < fetches and (richest := self._richest(host, waiting, fetches, only)) is not None:
            return Pick(*richest, By.CREDIT)
        return None

    def taken(self, host: Host, pick: Pick) -> None:
        """Record that `pick` was handed out."""
        if pick.by is By.WORTH:
            take_turn(host, pick.section, pick.entry)
        if goes_first(pick.entry):
            return
        host.picks += 1
        if pick.by is By.CREDIT:
            host.rich += 1
        else:
            host.ahead[class_of(pick.entry)] += 1
        host.judged += pick.by in {By.WORTH, By.LINKS}

    def _richest(
        self, host: Host, waiting: Sequence[tuple[bytes, Section]], fetches: int, only: Container[Section] | None
    ) -> tuple[bytes, Section] | None:
        """The pick of credit alone, if that order is behind its share; URLs taken by others are skipped."""
        traps = [one for one in host.waiting_traps() if one[0].startswith(LINK_LEVEL)] if only is None else []
        richest = min([*waiting, *traps], key=itemgetter(0))
        its_class = class_of(richest[0])
        while SHARE * host.rich < fetches:
            best = max(host.ahead, default=-1)
            if best < its_class:
                return richest
            host.ahead[best] -= 1
            if not host.ahead[best]:
                del host.ahead[best]
            host.rich += 1
        return None

    def _first_found(self, host: Host, fetches: int, only: Container[Section] | None) -> tuple[bytes, Section] | None:
        """The pick of breadth first, if that order is behind its share; finished URLs are skipped."""
        while SHARE * host.passed < fetches and (key := self._breadth.next(host)) is not None:
            record = None if key in self._in_flight else self._urls.get(key)
            if record is not None and record.state == UrlState.QUEUED and record.host == host.key:
                section = host.sections[record.section]
                if (not section.trap.is_left if only is None else section in only) and record.rank.startswith(
                    LINK_LEVEL
                ):
                    return record.rank + key, section
            is_read = record is not None and record.state == UrlState.FETCHED
            self._breadth.pass_over(host, is_read=is_read)
        return None


def _worth_and_links(waiting: tuple[bytes, Section]) -> float:
    section = waiting[1]
    return section.worth * sqrt(section.received / max(section.known, 1))
