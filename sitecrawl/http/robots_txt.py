"""robots.txt by RFC 9309: the longest rule of the group for a crawler decides, and of equals the one that allows.

Anybody can send 500 kB of rules. What that can cost is bounded, whatever they are:

- *Reading* is one pass of a regular expression that finds the lines of use, and one over the rules for this crawler,
  up to `max_rules`. A file with more forbids what none of the first allows.
- *Memory* is that of these rules alone: their `size`.
- *A URL* is held against prefixes by bisection. Patterns are found from left to right, the pieces between stars one
  after the other, without a step back (a later place for a piece can never help): at most `length of the pattern *
  length of the URL` steps. These are added up before anything is compared, and what would take more than `max_work`
  is not compared, and forbidden.

Groups of one name are one group; the longest name that is in the crawler's counts. Some spell fields otherwise, and
some leave colons out: what Protego (2026) reads is read, and tests hold the two against each other.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from sitecrawl.base.expressions import expression
from sitecrawl.base.setting import NO_LIMIT

_BOMS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_AGENT: Final = frozenset({"user-agent", "useragent", "user agent"})
_FORBIDS: Final = frozenset({"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"})
"""`Disallow`, and common misspellings."""
_RULES: Final = frozenset({"allow", *_FORBIDS})
_DELAYS: Final = frozenset({"crawl-delay", "crawl delay"})
_OTHERS: Final = frozenset({"request-rate", "request rate", "visit-time", "visit time"})
_FIELDS: Final = _AGENT | _RULES | _DELAYS | _OTHERS
"""All that belong to a group; `Sitemap` and `Host` belong to none, and end none."""
_NAMES: Final = "|".join(sorted(_FIELDS, key=len, reverse=True)).replace(" ", r"[^\S\n]++")
_LINE: Final = expression(
    rf"^[^\S\n]*+(?:(?P<field>{_NAMES})(?:(?P<colon>[^\S\n]*+:)|(?=[^\S\n]|$))(?P<value>[^\n#]*+)"
    r"|(?P<other>[^\n#:]*+):(?=\s|$|\#))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a group, or one with another field, which ends the list of names at a group's head."""
_OF_SITE: Final = frozenset({"sitemap", "sitemaps", "site-map", "host"})
_COLON: Final = re.compile(r"[^:]*+:(?:\s|$)").match
_ANY_LINE: Final = expression(r"^[^\S\n]*+([^\n#:]++):([^\n#]*+)", re.MULTILINE)
_USAGE: Final = frozenset({"content-usage", "content-signal"})
_MAX_USAGE: Final = 20_000
_KEPT: Final = "/?&=:;,+@!~()'[]$*|-._"
_PLAIN: Final = re.compile(r"[A-Za-z0-9/?&=:;,+@!~()'\[\]$*|._-]*").fullmatch
_ESCAPED: Final = expression(r"(%(?:2F|3F|23|25|24|2A))", re.IGNORECASE)
"""Characters with a meaning when unescaped."""
_INDEX: Final = "index.html"
_WEB: Final = ("http://", "https://")
_PATTERN_COST: Final = 2000
"""Steps counted for each pattern besides those over the URL: the cost of its call."""
_RULE_SIZE: Final = 190
"""Bytes of a rule besides its characters."""


class Rule(NamedTuple):
    """A line that allows or forbids."""

    number: int
    """From 1."""
    text: str
    """Text of the line, without a comment."""
    allows: bool
    pattern: str

    @property
    def precedence(self) -> tuple[int, bool]:
        """Precedence: the highest matching rule decides."""
        return len(self.pattern), self.allows

    def matches(self, target: str) -> bool:
        """Whether it matches a URL with this path and query."""
        return matches(self.pattern, target)


def matches(pattern: str, target: str) -> bool:
    """Whether `pattern`, a `Rule.pattern`, matches `target`, a path and query as from `quoted`."""
    body, ends = (pattern[:-1], True) if pattern.endswith("$") else (pattern, False)
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


