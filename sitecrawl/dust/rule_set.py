"""Rules that hold together, and what they leave of a URL."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sitecrawl.dust.parts import Parts
from sitecrawl.dust.rules import ORDER, DropKey, Mirror, Rule


class RuleSet:
    """Rules that hold together. `opens` says whether a rule holds for a URL that it would change."""

    def __init__(
        self, rules: Iterable[Rule] = (), opens: Callable[[Rule, Parts], bool] = lambda rule, parts: True
    ) -> None:
        ordered = _without_circles(sorted(rules, key=lambda rule: (ORDER[rule.kind], rule.pack())))
        self.rules = tuple(ordered)
        self._opens = opens
        self._keys = {(r.place, r.key, r.value): r for r in ordered if isinstance(r, DropKey)}
        self._others = [r for r in ordered if not isinstance(r, DropKey)]

    def __len__(self) -> int:
        return len(self.rules)

    def form(self, parts: Parts) -> tuple[Parts, dict[Rule, int]]:
        """The class of `parts`, and the rules that changed it with the strata in which they did."""
        used: dict[Rule, int] = {}
        while self.rules:  # each round leaves fewer keys or segments, more stars, fewer capitals or no slash
            made = self._round(parts, used)
            if made is parts:
                break
            parts = made
        return parts, used

    def _round(self, parts: Parts, used: dict[Rule, int]) -> Parts:
        for rule in self._others:
            if (made := rule.apply(parts)) is not None and self._opens(rule, parts):
                used.setdefault(rule, rule.stratum(parts))
                parts = made
        if self._keys and parts.keys:
            kept = tuple(key for key in parts.keys if not self._is_dropped(parts, key, used))
            if len(kept) < len(parts.keys):
                parts = parts.with_keys(kept)
        return parts

    def _is_dropped(self, parts: Parts, key: str, used: dict[Rule, int]) -> bool:
        """The wide place goes first: what holds there need not be counted at each of the narrow ones."""
        name, has_value, value = key.partition("=")
        for place in reversed(parts.places):
            for wanted in ((place, name, None), (place, name, value if has_value else None)):
                rule = self._keys.get(wanted)
                if rule is not None and self._opens(rule, parts):
                    used.setdefault(rule, rule.stratum(parts))
                    return True
        return False


def _without_circles(rules: Iterable[Rule]) -> list[Rule]:
    """A host that is another's mirror is nobody's original."""
    kept: list[Rule] = []
    ends: dict[str, bool] = {}
    for rule in rules:
        if isinstance(rule, Mirror):
            if rule.origin in ends or ends.get(rule.other, False):
                continue
            ends |= {rule.origin: True, rule.other: False}
        kept.append(rule)
    return kept
