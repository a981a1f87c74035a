"""What the Lua steps share with Python, written out for them: no number of order or judge stands there twice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from sitecrawl.cluster.options import BRINGS, WRAP
from sitecrawl.frontier import sections, trap_judge, trap_state
from sitecrawl.frontier.options import TrapOptions
from sitecrawl.frontier.record import Flag, UrlState
from sitecrawl.frontier.tables import MAX_SECTIONS
from sitecrawl.frontier.trap_state import Reason

EXPLORATION: Final = 0.2
"""How much an untried section is hoped for: the factor of the logarithm in the confidence bound of its yield."""
YIELD_POWER: Final = 2.0
_JUDGES: Final = ("CALM_COST", "COMPARED", "LEAST_TRUST", "RECOVERY", "REGROWTH", "TRUST_POWER")


def lua_constants(traps: TrapOptions) -> str:
    """Lua that makes the table `C`: constants in capitals, and `traps`."""
    constants = {
        **{name: getattr(trap_judge, name) for name in _JUDGES},
        **{state.name: int(state) for state in UrlState},
        **{name: getattr(Flag, name) for name in ("AWAITED", "UNFILTERED")},
        **{reason.name: int(reason) for reason in (Reason.GROWS, Reason.WORTHLESS)},
        "TRAP_LIKE_LOSS": sections.TRAP_LIKE_LOSS,
        "WINDOW": trap_state.WINDOW,
        "EXPLORATION": EXPLORATION,
        "YIELD_POWER": YIELD_POWER,
        "BRINGS": BRINGS,
        "MAX_SECTIONS": MAX_SECTIONS,
        "WRAP": WRAP,
        "traps": asdict(traps),
    }
    return f"local C = {_lua(constants)}\n"


def _lua(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_lua(one)}" for name, one in value.items()) + "}"
    return str(value).lower()
