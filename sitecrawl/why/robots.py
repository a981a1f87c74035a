"""Which line of a robots.txt decides about a URL, by RFC 9309: the longest rule of the group for this crawler, and of
equals the one that allows.

The crawl itself asks Scrapy's parser, which tells no lines. This reads the file as that does, and tests hold the two
against each other. Groups of one name are one group; the longest name that is in the crawler's counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from sitecrawl.http.robots_txt import as_utf8
from sitecrawl.urls.url import target_of

_AGENT: Final = frozenset({"user-agent", "useragent", "user agent"})
_FORBIDS: Final = frozenset({"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"})
"""As it is written, and as some write it: Scrapy's parser reads all of them."""
_RULES: Final = frozenset({"allow", *_FORBIDS})
_OF_SITE: Final = frozenset({"sitemap", "sitemaps", "site-map", "host"})
"""Lines that belong to no group, and end none."""
_TIMES: Final = (("crawl", "delay"), ("request", "rate"), ("visit", "time"))
_OTHERS: Final = frozenset(f"{one}{mark}{two}" for one, two in _TIMES for mark in "- ")
_FIELDS: Final = _AGENT | _RULES | _OF_SITE | _OTHERS
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
    """Those of the group for `agent`. Two passes: a file may name 20,000 crawlers before 20,000 rules."""
    lines = list(_lines(as_utf8(body).decode("utf-8-sig", "replace")))
    names = dict.fromkeys(_name_in(value) for _, field, value in lines if field in _AGENT)
    ours = max(names, key=lambda name: _score(name, agent), default="")
    return list(_rules_of(ours, lines)) if _score(ours, agent) else []


def _rules_of(name: str, lines: Iterable[tuple[int, str, str]]) -> Iterator[Rule]:
    """Those of all groups that name the crawler `name`."""
    is_named = in_rules = False
    for number, field, value in lines:
        if field in _AGENT:
            is_named = (is_named and not in_rules) or _name_in(value) == name
            in_rules = False
            continue
        in_rules = in_rules or field not in _OF_SITE
        if is_named and field in _RULES and value:
            yield Rule(number, f"{field.capitalize()}: {value}", field not in _FORBIDS, _quoted(value))


def _lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Number, field in lower case, and value of each line that has both."""
    for number, line in enumerate(text.splitlines(), 1):
        if (found := _parts(line.partition("#")[0].strip())) is not None:
            yield number, *found


def _parts(line: str) -> tuple[str, str] | None:
    """Field and value; None for what is no line of a robots.txt. Some leave the colon out."""
    field, colon, value = line.partition(":")
    name = field.rstrip().lower()
    if name not in _FIELDS and not (colon and (not value or value[0].isspace())):
        words = line.split()
        for number in (1, 2):
            if (loose := " ".join(words[:number]).lower()) in _FIELDS:
                return loose, " ".join(words[number:])
    return (name, value.strip()) if colon else None


def _name_in(value: str) -> str:
    """The name of a crawler: no star is part of one, as Scrapy's parser reads it."""
    return value if value == "*" else value.lower().replace("*", "")


def _score(name: str, agent: str) -> int:
    """How well a group's name is that of `agent`; 0 if it is another's. A name begins where a word does."""
    if name == "*":
        return 1
    at = agent.find(name) if name else -1
    while at > 0 and (agent[at - 1].isalnum() or agent[at - 1] in "-_"):
        at = agent.find(name, at + 1)
    return len(name) if at >= 0 else 0


def _quoted(target: str) -> str:
    """Path and query, or a pattern for them, in one spelling of their escapes (RFC 9309 §2.2.2)."""
    pieces = re.split(r"(%(?:2F|3F|23|25|24|2A))", target, flags=re.IGNORECASE)  # these mean something else unescaped
    return "".join(
        piece.upper() if index % 2 else quote(unquote_to_bytes(piece), safe=_KEPT)
        for index, piece in enumerate(pieces)
    )
