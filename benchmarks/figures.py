"""Puts what was measured into the tables of a document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from outcome import Outcome
from traps import FOREIGN

_CELLS: Final = 6
"""Of a row for one web: its name, contents; what is in after so many fetches; fetches until 90 and 100% are; fetches
at the end. In a table with a column for each place a cell has the last two.
"""
_COLUMNS: Final = frozenset({"alone", "folder", "host", "domain"})
_PLACES: Final = {FOREIGN: "domain"}


def update(document: Path, outcomes: Iterable[Outcome]) -> int:
    """Rewrite what the tables say of these webs, and of no other; returns how many cells or rows there are."""
    known = {_label(outcome): outcome for outcome in outcomes}
    lines, places, found = document.read_text().split("\n"), list[str](), 0
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            places = []
        elif _COLUMNS.issuperset(cells[1:]):
            places = cells[1:]
        name = cells[0].lower().partition(" (")[0]
        if places:
            there = {at: known[name, place] for at, place in enumerate(places, 1) if (name, place) in known}
            for at, outcome in there.items():
                cells[at] = ", ".join(cells_of(outcome)[2:])
        elif len(cells) == _CELLS and (one := known.get((name, cells[1])) or known.get((name, ""))):
            there = {0: one}
            cells[2:] = cells_of(one)
        else:
            there = {}
        if there:
            lines[number] = f"| {' | '.join(cells)} |".replace("|  |", "| |")
            found += len(there)
    document.write_text("\n".join(lines))
    return found


def _label(outcome: Outcome) -> tuple[str, str]:
    """How a table calls its web: a name, and a place where it has one; of a recorded site, its size."""
    kind, _, rest = outcome.web.rpartition(":")
    name, _, place = rest.partition("@")
    if not kind:
        return name.partition("-")[0], f"{outcome.contents:,}"
    return name, "alone" if kind == "large" and not place else _PLACES.get(place, place)


def cells_of(outcome: Outcome) -> list[str]:
    """The last four cells of its row."""
    shares = ", ".join(_percent(outcome.after(times)) for times in (1.0, 1.5, 2.0))
    most = len(outcome.arrivals) / outcome.contents
    whole = _number(outcome.until(1.0)) + ("" if most == 1 else f" ({_percent(most, 1)}%)")
    return [shares, _number(outcome.until(0.9)), whole, f"{outcome.fetched:,}{'' if outcome.ended else '+'}"]


def _percent(share: float, digits: int = 0) -> str:
    """Rounded; but 100 is all."""
    return f"{100 if share == 1 else min(round(100 * share, digits), 100 - 10**-digits):g}"


def _number(fetches: int | None) -> str:
    return "–" if fetches is None else f"{fetches:,}"  # noqa: RUF001
