"""Whose turn it is: the hosts of a crawl share its fetches, and the sections of a host what goes by their worth.

Both by self-clocked fair queueing (Golestani, INFOCOM 1994). Everybody who waits has a *turn*, the time on a virtual
clock at which their next fetch would end if they got their share of all fetches from now on; the earliest turn is
next, and the clock shows the turn of who was served last. What is not taken while nothing waits is gone. A strict
order by some value would let whoever has most of it, or makes most of it, go first for ever.

- A *section's* share is what it is worth (`worth`) times the root of how many of its URLs wait, beside the other
  circles of its host. With equal shares ten short lists would have ten times the fetches of two hundred articles;
  with shares by number what is small would wait for what is large. Of the host's fetches other orders have their
  part (`portfolio`).
- A *host's* share is the trust in it (`frontier.credit.trust`): it flows from the seeds, and no farm of hosts can
  make any. A sheet may give it so many times as much (`priority`).

Nobody's share falls below an even part of `LEAST` of the best one's, or of all. So what waits is fetched, whatever is
found after it: of k sections that wait, every one gets at least one in `k (k + 1) / LEAST` of those that go by worth,
and of n hosts in memory, each at least one in `n (1 + LEAST) / LEAST` of those that politeness allows.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from operator import itemgetter
from typing import Final

from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import MATTERS
from sitecrawl.frontier.urls.order import LEVEL_ENDS, Order, goes_first
from sitecrawl.frontier.urls.sections import Section

LEAST: Final = MATTERS
"""A share that is less would be none."""
_TURN = struct.Struct(">d")


def next_of(host: Host, waiting: Sequence[tuple[bytes, Section]], order: Order) -> tuple[bytes, Section]:
    """Of the host's sections, each with the entry that it would take next, the one that is next: by turns, or by the
    ranks alone where `order` takes none.
    """
    return next_section(host, waiting) if order.takes_turns else min(waiting, key=itemgetter(0))


def next_section(host: Host, waiting: Sequence[tuple[bytes, Section]]) -> tuple[bytes, Section]:
    """Of the host's sections, each with the entry that it would take next, the one whose turn it is."""
    fair = waiting
    if len(waiting) > 1:
        level = min([entry[:LEVEL_ENDS] for entry, _ in waiting])
        fair = [one for one in waiting if one[0].startswith(level)]
    if min([section.turn for _, section in fair]) < host.clock:  # one did not wait until now
        for (_, section), share in zip(fair, shares([section for _, section in fair]), strict=True):
            if section.turn < host.clock:
                section.turn = host.clock + 1 / share
    return min(fair, key=lambda one: one[1].turn)


def shares(sections: Sequence[Section]) -> list[float]:
    """How many turns each of `sections`, all of which wait, has for one of the best: above 0, and at most 1."""
    weights = [section.worth * sqrt(section.queued) for section in sections]
    best = max(weights) or 1.0
    least = LEAST / len(sections)
    circles = defaultdict(list)
    for section, weight in zip(sections, weights, strict=True):
        circles[section.circle].append(weight)
    if len(circles) == len(sections):
        return [max(weight / best, least) for weight in weights]
    ratio = {circle: max(its) / (sum(its) or 1.0) for circle, its in circles.items()}
    return [
        max(weight / best * ratio[section.circle], least) for section, weight in zip(sections, weights, strict=True)
    ]


def take_turn(host: Host, section: Section, entry: bytes) -> None:
    """`section` of `host` takes `entry` in its turn: see `HostTurns.take`."""
    if not goes_first(entry):
        host.clock = section.turn
    waiting = [one for one in host.sections.values() if one is section or _takes_turns(one)]
    section.turn += 1 / shares(waiting)[waiting.index(section)]


class HostTurns:
    """The turns of hosts, `waiting` when it begins; `priority` gives how many a host gets where another gets one."""

    def __init__(
        self, graph: HostGraph, waiting: Iterable[Host], priority: Callable[[Host], float] = lambda _: 1.0
    ) -> None:
        self._graph = graph
        self._priority = priority
        turns = [host.turn for host in waiting]
        self._hosts = len(turns)
        self._clock = min((turn for turn in turns if turn >= 0), default=0.0)

    def preference(self, host: Host, entry: bytes) -> bytes:
        """How soon `host`, which would take `entry` next, may take it: the least first."""
        if host.turn < self._clock:
            host.turn = self._clock + 1 / self._share(host)
        return entry[:LEVEL_ENDS] + _TURN.pack(host.turn)

    def take(self, host: Host, entry: bytes, *, hosts: int) -> None:
        """`host`, one of so many in memory, takes `entry`.

        What a spider wants first, or a redirect leads to, is paid for and moves no clock: the others still wait.
        """
        self._hosts = hosts
        if not goes_first(entry):
            self._clock = max(self._clock, host.turn)
        host.turn += 1 / self._share(host)

    def _share(self, host: Host) -> float:
        share = max(self._graph.trust(host.key), LEAST / max(self._hosts, 1))
        return share * self._priority(host)


def _takes_turns(section: Section) -> bool:
    return section.queued > 0 and not section.trap.demoted and not section.is_requisites