class RobotsTxt:
    """Rules of a robots.txt for `agent`. `max_rules` and `max_work` as above, the latter in steps a URL."""

    def __init__(self, body: bytes, agent: str, *, max_rules: int = NO_LIMIT, max_work: int = NO_LIMIT) -> None:
        lines = list(_lines(body))
        ours = _group_for(agent.strip().lower(), lines)
        found: dict[str, bool] = {}
        for rule in islice(_rules_of(ours, lines), max_rules + 1):
            found[rule.pattern] = found.get(rule.pattern, False) or rule.allows
        self.is_cut = len(found) > max_rules
        """Whether there are more rules than are kept."""
        if self.is_cut:
            found = {**dict(islice(found.items(), max_rules)), "/": False}
        self.crawl_delay = _delay_of(ours, lines)
        """Seconds; None without one."""
        self._max_work = max_work
        self._prefixes = sorted(pattern for pattern in found if not _is_pattern(pattern))
        self._shorter = _shorter(self._prefixes)
        patterns = (pattern for pattern in found if _is_pattern(pattern))
        self._patterns = sorted(patterns, key=lambda pattern: (len(pattern), found[pattern]), reverse=True)
        self._pieces = [max(pattern.removesuffix("$").split("*"), key=len) for pattern in self._patterns]
        """Longest literal piece of each pattern, which a matching URL has to contain."""
        self._allowed = {pattern for pattern, allows in found.items() if allows}
        self._cost = sum(map(len, self._patterns))
        self.size = sum(map(len, found)) + _RULE_SIZE * len(found)
        """Approximate bytes of memory."""

    def is_too_much(self, target: str) -> bool:
        """Whether to compare `target`, a path and query, might take more than `max_work`."""
        return _PATTERN_COST * len(self._patterns) + self._cost * len(target) > self._max_work

    def allows(self, target: str) -> bool:
        """Whether a URL with this path and query is allowed; not if the comparison would be too much work."""
        if target.partition("?")[0] == "/robots.txt":
            return True
        target = quoted(target)
        prefix = self._longest_prefix(target)
        allowed = prefix is None or prefix in self._allowed
        if not self._patterns:
            return allowed
        if self.is_too_much(target):
            return False
        best = (len(prefix or ""), allowed)
        for pattern in [one for one, piece in zip(self._patterns, self._pieces, strict=True) if piece in target]:
            allows = pattern in self._allowed
            if (len(pattern), allows) <= best:
                break
            if matches(pattern, target):
                return allows
        return allowed

    def _longest_prefix(self, target: str) -> str | None:
        """Find the longest prefix rule of `target` by bisection: its prefixes sort before it, the longest last."""
        at = bisect_right(self._prefixes, target) - 1
        while at >= 0 and not target.startswith(self._prefixes[at]):
            at = self._shorter[at]
        return self._prefixes[at] if at >= 0 else None


def _shorter(prefixes: list[str]) -> list[int]:
    """For each of sorted `prefixes` where the longest other stands that it begins with; -1 for none."""
    shorter: list[int] = []
    open_ones: list[int] = []
    for at, prefix in enumerate(prefixes):
        while open_ones and not prefix.startswith(prefixes[open_ones[-1]]):
            open_ones.pop()
        shorter.append(open_ones[-1] if open_ones else -1)
        open_ones.append(at)
    return shorter


def _is_pattern(pattern: str) -> bool:
    return "*" in pattern or pattern.endswith("$")


def rules_for(body: bytes, agent: str) -> Iterator[Rule]:
    """Rules of the group for `agent`, in order. Invalid lines are skipped."""
    lines = list(_lines(body))
    return _rules_of(_group_for(agent.strip().lower(), lines), lines)


def as_utf8(body: bytes) -> bytes:
    """`body` in UTF-8, which a robots.txt must be (RFC 9309 §2.2); some are UTF-16 with a byte order mark."""
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body.decode(encoding, errors="replace").encode()
    return body


def _group_for(agent: str, lines: list[tuple[int, str, str]]) -> str | None:
    """Name of the matching group; None without one."""
    names = dict.fromkeys(_name_in(value) for _, field, value in lines if field in _AGENT)
    ours = max(names, key=lambda name: _score(name, agent), default="")
    return ours if _score(ours, agent) else None


