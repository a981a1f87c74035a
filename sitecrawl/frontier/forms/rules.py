"""Rules: what in a URL chooses no content. Each takes that away, and what is left names a *class* of URLs.

Such rules are called DUST, different URLs with similar text (Bar-Yossef, Keidar and Schonfeld, "Do not crawl in the
DUST", WWW 2007). Theirs replace one substring by another, and those of Dasgupta, Kumar and Sasturkar ("De-duping URLs
via rewrite rules", KDD 2008) and Koppula et al. ("Learning URL patterns for webpage de-duplication", WSDM 2010) are
made of a URL's keys and path segments. So are these, for that is what sites are made of, and a person can read them.

A rule takes away *slots*, one or several together: three values that are new at each view choose nothing together,
and no two URLs differ in one of them alone. A slot is written so:

    sid, ;sid     a key of the query, or of a path segment
    sid=3         the same, only where it has that value
    &/sid, &      a key whose name begins with a slash, or is empty
    /2            the third path segment, which becomes a star
    /2-           the same, taken out: paths without it are of the class

It is keyed by its slots and the *place* (`frontier.forms.parts`), which may be anywhere, and not by all the keys of
the query: what is learnt of a session id carries over to URLs with other keys beside it. How a whole URL is spelled
is said by four rules without a place: which host it is, upper and lower case, an index's name, a slash at the end.

Invariant, tested on random URLs and rules: the form of a form is the form itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.expressions import expression
from sitecrawl.frontier.forms.parts import STAR, Parts, in_lower_case, name_of, places_of, split

DROP, MIRROR, CASE, INDEX, SLASH = "drop", "mirror", "case", "index", "slash"
ANYWHERE: Final = "*"
"""The place of all paths."""
_SESSION: Final = r"(?:sid|s|session|sessionid|session_id|sess_id)=[0-9a-f]{16,128}"
"""A key that forums and shops have for a session, and other sites for a story, a size or a talk. PHP's ids have 22 to
256 characters, phpBB's and vBulletin's 32."""
_HAS_SESSION: Final = expression(f"[?&;]{_SESSION}", re.IGNORECASE).search
_IS_SESSION: Final = expression(f";?{_SESSION}", re.IGNORECASE).fullmatch


class Slots(NamedTuple):
    """What a rule of the kind `DROP` takes away."""

    keys: frozenset[str]
    starred: tuple[int, ...]
    away: tuple[int, ...]
    last: int
    """The greatest position, -1 for none."""

    def rest(self, segments: tuple[str, ...]) -> tuple[str, ...] | None:
        """A path without what is taken away; None if it has no such segments."""
        if self.last < 0:
            return segments
        if self.last >= len(segments):
            return None
        gone = self.starred + self.away
        return tuple([segment for at, segment in enumerate(segments) if at not in gone])

    def left(self, segments: tuple[str, ...]) -> tuple[str, ...]:
        """The same with the stars."""
        starred, away = self.starred, self.away
        return tuple([STAR if at in starred else segment for at, segment in enumerate(segments) if at not in away])


def slot_of(name: str) -> str:
    """The slot of the key with that name."""
    return f"&{name}" if name[:1] in {"", "/"} else name


@lru_cache(maxsize=1 << 10)
def slots_of(what: tuple[str, ...]) -> Slots:
    """Raises `ValueError` for a position that is no number."""
    at = [slot[1:] for slot in what if slot[0] == "/"]
    keys = frozenset(slot.removeprefix("&") for slot in what if slot[0] != "/")
    starred = tuple(int(n) for n in at if n[-1:] != "-")
    away = tuple(int(n[:-1]) for n in at if n[-1:] == "-")
    return Slots(keys, starred, away, max(starred + away, default=-1))


@dataclass(frozen=True, slots=True)
class Rule:
    """See the module."""

    kind: str
    place: str = ""
    """Of a rule that takes slots away: that of the path without these."""
    what: tuple[str, ...] = ()
    """The slots; of a mirror the origin (scheme and host) and the one whose pages it has; an index's name."""

    def apply(self, parts: Parts) -> Parts | None:
        """`parts` without what does not matter; None where the rule has nothing to take away."""
        return _APPLY[self.kind](self, parts)

    def form(self, parts: Parts) -> Parts:
        """`parts` without what does not matter: as they are where the rule has nothing to take away."""
        return self.apply(parts) or parts

    def covers(self, parts: Parts) -> bool:
        """Whether `parts` may be in a class with URLs that the rule changes: it is changed, or is such a form."""
        if self.kind == MIRROR:
            return parts.origin in self.what
        if self.kind == INDEX:
            return parts.slash or parts.segments[-1:] == self.what
        if self.kind != DROP:
            return bool(parts.segments)
        slots = slots_of(self.what)
        if slots.away and self.is_at(parts.places):
            return True
        rest = slots.rest(parts.segments)
        return rest is not None and self.is_at(places_of(rest))

    def is_at(self, places: tuple[str, ...]) -> bool:
        """Whether it holds at one of these places."""
        return self.place in places or self.place == ANYWHERE

    def contains(self, other: Rule) -> bool:
        """Whether it takes away what `other` does, and more, or at more places."""
        slots = {*other.what} <= {*self.what} and self != other
        return slots and self.kind == other.kind and self.place in (other.place, ANYWHERE)

    def narrower(self, parts: Parts) -> Rule | None:
        """The same rule at the narrow place of `parts`, which it applies to; None if it is that, or has no place."""
        rest = slots_of(self.what).rest(parts.segments) if self.kind == DROP else None
        narrow = self.place if rest is None else places_of(rest)[0]
        return Rule(DROP, narrow, self.what) if narrow != self.place else None

    @property
    def is_of_keys(self) -> bool:
        """Whether it takes away keys alone."""
        return self.kind == DROP and slots_of(self.what).last < 0

    @property
    def may_be_of_one_page(self) -> bool:
        """Whether one page may stand at all URLs that suggest it: it takes away path segments, or one value."""
        return self.kind == DROP and any(slot[0] == "/" or "=" in slot for slot in self.what)

    def without_value(self) -> Rule | None:
        """For a value of a key: the rule for all of its values."""
        name, has_value, _ = self.what[0].partition("=") if self.kind == DROP else ("", "", "")
        return Rule(DROP, self.place, (name,)) if has_value else None

    def stratum(self, parts: Parts) -> int:
        """What evidence is counted by: which of its keys are there, and the names of those beside. A CRC-32."""
        keys = slots_of(self.what).keys if self.kind == DROP else frozenset()
        names = dict.fromkeys(key if key in keys else name_of(key) for key in parts.keys)
        return crc32(
            "&".join(f"-{name}" if name_of(name) in keys or name in keys else name for name in names).encode()
        )

    def pack(self) -> tuple[str, ...]:
        """The rule as it is stored."""
        return (self.kind, self.place, *self.what)

    def __str__(self) -> str:
        if self.kind == DROP:
            keys = ", ".join(f'"{slot.removeprefix("&")}"' for slot in self.what if slot[0] != "/")
            path = ", ".join(slot[1:].rstrip("-") for slot in self.what if slot[0] == "/")
            segments = f"path segment {int(path) + 1}" if path.isdecimal() else f"path segments {path}"
            where = "anywhere" if self.place == ANYWHERE else f"in {self.place}"
            return f"without {' and '.join(filter(None, (keys, path and segments)))} {where}"
        return _SAID[self.kind].format(*self.what)


