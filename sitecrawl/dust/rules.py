"""Rules: what in a URL chooses no content. Each takes that away, and what is left names a *class* of URLs.

Such rules are called DUST, different URLs with similar text (Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the
DUST", WWW 2007). Theirs replace one substring by another, and those of Dasgupta, Kumar and Sasturkar ("De-duping URLs
via rewrite rules", KDD 2008) and Koppula et al. ("Learning URL patterns for webpage de-duplication", WSDM 2010) are
made of a URL's keys and path segments. So are these, for that is what sites are made of, and a person can read them.

A rule is keyed by the key and the *place* (`dust.parts`), and not by all the keys of the query: what is learnt of a
session id carries over to URLs with other keys beside it.

Invariant, tested on random URLs and rules: the form of a form is the form itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, TypeAlias

from sitecrawl.base.errors import CorruptFile
from sitecrawl.dust.parts import STAR, Parts, name_of, places_of

MAX_POSITION: Final = 8
"""Path segments that are told apart."""

Packed: TypeAlias = tuple[str, ...]


class Rule(Protocol):
    """See the module."""

    kind: ClassVar[str]

    def apply(self, parts: Parts) -> Parts | None:
        """`parts` without what does not matter; None where the rule has nothing to take away."""
        ...

    def covers(self, parts: Parts) -> bool:
        """Whether `parts` may be in a class with URLs that the rule changes: it is changed, or is such a form."""
        ...

    def narrower(self, parts: Parts) -> Rule | None:
        """The same rule at the narrow place of `parts`, which it applies to; None if it is that, or has no place."""
        ...

    def stratum(self, parts: Parts) -> int:
        """What evidence for the rule is counted by: the names of the keys beside it."""
        ...

    @property
    def subject(self) -> Packed:
        """What is taken away, wherever: rules of one subject at several places vouch for one another."""
        ...

    def pack(self) -> Packed: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class DropKey:
    """A key of the query or, with a name that begins with `;`, of the path; with `value` only where it has that."""

    kind: ClassVar[str] = "key"
    place: str
    key: str
    value: str | None = None

    def apply(self, parts: Parts) -> Parts | None:
        if not parts.keys or self.place not in parts.places:
            return None
        gone = self.key if self.value is None else f"{self.key}={self.value}"
        kept = tuple(k for k in parts.keys if (name_of(k) if self.value is None else k) != gone)
        return parts.with_keys(kept) if len(kept) < len(parts.keys) else None

    def covers(self, parts: Parts) -> bool:
        return self.place in parts.places

    def narrower(self, parts: Parts) -> Rule | None:
        return DropKey(parts.places[0], self.key, self.value) if parts.places[0] != self.place else None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum(self.key)

    @property
    def subject(self) -> Packed:
        return (self.kind, self.key, *((self.value,) if self.value is not None else ()))

    def pack(self) -> Packed:
        return (self.kind, self.place, self.key, *((self.value,) if self.value is not None else ()))

    def __str__(self) -> str:
        what = self.key if self.value is None else f"{self.key}={self.value}"
        return f'without "{what}" in {self.place}'


@dataclass(frozen=True, slots=True)
class DropSegment:
    """A path segment, replaced by a star; `away`: taken out, so that paths without it are in the class.

    `place` is that of the path without the segment.
    """

    kind: ClassVar[str] = "segment"
    place: str
    position: int
    away: bool = False

    def apply(self, parts: Parts) -> Parts | None:
        segments, at = parts.segments, self.position
        if at >= len(segments) or (segments[at] == STAR and not self.away):
            return None
        rest = segments[:at] + segments[at + 1 :]
        if self.place not in places_of(rest):
            return None
        return parts.with_segments(rest if self.away else (*segments[:at], STAR, *rest[at:]), slash=parts.slash)

    def covers(self, parts: Parts) -> bool:
        at = self.position
        if self.away and self.place in parts.places:
            return True
        return at < len(parts.segments) and self.place in places_of(parts.segments[:at] + parts.segments[at + 1 :])

    def narrower(self, parts: Parts) -> Rule | None:
        narrow = places_of(parts.segments[: self.position] + parts.segments[self.position + 1 :])[0]
        return DropSegment(narrow, self.position, self.away) if narrow != self.place else None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        return (self.kind, str(self.position), "away" if self.away else "")

    def pack(self) -> Packed:
        return (self.kind, self.place, str(self.position), "away" if self.away else "")

    def __str__(self) -> str:
        how = "without" if self.away else "whatever is"
        return f"{how} path segment {self.position + 1} before or in {self.place}"


@dataclass(frozen=True, slots=True)
class DropSuffix:
    """The name of a directory's index: `/a/index.html` is `/a/`."""

    kind: ClassVar[str] = "index"
    name: str

    def apply(self, parts: Parts) -> Parts | None:
        if parts.slash or not parts.segments or parts.segments[-1] != self.name:
            return None
        return parts.with_segments(parts.segments[:-1], slash=True)

    def covers(self, parts: Parts) -> bool:
        return parts.slash or parts.segments[-1] == self.name

    def narrower(self, parts: Parts) -> Rule | None:
        return None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        return (self.kind, self.name)

    def pack(self) -> Packed:
        return (self.kind, self.name)

    def __str__(self) -> str:
        return f'without "{self.name}" at the end of the path'


