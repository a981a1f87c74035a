"""What each part of the order is good for: the same webs without it, one part at a time.

The frontier has no switches for most of these, so they are replaced here, in the process of one crawl. `PARTS` are
all of them, and what is done to be without.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter
from statistics import median
from typing import Final

from outcome import Outcome
from webreplay import Conditions

from sitecrawl.frontier import portfolio, turns
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.turns import HostTurns
from sitecrawl.frontier.urls import host as hosts
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import LEVEL_ENDS, Aopic
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import TrapState
from sitecrawl.frontier.urls.worth import Kin

TIMES: Final = 3.0
"""Fetches per content within which all should be in, and the crawl at its end."""
_TURN: Final = struct.Struct(">d")
NOTHING: Final = "nothing"


def _put(owner: object, name: str, value: object) -> None:
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} to be without")
    setattr(owner, name, value)


def _rules(conditions: Conditions) -> Conditions:
    return replace(conditions, learn_rules=False)


def _kin_and_leads(conditions: Conditions) -> Conditions:
    """A section is worth what its own pages are, and hope for a new one knows nothing."""
    learn = Section.learn

    def learn_alone(section: Section, *, good: bool, **_: object) -> None:
        learn(section, good=good)

    _put(Section, "learn", learn_alone)
    _put(Kin, "prior", lambda kin, section: 1.0)
    _put(hosts, "look_again", lambda section, sections: None)
    return conditions


def _turns_by_credit(conditions: Conditions) -> Conditions:
    """The URL with the most credit is next, whatever its section and host."""
    _put(Aopic, "takes_turns", value=False)
    return conditions


def _turns_by_worth(conditions: Conditions) -> Conditions:
    """The host with the most trust is next, and of its sections the one that is worth most."""

    def best(host: Host, waiting: Sequence[tuple[bytes, Section]]) -> tuple[bytes, Section]:
        level = min(entry[:LEVEL_ENDS] for entry, _ in waiting)
        return max((one for one in waiting if one[0].startswith(level)), key=lambda one: one[1].worth)

    def preference(self: HostTurns, host: Host, entry: bytes) -> bytes:
        return entry[:LEVEL_ENDS] + _TURN.pack(1 / self._share(host)) + entry

    for module in (portfolio, turns):
        _put(module, "next_section", best)
    _put(HostTurns, "preference", preference)
    return conditions


def _plain_orders(conditions: Conditions) -> Conditions:
    """Breadth first and credit alone pick nothing."""
    _put(portfolio, "SHARE", 1 << 60)
    return conditions


def _trust(conditions: Conditions) -> Conditions:
    """All hosts have the same share."""
    _put(HostGraph, "trust", lambda graph, host: 1 / max(len(graph._names), 1))  # noqa: SLF001 - the hosts that it knows of
    return conditions


def _circles(conditions: Conditions) -> Conditions:
    """Each section is judged, and has its share, by itself."""
    _put(hosts, "circles", lambda brought, shapes: {one: one for one in brought})
    return conditions


def _falling_shares(conditions: Conditions) -> Conditions:
    """What grows is taken for endless, however few of its links are new."""
    _put(TrapState, "count", lambda trap, links, known: None)
    return conditions


def _growth(conditions: Conditions) -> Conditions:
    return _falling_shares(_circles(conditions))


def _hold(conditions: Conditions) -> Conditions:
    return replace(conditions, traps=replace(conditions.traps, hold=False))


PARTS: Final[Mapping[str, Callable[[Conditions], Conditions]]] = {
    NOTHING: lambda conditions: conditions,
    "rules about URLs": _rules,
    "kin and leads": _kin_and_leads,
    "plain orders": _plain_orders,
    "turns: by credit": _turns_by_credit,
    "turns: by worth": _turns_by_worth,
    "trust between hosts": _trust,
    "circles": _circles,
    "falling shares": _falling_shares,
    "circles and falling shares": _growth,
    "holding back": _hold,
}


# The table, as in the documentation

_HEADS: Final = ("without", "webs", "all in within 3x", "at an end within 3x", "90% in after, median", "lost")


def heading(recorded: Iterable[str]) -> str:
    heads = [*_HEADS[:-1], *(f"{name}, 90%" for name in recorded), _HEADS[-1]]
    return f"{_row(heads)}\n{_row(['---'] * len(heads))}"


def row(part: str, outcomes: Sequence[Outcome], recorded: Iterable[str]) -> str:
    """One part's, over all of its crawls."""
    whole = sum((one.until(1.0) or inf) <= TIMES * one.contents for one in outcomes)
    ends = sum(one.ended and one.fetched <= TIMES * one.contents for one in outcomes)
    times = sorted((one.until(0.9) or inf) / one.contents for one in outcomes)
    by_name = {one.web: one for one in outcomes}
    lost = [one.contents - len(one.arrivals) for one in outcomes if len(one.arrivals) < one.contents]
    return _row(
        [
            part,
            str(len(outcomes)),
            str(whole),
            str(ends),
            "-" if (middle := median(times)) == inf else f"{middle:.2f}x",
            *(_number(by_name[name].until(0.9)) for name in recorded),
            f"{sum(lost):,} of {sum(map(attrgetter('contents'), outcomes)):,}, in {len(lost)} webs",
        ]
    )


def _number(fetches: int | None) -> str:
    return "-" if fetches is None else f"{fetches:,}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
