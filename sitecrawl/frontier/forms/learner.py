"""Learns the rules of one host from the pages that are fetched of it, in bounded memory.

`observe` is told of every page: its URL and an id of its content, which is another page's if it repeats that one. So
pages fall into sets of one content, and what the URLs of a set differ in may choose nothing. Each such *candidate*
then watches what comes: URLs that are one under it had better have one content. It compares with a sample of the
pages before, so that it costs a look-up a page; `frontier.forms.evidence` counts, and says what becomes of it.

Bounds a host: `MAX_RULES` rules, of which those that are not trusted make room for others; the last `RECENT` URLs,
by which a new candidate is judged at once; as many pages a candidate. Samples and recent URLs are in memory only: a
crash forgets them and keeps rules and counts.

A site may suggest rules without end, some with each page. So one that is to take another's room has to be suggested
by a second pair of pages, which finds the first among the recent ones; a repeat begins no more than `MAX_NEW`; and
recent URLs are not taken apart for each of them: they are kept in parts, as the rules that join URLs left them when
these last changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

import msgpack

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.forms.difference import difference, nearest
from sitecrawl.frontier.forms.evidence import Evidence, State
from sitecrawl.frontier.forms.parts import Parts, split
from sitecrawl.frontier.forms.rule_set import RuleSet
from sitecrawl.frontier.forms.rules import ANYWHERE, Rule, unpack
from sitecrawl.frontier.forms.views import FIRST, minted

MAX_RULES: Final = 32
RECENT: Final = 256
SET: Final = 4
"""URLs of one content that a repeat is held against."""
MAX_NEW: Final = 4
"""Candidates that one repeat begins: what it differs in from two others, at the narrow place and at the wide one.
What else they suggest the next such repeat suggests again, and this page is among the recent ones then."""
SUGGESTED: Final = 1024
"""Rules that are remembered to have been suggested once, about 0.3 kB each. A site may suggest others with each page,
and to judge a new one takes as long as to read a page."""
FORMS: Final = 1024
"""URLs whose classes are kept, about 0.4 kB each."""
VERSION: Final = 2
_UNCHANGED: Final = 1 << 32
"""In place of a stratum, for a URL of which a rule takes nothing away."""
_ANY: Final = 1 << 33
"""The same for the first page of a class, whatever its stratum."""
_AS_SURE: Final = frozenset({State.MINTED, State.REFUSED})
"""States of a narrower rule that count beside one which is minted."""
_NAME: Final = "rule "
"""How a rule is called begins so, and no shape of URLs does."""


@dataclass(slots=True, eq=False)
class Learnt:
    """A rule and what is known of it."""

    number: int
    """Its name: the so-many-th of its host."""
    rule: Rule
    evidence: Evidence = field(default_factory=Evidence)
    sample: dict[int, tuple[bytes, Parts]] = field(default_factory=dict)
    """Hash of a class and a stratum → content of the first page of both, and that page's URL."""
    contents: set[bytes] = field(default_factory=set)
    """Up to two contents on which pairs have agreed."""

    def __str__(self) -> str:
        return f"{_NAME}{self.number}: {self.rule}"

    @property
    def is_weak(self) -> bool:
        """Whether it may make room for another: not what was wrong everywhere, which would begin again at once."""
        state = self.evidence.state
        return state == State.CANDIDATE or (state == State.DROPPED and self.rule.place != ANYWHERE)

    def yields_first(self) -> tuple[int, bool, int]:
        """Of those that are weak the greatest makes room: the one of most slots, then one that has not failed before
        one that has, which would come again as if it had not."""
        return len(self.rule.what), self.evidence.state != State.DROPPED, -self.evidence.agreed

    @property
    def trust(self) -> tuple[int, int, int]:
        """The least first: by state, then by what has agreed, then the youngest."""
        return int(self.evidence.state), self.evidence.agreed + self.evidence.tests, -self.number

    def stratum(self, parts: Parts, other: Parts) -> int:
        """Where a pair of one class is counted: that of the URL which the rule changes."""
        return self.rule.stratum(parts if self.rule.apply(parts) is not None else other)

    def meet(self, parts: Parts, content: bytes) -> tuple[bytes, Parts] | None:
        """A page to compare with: of the class the first one of the same stratum, or else one of which the rule takes
        nothing away. Pages of two strata that differ do not tell in which of them the rule is wrong.

        None if there is no such page, or it is this one.
        """
        form = self.rule.apply(parts)
        text = (form or parts).text()
        stratum = _UNCHANGED if form is None else self.rule.stratum(parts)
        same = hash((text, stratum))
        before = self.sample.get(same) or self.sample.get(hash((text, _ANY if form is None else _UNCHANGED)))
        for name in (same, hash((text, _ANY))):
            if name not in self.sample:
                if len(self.sample) >= 2 * RECENT:
                    del self.sample[next(iter(self.sample))]
                self.sample[name] = content, parts
        return before if before is not None and before[1].text() != parts.text() else None

    def has_met(self, parts: Parts) -> bool:
        """Whether another page of the class was there when this one came: then the pair has been counted."""
        _, first = self.sample.get(hash((self.rule.form(parts).text(), _ANY)), (b"", parts))
        return first is not parts