@dataclass(frozen=True, slots=True)
class TrailingSlash:
    """`/a/` is `/a`."""

    kind: ClassVar[str] = "slash"

    def apply(self, parts: Parts) -> Parts | None:
        return parts.with_segments(parts.segments, slash=False) if parts.slash and parts.segments else None

    def covers(self, parts: Parts) -> bool:
        return bool(parts.segments)

    def narrower(self, parts: Parts) -> Rule | None:
        return None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        return (self.kind,)

    def pack(self) -> Packed:
        return (self.kind,)

    def __str__(self) -> str:
        return "without a slash at the end of the path"


@dataclass(frozen=True, slots=True)
class CaseFold:
    """`/About` is `/about`."""

    kind: ClassVar[str] = "case"

    def apply(self, parts: Parts) -> Parts | None:
        lower = tuple(map(_lower, parts.segments))
        return parts.with_segments(lower, slash=parts.slash) if lower != parts.segments else None

    def covers(self, parts: Parts) -> bool:
        return bool(parts.segments)

    def narrower(self, parts: Parts) -> Rule | None:
        return None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        return (self.kind,)

    def pack(self) -> Packed:
        return (self.kind,)

    def __str__(self) -> str:
        return "whether letters of the path are upper or lower case"


@dataclass(frozen=True, slots=True)
class Mirror:
    """The pages of `origin` (scheme and host) are those of `other`."""

    kind: ClassVar[str] = "mirror"
    origin: str
    other: str

    def apply(self, parts: Parts) -> Parts | None:
        return parts.with_origin(self.other) if parts.origin == self.origin else None

    def covers(self, parts: Parts) -> bool:
        return parts.origin in {self.origin, self.other}

    def narrower(self, parts: Parts) -> Rule | None:
        return None

    def stratum(self, parts: Parts) -> int:
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        return self.pack()

    def pack(self) -> Packed:
        return (self.kind, self.origin, self.other)

    def __str__(self) -> str:
        return f"{self.origin} is {self.other}"


def _lower(segment: str) -> str:
    """In lower case but for percent-encoded octets, whose digits a canonical URL has in upper case."""
    if "%" not in segment:
        return segment.lower()
    first, *others = segment.split("%")
    return "".join([first.lower(), *(f"%{other[:2]}{other[2:].lower()}" for other in others)])


_KINDS: Final[dict[str, type[Rule]]] = {
    kind.kind: kind for kind in (Mirror, CaseFold, DropSegment, DropSuffix, TrailingSlash, DropKey)
}
_ORDER: Final = {name: number for number, name in enumerate(_KINDS)}
"""In which order rules are applied: what others look at comes first, and keys, which no place looks at, last."""


def unpack(packed: Packed) -> Rule:
    """The rule that `pack` gave this of. Raises `CorruptFile` for what no rule did."""
    name, *rest = packed or ("",)
    kind: Callable[..., Rule] | None = _KINDS.get(name)
    try:
        if kind is None or not all(isinstance(part, str) for part in rest):
            raise CorruptFile(f"A rule about URLs cannot be read: {packed!r}")
        if kind is DropSegment:
            place, position, away = rest
            return DropSegment(place, int(position), bool(away))
        rule: Rule = kind(*rest)
    except (TypeError, ValueError) as error:
        raise CorruptFile(f"A rule about URLs cannot be read: {packed!r}") from error
    return rule


class RuleSet:
    """Rules that hold together. `opens` says whether a rule holds for a URL that it would change."""

    def __init__(
        self, rules: Iterable[Rule] = (), opens: Callable[[Rule, Parts], bool] = lambda rule, parts: True
    ) -> None:
        ordered = _without_circles(sorted(rules, key=lambda rule: (_ORDER[rule.kind], rule.pack())))
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
    if all(_lower(one.segments[n]) == _lower(other.segments[n]) for n in differing):
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
