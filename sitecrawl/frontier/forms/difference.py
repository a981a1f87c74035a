"""What URLs of one content differ in, and so the rules under which they would be of one class.

Two URLs of a content may differ in several things at once: those choose nothing together, which is one rule. It is
narrower than a rule for each alone, and all that such a pair has shown. Of the pairs in a set of pages with one
content those are looked at first that differ in the least.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sitecrawl.frontier.forms.parts import Parts, in_lower_case, places_of
from sitecrawl.frontier.forms.rules import CASE, DROP, INDEX, MIRROR, SLASH, Rule, slot_of, slots_of

MAX_POSITION: Final = 8
"""Path segments that are told apart."""


def difference(one: Parts, other: Parts) -> list[Rule]:
    """The rules by which `one` and `other` would be of one class, the narrow one first; [] if there is none."""
    if one.origin != other.origin:
        alike = (one.segments, one.slash, one.keys) == (other.segments, other.slash, other.keys)
        return [Rule(MIRROR, what=(one.origin, other.origin))] if alike else []
    ours, theirs = one.values(), other.values()
    names = tuple(sorted(name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)))
    if not names and (spelled := _spelling(one, other)) is not None:
        return [spelled]
    if (path := _path(one, other)) is None or not names + path:
        return []
    what = (*map(slot_of, names), *path)
    rest = slots_of(what).rest(max(one.segments, other.segments, key=len))
    rules = [Rule(DROP, place, what) for place in places_of(rest or ())]
    if len(what) == len(names) == 1 and (ours.keys() ^ theirs.keys()):  # it may be that value only
        value, *more = ours.get(names[0], ()) + theirs.get(names[0], ())
        rules += [Rule(DROP, place, (f"{what[0]}={value}",)) for place in one.places if value and not more]
    return rules


def nearest(parts: Parts, others: Iterable[Parts]) -> list[Parts]:
    """`others` that differ from it, in the least first."""
    found = [(difference(parts, other), other) for other in others]
    return [other for rules, other in sorted(found, key=lambda pair: len(pair[0][0].what) if pair[0] else 0) if rules]


def _spelling(one: Parts, other: Parts) -> Rule | None:
    """They differ in no key, and perhaps in how the path is written."""
    if one.segments == other.segments:
        return Rule(SLASH) if one.slash != other.slash else None
    short, long = sorted((one, other), key=lambda parts: len(parts.segments))
    if long.segments[:-1] == short.segments and short.slash and not long.slash:
        return Rule(INDEX, what=(long.segments[-1],))
    in_lower = tuple(map(in_lower_case, one.segments)) == tuple(map(in_lower_case, other.segments))
    return Rule(CASE) if in_lower and one.slash == other.slash else None


def _path(one: Parts, other: Parts) -> tuple[str, ...] | None:
    """The slot by which their paths differ, if it is one; () where they do not."""
    short, long = sorted((one.segments, other.segments), key=len)
    if one.slash != other.slash and short:
        return None
    if len(short) == len(long):
        differing = [at for at, (a, b) in enumerate(zip(short, long, strict=True)) if a != b]
        return tuple(f"/{at}" for at in differing) if len(differing) < 2 and sum(differing) < MAX_POSITION else None
    if len(long) - len(short) > 1:
        return None
    taken = (at for at in range(min(len(long), MAX_POSITION)) if long[:at] + long[at + 1 :] == short)
    return next(((f"/{at}-",) for at in taken), None)
