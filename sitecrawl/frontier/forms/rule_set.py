"""Rules that hold together, and what they leave of a URL."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sitecrawl.frontier.forms.parts import Parts
from sitecrawl.frontier.forms.rules import MIRROR, Rule, in_order


class RuleSet:
    """Rules that hold together. `opens` says whether a rule holds for a URL that it would change."""

    def __init__(
        self, rules: Iterable[Rule] = (), opens: Callable[[Rule, Parts], bool] = lambda rule, parts: True
    ) -> None:
        self.rules = tuple(_without_circles(sorted(rules, key=in_order)))
        self._opens = opens

    def form(self, parts: Parts) -> tuple[Parts, dict[Rule, int]]:
        """The class of `parts`, and the rules that changed it with the strata in which they did."""
        used: dict[Rule, int] = {}
        before = None
        while before is not parts:  # each round leaves fewer keys or segments, more stars, fewer capitals or no slash
            before = parts
            for rule in self.rules:
                if (made := rule.apply(parts)) is not None and self._opens(rule, parts):
                    used.setdefault(rule, rule.stratum(parts))
                    parts = made
        return parts, used


def _without_circles(rules: Iterable[Rule]) -> list[Rule]:
    """A host that is another's mirror is nobody's original."""
    kept: list[Rule] = []
    ends: dict[str, bool] = {}
    for rule in rules:
        if rule.kind == MIRROR:
            origin, other = rule.what
            if origin in ends or ends.get(other, False):
                continue
            ends |= {origin: True, other: False}
        kept.append(rule)
    return kept
