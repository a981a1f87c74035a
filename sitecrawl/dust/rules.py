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

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from sitecrawl.base.errors import CorruptFile
from sitecrawl.dust.parts import STAR, Parts, in_lower_case, name_of, places_of

Packed: TypeAlias = tuple[str, ...]


class Rule(ABC):
    """See the module."""

    __slots__ = ()

    kind: ClassVar[str]

    @abstractmethod
    def apply(self, parts: Parts) -> Parts | None:
        """`parts` without what does not matter; None where the rule has nothing to take away."""

    def form(self, parts: Parts) -> Parts:
        """`parts` without what does not matter: as they are where the rule has nothing to take away."""
        return self.apply(parts) or parts

    @abstractmethod
    def covers(self, parts: Parts) -> bool:
        """Whether `parts` may be in a class with URLs that the rule changes: it is changed, or is such a form."""

    def narrower(self, parts: Parts) -> Rule | None:
        """The same rule at the narrow place of `parts`, which it applies to; None if it is that, or has no place."""
        return None

    def stratum(self, parts: Parts) -> int:
        """What evidence for the rule is counted by: the names of the keys beside it."""
        return parts.stratum()

    @property
    def subject(self) -> Packed:
        """What is taken away, wherever: rules of one subject at several places vouch for one another."""
        return self.pack()

    @abstractmethod
    def pack(self) -> Packed:
        """The rule as it is stored: its kind, then its fields."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True, slots=True)
class DropKey(Rule):
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
class DropSegment(Rule):
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

    @property
    def subject(self) -> Packed:
        return (self.kind, str(self.position), "away" if self.away else "")

    def pack(self) -> Packed:
        return (self.kind, self.place, str(self.position), "away" if self.away else "")

    def __str__(self) -> str:
        how = "without" if self.away else "whatever is"
        return f"{how} path segment {self.position + 1} before or in {self.place}"


@dataclass(frozen=True, slots=True)
class DropSuffix(Rule):
    """The name of a directory's index: `/a/index.html` is `/a/`."""

    kind: ClassVar[str] = "index"
    name: str

    def apply(self, parts: Parts) -> Parts | None:
        if parts.slash or not parts.segments or parts.segments[-1] != self.name:
            return None
        return parts.with_segments(parts.segments[:-1], slash=True)

    def covers(self, parts: Parts) -> bool:
        return parts.slash or parts.segments[-1] == self.name

    def pack(self) -> Packed:
        return (self.kind, self.name)

    def __str__(self) -> str:
        return f'without "{self.name}" at the end of the path'


@dataclass(frozen=True, slots=True)
class TrailingSlash(Rule):
    """`/a/` is `/a`."""

    kind: ClassVar[str] = "slash"

    def apply(self, parts: Parts) -> Parts | None:
        return parts.with_segments(parts.segments, slash=False) if parts.slash and parts.segments else None

    def covers(self, parts: Parts) -> bool:
        return bool(parts.segments)

    def pack(self) -> Packed:
        return (self.kind,)

    def __str__(self) -> str:
        return "without a slash at the end of the path"


@dataclass(frozen=True, slots=True)
class CaseFold(Rule):
    """`/About` is `/about`."""

    kind: ClassVar[str] = "case"

    def apply(self, parts: Parts) -> Parts | None:
        lower = tuple(map(in_lower_case, parts.segments))
        return parts.with_segments(lower, slash=parts.slash) if lower != parts.segments else None

    def covers(self, parts: Parts) -> bool:
        return bool(parts.segments)

    def pack(self) -> Packed:
        return (self.kind,)

    def __str__(self) -> str:
        return "whether letters of the path are upper or lower case"


@dataclass(frozen=True, slots=True)
class Mirror(Rule):
    """The pages of `origin` (scheme and host) are those of `other`."""

    kind: ClassVar[str] = "mirror"
    origin: str
    other: str

    def apply(self, parts: Parts) -> Parts | None:
        return parts.with_origin(self.other) if parts.origin == self.origin else None

    def covers(self, parts: Parts) -> bool:
        return parts.origin in {self.origin, self.other}

    def pack(self) -> Packed:
        return (self.kind, self.origin, self.other)

    def __str__(self) -> str:
        return f"{self.origin} is {self.other}"


_KINDS: Final[dict[str, type[Rule]]] = {
    kind.kind: kind for kind in (Mirror, CaseFold, DropSegment, DropSuffix, TrailingSlash, DropKey)
}
ORDER: Final = {name: number for number, name in enumerate(_KINDS)}
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
