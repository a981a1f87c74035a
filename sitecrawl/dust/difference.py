"""What two URLs of one content differ in, if that is one thing: the rules that this suggests."""

from __future__ import annotations

from typing import Final

from sitecrawl.dust.parts import Parts, in_lower_case, places_of
from sitecrawl.dust.rules import CaseFold, DropKey, DropSegment, DropSuffix, Mirror, Rule, TrailingSlash

MAX_POSITION: Final = 8
"""Path segments that are told apart."""


def difference(one: Parts, other: Parts) -> list[Rule]:
    """The rules by which `one` and `other` would be of one class: they differ in exactly one thing.

    The narrow one first. Nothing for URLs that differ in more: each part alone would explain nothing.
    """
    same_path = one.segments == other.segments and one.slash == other.slash
    if one.origin != other.origin:
        return [Mirror(one.origin, other.origin)] if same_path and one.keys == other.keys else []
    if same_path:
        return _by_key(one, other)
    return _by_path(one, other) if one.keys == other.keys else []


def _by_path(one: Parts, other: Parts) -> list[Rule]:
    """They differ in their paths alone."""
    if one.segments == other.segments:
        return [TrailingSlash()]
    if abs(len(one.segments) - len(other.segments)) == 1:
        return _by_length(*sorted((one, other), key=lambda parts: len(parts.segments)))
    if len(one.segments) != len(other.segments) or one.slash != other.slash:
        return []
    differing = [n for n, (a, b) in enumerate(zip(one.segments, other.segments, strict=True)) if a != b]
    at = differing[0]
    if all(in_lower_case(one.segments[n]) == in_lower_case(other.segments[n]) for n in differing):
        return [CaseFold()]
    if len(differing) > 1 or at >= MAX_POSITION:
        return []
    return [DropSegment(place, at) for place in places_of(one.segments[:at] + one.segments[at + 1 :])]


def _by_key(one: Parts, other: Parts) -> list[Rule]:
    """They differ in their keys alone. Where one has a key once that the other has not, it may be that value only."""
    ours, theirs = one.values(), other.values()
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    if len(names) != 1:
        return []
    name = names[0]
    rules: list[Rule] = [DropKey(place, name) for place in one.places]
    values = ours.get(name, ()) + theirs.get(name, ())
    if (
        (name not in ours or name not in theirs)
        and len(values) == 1
        and f"{name}={values[0]}" in one.keys + other.keys
    ):
        rules += [DropKey(place, name, values[0]) for place in one.places]
    return rules


def _by_length(short: Parts, long: Parts) -> list[Rule]:
    """They differ in one path segment that only `long` has."""
    last = len(long.segments) - 1
    if short.slash and not long.slash and long.segments[:-1] == short.segments:
        return [DropSuffix(long.segments[-1])]
    if short.slash != long.slash and short.segments:
        return []
    for at in range(min(last + 1, MAX_POSITION)):
        if long.segments[:at] + long.segments[at + 1 :] == short.segments:
            return [DropSegment(place, at, away=True) for place in short.places]
    return []