_SAID: Final = {
    MIRROR: "{} is {}",
    CASE: "whether letters of the path are upper or lower case",
    INDEX: 'without "{}" at the end of the path',
    SLASH: "without a slash at the end of the path",
}


def _without_slots(rule: Rule, parts: Parts) -> Parts | None:
    slots, segments = slots_of(rule.what), parts.segments
    rest = slots.rest(segments)
    if rest is not segments and rest is not None and rule.is_at(places_of(rest)):
        segments = slots.left(segments)
    elif slots.starred or not rule.is_at(parts.places):
        return None
    keys, kept = slots.keys, parts.keys
    if keys and kept:
        kept = tuple([key for key in kept if key not in keys and name_of(key) not in keys])
    if len(kept) == len(parts.keys) and segments == parts.segments:
        return None
    return Parts(parts.origin, segments, slash=parts.slash, keys=kept)


def _of_mirror(rule: Rule, parts: Parts) -> Parts | None:
    origin, other = rule.what
    return Parts(other, parts.segments, slash=parts.slash, keys=parts.keys) if parts.origin == origin else None


def _in_lower_case(rule: Rule, parts: Parts) -> Parts | None:
    lower = tuple(map(in_lower_case, parts.segments))
    return Parts(parts.origin, lower, slash=parts.slash, keys=parts.keys) if lower != parts.segments else None


def _without_index(rule: Rule, parts: Parts) -> Parts | None:
    if parts.slash or not parts.segments or parts.segments[-1] != rule.what[0]:
        return None
    return Parts(parts.origin, parts.segments[:-1], slash=True, keys=parts.keys)


def _without_slash(rule: Rule, parts: Parts) -> Parts | None:
    slash = parts.slash and parts.segments
    return Parts(parts.origin, parts.segments, slash=False, keys=parts.keys) if slash else None


_APPLY: Final[dict[str, Callable[[Rule, Parts], Parts | None]]] = {
    MIRROR: _of_mirror,
    CASE: _in_lower_case,
    DROP: _without_slots,
    INDEX: _without_index,
    SLASH: _without_slash,
}
"""In the order in which rules are applied: what others look at comes first."""
_ORDER: Final = {kind: number for number, kind in enumerate(_APPLY)}


def in_order(rule: Rule) -> tuple[int, tuple[str, ...]]:
    """By what rules are sorted that hold together."""
    return _ORDER[rule.kind], rule.pack()


def session_rules(url: str) -> list[Rule]:
    """Those that take away keys of `url` that are called as session ids are, and look like one."""
    if _HAS_SESSION(url) is None:
        return []
    return [Rule(DROP, ANYWHERE, (name_of(key),)) for key in split(url).keys if _IS_SESSION(key)]


def unpack(packed: tuple[str, ...]) -> Rule:
    """The rule that `pack` gave this of. Raises `CorruptFile` for what no rule did."""
    try:
        kind, place, *what = packed
        rule = Rule(kind, place, tuple(what))
        if kind == DROP:
            is_rule = bool(place and what) and len(slots_of(rule.what)) > 0
        else:
            is_rule = not place and len(what) == _SAID[kind].count("{}")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        is_rule = False
    if not is_rule:
        raise CorruptFile(f"A rule about URLs cannot be read: {packed!r}")
    return rule