def _lines_of(name: str | None, lines: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """Lines of all groups that name the crawler `name`."""
    is_named = in_rules = False
    for number, field, value in lines:
        if field in _AGENT:
            is_named = (is_named and not in_rules) or _name_in(value) == name
            in_rules = False
            continue
        in_rules = True
        if is_named and value:
            yield number, field, value


def _rules_of(name: str | None, lines: Iterable[tuple[int, str, str]]) -> Iterator[Rule]:
    for number, field, value in _lines_of(name, lines):
        if field in _RULES:
            # a whole URL stands for a path that has it, as the parsers of others have it
            allows, pattern = field not in _FORBIDS, _pattern(f"/{value}" if value.startswith(_WEB) else value)
            yield Rule(number, f"{field.capitalize()}: {value}", allows, pattern)
            if allows and pattern.endswith(f"/{_INDEX}"):  # so is the folder whose index it is
                yield Rule(number, f"{field.capitalize()}: {value}", allows, pattern.removesuffix(_INDEX) + "$")


class UsageRule(NamedTuple):
    """A preference of a robots.txt for the use of some paths."""

    pattern: str
    """Pattern of the paths; empty for all."""
    value: str
    """Value as written."""
    is_signal: bool
    """Whether it is a Content-Signal, which has another vocabulary."""


def usage_rules(body: bytes, agent: str) -> list[UsageRule]:
    """Usage rules for `agent` by draft-ietf-aipref-attach-05, section 3 (Content-Usage), and
    draft-romm-aipref-contentsignals-00 (Content-Signal), with the same limit as other rules.
    """
    text = "\n".join(as_utf8(body).decode("utf-8-sig", "replace").splitlines())
    fields = ((" ".join(line[1].lower().split()), line[2].strip()) for line in _ANY_LINE.finditer(text))
    lines = [(0, field, value) for field, value in fields if field not in _OF_SITE]
    ours = _lines_of(_group_for(agent.strip().lower(), lines), lines)
    return [_usage_rule(field, value) for _, field, value in islice(ours, _MAX_USAGE) if field in _USAGE]


def _usage_rule(field: str, value: str) -> UsageRule:
    path, rest = "", value
    if value.startswith("/"):
        path, _, rest = value.replace("\t", " ").partition(" ")
    return UsageRule(_pattern(path), rest.strip(), field == "content-signal")


def usage_for(rules: Iterable[UsageRule], target: str) -> list[UsageRule]:
    """Rules for a URL with this path and query: those with the longest matching path."""
    target = quoted(target)
    found = [rule for rule in rules if matches(rule.pattern, target)]
    longest = max((len(rule.pattern) for rule in found), default=0)
    return [rule for rule in found if len(rule.pattern) == longest]


def _delay_of(name: str | None, lines: Iterable[tuple[int, str, str]]) -> float | None:
    delay = None
    for _, field, value in _lines_of(name, lines):
        if field in _DELAYS and (found := _seconds(value)) is not None:
            delay = found
    return delay


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _lines(body: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield number, lower-case field and value of each line of a group. Unknown fields are included, because they
    end its head.
    """
    text = "\n".join(as_utf8(body).decode("utf-8-sig", "replace").splitlines())
    number, at = 1, 0
    for line in _LINE.finditer(text):
        number += text.count("\n", at, line.start())
        at = line.start()
        field = " ".join((line["field"] or line["other"]).lower().split())
        value = (line["value"] or "").strip()
        if line["colon"] is None and line["field"] is not None and _COLON(value):
            field, value = "", ""  # a field of several words
        if field not in _OF_SITE:
            yield number, field, value


def _name_in(value: str) -> str:
    """The crawler's name in a User-agent line: `*`, or lower case without stars."""
    return value if value == "*" else value.lower().replace("*", "")


def _score(name: str, agent: str) -> int:
    """Score how well a group's name matches `agent`; 0 for no match. A name begins at a word."""
    if name == "*":
        return 1
    at = agent.find(name) if name else -1
    while at > 0 and (agent[at - 1].isalnum() or agent[at - 1] in "-_"):
        at = agent.find(name, at + 1)
    return len(name) if at >= 0 else 0


def quoted(target: str) -> str:
    """Path and query in the form for matching: stars and dollars are escaped (RFC 9309 §2.2.3)."""
    return _spelled(target).replace("*", "%2A").replace("$", "%24")


def _pattern(value: str) -> str:
    """Pattern of a rule: `*` stands for anything, a final `$` for the end."""
    spelled = _spelled(value)
    return spelled[:-1].replace("$", "%24") + spelled[-1:]


def _spelled(target: str) -> str:
    """Path and query, or a pattern, with normalised escapes (RFC 9309 §2.2.2)."""
    if _PLAIN(target):
        return target
    pieces = _ESCAPED.split(target)
    return "".join(
        piece.upper() if index % 2 else quote(unquote_to_bytes(piece), safe=_KEPT)
        for index, piece in enumerate(pieces)
    )
