"""Which line of a robots.txt decides about a URL, by RFC 9309: the longest rule of the group for this crawler, and of
equals the one that allows.

The crawl itself asks Scrapy's parser, which tells no lines. This reads the file as that does, and tests hold the two
against each other. Groups of one name are one group; the longest name that is in the crawler's counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from sitecrawl.http.robots_txt import as_utf8
from sitecrawl.urls.url import target_of

_LINE: Final = re.compile(r"\s*([A-Za-z][A-Za-z -]*?)\s*:([^#]*)")
_LOOSE: Final = re.compile(r"\s*(user[ -]?agent|allow|disallow)\s+([^#]*)", re.IGNORECASE)
"""Without a colon, as some write it, and Scrapy's parser reads it."""
_AGENT: Final = frozenset({"user-agent", "useragent", "user agent"})
_OF_SITE: Final = frozenset({"sitemap", "host"})
"""Lines that belong to no group, and end none."""
_RULES: Final = frozenset({"allow", "disallow"})
_KEPT: Final = "/?&=:;,+@!~()'[]$*|-._"


class Rule(NamedTuple):
    """A line that allows or forbids."""

    number: int
    """From 1."""
    text: str
    """As it stands there, without a comment."""
    allows: bool
    pattern: str

    def matches(self, target: str) -> bool:
        """Whether it is about a URL with this path and query."""
        body, ends = (self.pattern[:-1], True) if self.pattern.endswith("$") else (self.pattern, False)
        first, *rest = body.split("*")
        if not target.startswith(first):
            return False
        if not rest:
            return not ends or target == first
        at = len(first)
        for part in rest[:-1]:
            if (found := target.find(part, at)) < 0:
                return False
            at = found + len(part)
        if ends:
            return len(target) - len(rest[-1]) >= at and target.endswith(rest[-1])
        return target.find(rest[-1], at) >= 0


def deciding_rule(body: bytes, url: str, agent: str) -> Rule | None:
    """The rule by which `agent` may fetch `url`, or may not; None where the file says nothing of it."""
    target = _quoted(target_of(url))
    found = [rule for rule in _rules_for(body, agent.strip().lower()) if rule.matches(target)]
    return max(found, key=lambda rule: (len(rule.pattern), rule.allows), default=None)


def _rules_for(body: bytes, agent: str) -> list[Rule]:
    groups = _groups(as_utf8(body).decode("utf-8-sig", "replace"))
    named = max(groups, key=lambda name: _score(name, agent), default="")
    return groups[named] if named and _score(named, agent) else []


def _groups(text: str) -> dict[str, list[Rule]]:
    """The rules for each name of a crawler, in lower case."""
    groups: defaultdict[str, list[Rule]] = defaultdict(list)
    names: list[str] = []
    in_rules = False
    for number, field, value in _lines(text):
        if field in _AGENT:
            name = value.lower() if value == "*" else value.lower().replace("*", "")
            names = [*names, name] if not in_rules else [name]
            in_rules = False
            groups[name] += []
            continue
        in_rules = in_rules or field not in _OF_SITE
        if field in _RULES and value:
            rule = Rule(number, f"{field.capitalize()}: {value}", field == "allow", _quoted(value))
            for name in dict.fromkeys(names):
                groups[name].append(rule)
    return dict(groups)


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _LINE.match(line) or _LOOSE.match(line)) is not None:
            yield number, match[1].lower(), match[2].strip()


def _score(name: str, agent: str) -> int:
    """How well a group's name is that of `agent`; 0 if it is another's."""
    if name == "*":
        return 1
    is_named = name and re.search(rf"(?<![\w-]){re.escape(name)}", agent)
    return len(name) if is_named else 0


def _quoted(target: str) -> str:
    """Path and query, or a pattern for them, in one spelling of their escapes (RFC 9309 §2.2.2)."""
    pieces = re.split(r"(%(?:2F|3F|23|25|24|2A))", target, flags=re.IGNORECASE)  # these mean something else unescaped
    return "".join(
        piece.upper() if index % 2 else quote(unquote_to_bytes(piece), safe=_KEPT)
        for index, piece in enumerate(pieces)
    )
