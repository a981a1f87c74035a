"""Two views of one page: what in its links is new at each view, and so chooses nothing.

A session id, a token or a time that a site writes into its links was not there when the page was asked for before,
and does not come again. Contents cannot show that where a part of each page is new at each view as well, a random
link or who is online, since then no two fetches have one content. So on a host where most links of a page are new
after `FIRST` fetches, that page is fetched a second time; after twice as many fetches another is, and so on. A rule
takes away what was *minted* if

- no value of its slots is in both views: what chooses a content stays, as a product's id does;
- without what it takes away at least half of the links that were new are in both views, and at least `SUPPORT`
  different ones: of a link to a random page the id changes as well, and all that is left of it is one link.

The first view is in memory only: after a restart the page is fetched again all the same, and shows nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.frontier.forms.difference import difference
from sitecrawl.frontier.forms.evidence import SUPPORT
from sitecrawl.frontier.forms.parts import Parts, split
from sitecrawl.frontier.forms.rules import ANYWHERE, DROP, Rule, slots_of
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.url import path_start

FIRST: Final = 16
"""Fetches of a host from which on a page may be fetched twice: of a smaller site that would be dear."""
_MAY_MINT: Final = expression("[?;]|/(?=[^/]*[0-9])[^/]{12,}/").search
_COMPARED: Final = 32
"""Links of each view that are held against those of the other, about 10 us a pair."""
_RULES: Final = 64
"""Rules of each kind that are looked at, about a millisecond each."""
_LINKS: Final = 256
"""Links of a view that are looked at, the first ones."""
_VIEWS: Final = 256
"""First views that are kept, about 20 kB each."""


def minted(first: Iterable[Parts], second: Iterable[Parts]) -> list[Rule]:
    """The rules that two views of a page show, those that take away less first."""
    before, after = ({parts.text(): parts for parts in view} for view in (first, second))
    gone, came = _only_in(before, after), _only_in(after, before)
    pairs = product(gone[:_COMPARED], came[:_COMPARED])
    suggested = Counter(rule for one, other in pairs for rule in difference(one, other) if rule.kind == DROP)
    anywhere: Counter[Rule] = Counter()
    for rule, number in suggested.items():
        anywhere[Rule(DROP, ANYWHERE, rule.what)] += number
    found: list[Rule] = []
    for rule in [*_likely(suggested), *_likely(anywhere)]:  # anywhere: what has no place in common with two others
        explained = [known for known in found if rule.contains(known)]
        if _mints(rule, explained, gone, came) and _is_new(rule, before, after):
            found.append(rule)
    return found


def _likely(suggested: Counter[Rule]) -> list[Rule]:
    """Those that take away less first, and of these the ones that most pairs suggest. A value is no slot here."""
    rules = [rule for rule in suggested if not any("=" in slot for slot in rule.what)]
    return sorted(rules, key=lambda rule: (len(rule.what), -suggested[rule], rule.pack()))[:_RULES]


def _only_in(view: dict[str, Parts], other: dict[str, Parts]) -> list[Parts]:
    return [parts for text, parts in view.items() if text not in other]


def _mints(rule: Rule, explained: Sequence[Rule], gone: Sequence[Parts], came: Sequence[Parts]) -> bool:
    """Whether enough links of both views, `gone` and `came`, are the same without what the rule takes away. Those do
    not count that are `explained` by rules which take away less; of keys that are minted elsewhere on the page one
    more is enough.
    """
    first, second = _forms(rule, gone), _forms(rule, came)
    known = {rule.form(split(form)).text() for one in explained for form in _forms(one, gone) & _forms(one, came)}
    more = (first & second) - known
    if rule.is_of_keys and any(one.what == rule.what for one in explained):
        return bool(more) and 2 * len(first & second) >= min(len(first), len(second))
    return len(more) >= SUPPORT and 2 * len(more) >= min(len(first - known), len(second - known))


def _forms(rule: Rule, links: Iterable[Parts]) -> set[str]:
    """What the rule leaves of those that it changes."""
    return {form.text() for parts in links if (form := rule.apply(parts)) is not None}


def _is_new(rule: Rule, before: dict[str, Parts], after: dict[str, Parts]) -> bool:
    """Whether no value of any of its slots is in both views."""
    return _values(rule, before.values()).isdisjoint(_values(rule, after.values()))


def _values(rule: Rule, links: Iterable[Parts]) -> set[tuple[str | int, str]]:
    """What is in its slots, each value with its slot, in those of `links` that it changes."""
    slots, found = slots_of(rule.what), set[tuple[str | int, str]]()
    for parts in links:
        if rule.apply(parts) is not None:
            positions = (at for at in slots.starred + slots.away if at < len(parts.segments))
            found.update((at, parts.segments[at]) for at in positions)
            values = parts.values()
            found.update((key, value) for key in slots.keys for value in values.get(key, ()))
    return found


def is_suspect(links: Sequence[Link], new: Sequence[Link]) -> bool:
    """Whether a page may have minted values in these `links` to its own host: most are `new`, and have keys or a long
    folder with a digit.
    """
    suspects = [link for link in new if _MAY_MINT(link.url, path_start(link.url))]
    return len(suspects) >= SUPPORT and 2 * len(suspects) >= len(links)


class Views:
    """The pages that are fetched a second time."""

    def __init__(self) -> None:
        self._first: dict[bytes, list[str]] = {}
        """By the key of the page: its links to its own host."""

    def take(self, visit: Visit, links: Sequence[Link]) -> None:
        """The page of `visit` is to be fetched a second time."""
        if len(self._first) < _VIEWS:
            self._first[visit.key] = [link.url for link in links[:_LINKS]]

    def first(self, visit: Visit) -> list[str]:
        """The links of the first view, if this is the second."""
        return self._first.get(visit.key, []) if visit.again else []

    def wants(self, visit: Visit, state: UrlState) -> bool:
        """Whether a page whose visit is over is to be fetched a second time."""
        if visit.key in self._first and (visit.again or state != UrlState.FETCHED):
            del self._first[visit.key]
        return visit.key in self._first
