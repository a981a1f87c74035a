"""Puts what was measured into the tables of a document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from outcome import Outcome
from traps import FOREIGN

_CELLS: Final = 6
"""Name, place or contents; what is in after so many fetches; fetches until 90 and 100% are; fetches at the end."""
_PLACES: Final = {FOREIGN: "domain"}


def update(document: Path, outcomes: Iterable[Outcome]) -> int:
    """Rewrite the rows of these webs, and no other; returns how many there are."""
    known = {_label(outcome): outcome for outcome in outcomes}
    lines, name, found = document.read_text().split("\n"), "", 0
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != _CELLS:
            continue
        name = cells[0].lower().partition(" (")[0] or name
        outcome = known.get((name, cells[1])) or known.get((name, ""))
        if outcome is not None:
            lines[number] = f"| {' | '.join([*cells[:2], *cells_of(outcome)])} |".replace("|  |", "| |")
            found += 1
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