def rule_number(name: str) -> int | None:
    """The number of the rule that `str` calls so; None for what is no rule's name."""
    return int(name.partition(":")[0].removeprefix(_NAME)) if name.startswith(_NAME) else None


class Learner:
    """See the module."""

    def __init__(self) -> None:
        self.learnt: dict[Rule, Learnt] = {}
        self.active = RuleSet()
        """The rules that join URLs: those in test, and those that are trusted."""
        self._forms: dict[str, tuple[str, Learnt | None]] = {}
        """What `form` has said since rules last changed: the page that stands for a class is asked for with each URL
        of it."""
        self._last = 0
        self.next_views = FIRST
        """Fetches of the host from which on another of its pages is looked at twice."""
        self._suggested: set[Rule] = set()
        """Rules for which there was no room when they were suggested: the second time others make it."""
        self._recent: dict[str, tuple[bytes, Parts]] = {}
        """The last URLs, as they were before any rule: their contents, and themselves without what the rules take
        away that held when rules last began or ceased to join URLs."""
        self._sets: dict[bytes, list[str]] = {}
        """The last `SET` URLs of each content among these."""

    # What is fetched

    def observe(self, url: str, content: bytes, original: str | None = None) -> list[Learnt]:
        """A page was fetched for the first time: `content` is the id of its content.

        `original`: the URL of the first page with this content, if that is another one. Returns the rules that have
        begun or ceased to join URLs, or join fewer.

        Compares no more than `MAX_RULES` + `MAX_NEW` * (`RECENT` + 2) times. Where it returns rules, it takes
        `RECENT` URLs apart as well, and fills `MAX_RULES` samples with them.
        """
        parts = self._normal(url)
        changed = self._compare(parts, content)
        twins = [self._recent[twin][1] for twin in self._sets.get(content, ())]
        if original is not None and original not in self._recent:
            twins.append(self._normal(original))
        changed += self._suggest(parts, twins, content)
        self._remember(url, content, parts)
        if changed:
            self._refresh()
        return changed

    def _normal(self, url: str) -> Parts:
        """The URL without what the rules that hold for it take away."""
        return self.active.form(split(url))[0]

    def _remember(self, url: str, content: bytes, parts: Parts) -> None:
        if len(self._recent) >= RECENT:
            oldest = next(iter(self._recent))
            gone, _ = self._recent.pop(oldest)
            self._sets[gone] = [one for one in self._sets[gone] if one != oldest]
            if not self._sets[gone]:
                del self._sets[gone]
        self._recent[url] = content, parts
        self._sets[content] = [*self._sets.get(content, ())[1 - SET :], url]

    def recent(self) -> Iterator[tuple[str, bytes]]:
        """The last URLs that were fetched, and the ids of their contents."""
        return ((url, content) for url, (content, _) in self._recent.items())

    def _compare(self, parts: Parts, content: bytes) -> list[Learnt]:
        """What a page says of the rules that did not change its URL."""
        return [one for one in self.learnt.values() if one.rule.covers(parts) and self._meet(one, parts, content)]

    def _meet(self, learnt: Learnt, parts: Parts, content: bytes) -> bool:
        """Compare a page with the one of its class in the sample; whether the rule joins other URLs than before."""
        before = learnt.meet(parts, content)
        return before is not None and self._pair(learnt, parts, before[1], content, same=before[0] == content)

    def _pair(self, learnt: Learnt, parts: Parts, other: Parts, content: bytes, *, same: bool) -> bool:
        """Whether the rule begins to join URLs, or ceases to in a stratum.

        Where every path gives one page (an application that the browser builds, a site that is closed), no segment of
        a path chooses anything; but that is said of that page, and not of the segment: it takes a second one. So it
        does for a value, which may be that page's own.
        """
        evidence, stratum = learnt.evidence, learnt.stratum(parts, other)
        if same and learnt.rule.may_be_of_one_page and len(learnt.contents) < 2:
            learnt.contents.add(content)
            if len(learnt.contents) < 2:
                return False
        was_active, was_open, was_refused = evidence.is_active, evidence.opens(stratum), evidence.refuses(stratum)
        evidence.pair(stratum, same=same)
        if (was_open, was_refused) != (evidence.opens(stratum), evidence.refuses(stratum)):
            self._forms.clear()
        return evidence.is_active != was_active or (was_active and was_open and not evidence.opens(stratum))

    def _suggest(self, parts: Parts, twins: list[Parts], content: bytes) -> list[Learnt]:
        """Pages of a set have one content: what of their URLs may choose nothing?"""
        changed, last = [], self._last + MAX_NEW
        for other in nearest(parts, twins):
            for rule in difference(parts, other):
                if (known := self.learnt.get(rule)) is not None:
                    # Where the sample had forgotten the other page, or never met it, nobody has counted.
                    if not known.has_met(parts) and self._pair(known, parts, other, content, same=True):
                        changed.append(known)
                elif self._last < last and (begun := self._add(rule)) is not None:
                    changed += [begun] if self._replay(begun, parts, other, content) else []
        return changed

    def compare_views(self, first: Iterable[str], second: Iterable[str]) -> list[Learnt]:
        """Learn from the links of two views of one page. Returns as `observe`."""
        changed = []
        for rule in minted(map(split, first), map(split, second)):
            learnt = self.learnt.get(rule) or self._add(rule)
            if learnt is not None and learnt.evidence.mint():
                changed.append(learnt)
        if changed:
            self._refresh()
        return changed

    def know(self, rules: Iterable[Rule]) -> list[Learnt]:
        """Let `rules` hold until tests say otherwise, those that are not known. Returns as `observe`."""
        begun = [learnt for rule in rules if rule not in self.learnt and (learnt := self._add(rule)) is not None]
        for learnt in begun:
            learnt.evidence = Evidence(State.KNOWN)
        if begun:
            self._refresh()
        return begun

    def _add(self, rule: Rule) -> Learnt | None:
        """A new candidate, if there is room for one."""
        whole = rule.without_value()
        if whole is not None and not (whole in self.learnt and self.learnt[whole].evidence.mostly_differs):
            return None  # a session id never comes twice: one rule for all values, and only if it fails one for each
        if len(self.learnt) >= MAX_RULES:
            if rule not in self._suggested:
                self._suggest_once(rule)
                return None
            weakest = max((one for one in self.learnt.values() if one.is_weak), key=Learnt.yields_first, default=None)
            if weakest is None or len(weakest.rule.what) < len(rule.what):
                return None  # those of one slot are few: no number of joint ones takes their room
            del self.learnt[weakest.rule]
        self._last += 1
        learnt = self.learnt[rule] = Learnt(self._last, rule)
        return learnt

    def _suggest_once(self, rule: Rule) -> None:
        if len(self._suggested) >= SUGGESTED:
            self._suggested.clear()
        self._suggested.add(rule)

    def _replay(self, learnt: Learnt, parts: Parts, other: Parts, content: bytes) -> bool:
        """Judge a new candidate by the two pages that suggest it, and by those before; whether it joins URLs now."""
        self._meet(learnt, other, content)
        for of_it, before in self._recent.values():
            if learnt.rule.covers(before):
                self._meet(learnt, before, of_it)
        self._meet(learnt, parts, content)
        return learnt.evidence.is_active

    # What is tested

    def form(self, url: str) -> tuple[str, Learnt | None]:
        """The class of `url`, and of the rules that changed it the one that is trusted least; None for none."""
        said = self._forms.get(url)
        if said is None:
            form, used = self.active.form(split(url))
            said = form.text(), min((self.learnt[rule] for rule in used), key=attrgetter("trust")) if used else None
            if len(self._forms) >= FORMS:
                self._forms.clear()
            self._forms[url] = said
        return said

    def taken(self, url: str) -> tuple[str, str, str]:
        """What the rules take away from `url`, the first of its folders, and all of its keys."""
        parts = split(url)
        form = self.active.form(parts)[0]
        gone = [key for key in parts.keys if key not in form.keys]
        gone += [segment for segment in parts.segments if segment not in form.segments]
        folder = parts.segments[0] if parts.segments[1:] else ""
        return "&".join(gone), folder, "&".join(parts.keys)

    def _opens(self, rule: Rule, parts: Parts) -> bool:
        """Whether a rule holds for a URL that it would change; a narrower one that was refused is the stronger."""
        stratum = rule.stratum(parts)
        if not self.learnt[rule].evidence.opens(stratum):
            return False
        narrower = rule.narrower(parts)
        known = self.learnt.get(narrower) if narrower is not None else None
        if known is None:
            return True
        if self.learnt[rule].evidence.state == State.MINTED and known.evidence.state not in _AS_SURE:
            return True  # where pages differ at each fetch, what speaks against the narrower one says nothing
        return not known.evidence.refuses(stratum)

    def tested(self, url: str, *, same: bool) -> list[Learnt]:
        """A URL that was joined has been fetched and had its class's content, or had not.

        All rules that changed it have made the forecast; it is the one trusted least that has failed. Returns as
        `observe`.
        """
        self._forms.clear()
        _, used = self.active.form(split(url))
        found = sorted((self.learnt[rule] for rule in used), key=attrgetter("trust"))
        changed = []
        for learnt in found if same else found[:1]:
            stratum = used[learnt.rule]
            learnt.evidence.test(stratum, same=same)
            if not learnt.evidence.is_active or not learnt.evidence.opens(stratum):
                changed.append(learnt)
        if changed:
            self._refresh()
        return changed

    def _refresh(self) -> None:
        """Other rules join URLs: what candidates compare with are URLs from which others are taken away."""
        self._forms.clear()
        active = [rule for rule, one in self.learnt.items() if one.evidence.is_active]
        self.active = RuleSet(active, self._opens)
        self._recent = {url: (content, self._normal(url)) for url, (content, _) in self._recent.items()}
        for one in self.learnt.values():
            one.sample.clear()
            for content, parts in self._recent.values():
                if one.rule.covers(parts):
                    one.meet(parts, content)

    # By hand

    def numbered(self, number: int) -> Learnt | None:
        return next((one for one in self.learnt.values() if one.number == number), None)

    def give_up(self, learnt: Learnt) -> None:
        """Its tests have shown nothing: it is dropped, as if it had failed."""
        learnt.evidence.drop()
        self._refresh()

    def order(self, learnt: Learnt, state: State) -> None:
        """A person says what a rule is: `REFUSED`, `ORDERED`, or `CANDIDATE` to let its evidence decide again."""
        learnt.evidence = Evidence(state)
        self._refresh()

    # On disk

    def pack(self) -> bytes:
        rows = [(one.number, one.rule.pack(), one.evidence.pack()) for one in self.learnt.values()]
        packed: bytes = msgpack.packb((VERSION, self._last, self.next_views, rows))
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> Learner:
        """What another version has learnt is learnt anew. Raises `CorruptFile` for bytes that no `pack` wrote."""
        learner = cls()
        version, learner._last, learner.next_views, rows = _rows(data)
        if version != VERSION:
            return cls()
        for number, rule, evidence in rows:
            known = unpack(tuple(rule))
            learner.learnt[known] = Learnt(number, known, Evidence.unpack(tuple(evidence)))
        learner._refresh()
        return learner


def _rows(data: bytes) -> tuple[int, int, int, list[tuple[int, Any, Any]]]:
    """The version, the last rule's number, `next_views` (`FIRST` where it is missing, in older rows), and of each
    rule its number, itself and its evidence.
    """
    try:
        version, last, *views, rows = msgpack.unpackb(data)
        known = [(int(number), list(rule), list(evidence)) for number, rule, evidence in rows]
        return version, int(last), int(views[0]) if views else FIRST, known
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CorruptFile(f"What was learnt of a host, {len(data)} bytes, cannot be read: {error}") from error
