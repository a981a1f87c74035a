"""Tests of rules about URLs: which rule wants one now, and which of the URLs that it joined is to be fetched for it.

A rule is tested as long as it joins URLs, as it may be wrong for few of them: by some tests at once, until it is
trusted, and by more the more it has joined, chosen at random. Half of those are kept for the end of the crawl, when
all that was joined is there to be chosen from. What becomes of a test says `sitecrawl.frontier.forms.evidence`.

Chance finds what a rule is wrong for if that is common. Where a rule takes away few different values, or in few
folders, or its URLs have few different queries, each of these *kinds* is tested as well, however rare it is (of two
keys one may choose nothing, but for one value of the other); and after a failure every other test is of its
kind, for it is them that the rule may be wrong for. A key with few values is no session id, and may be a language of
which only some pages are there: at the end such a rule has as many tests as a quarter of all fetches. Of the URLs
that chance has chosen the first goes whose class has had no test: an old version may say something else on few pages.

Kinds and classes are in memory only: after a restart kinds are read off what waits, when nothing else is left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import sqrt
from random import Random
from typing import Final, Protocol

from sitecrawl.crawldir.database import Database, next_prefix
from sitecrawl.frontier.forms.evidence import TESTS, WINDOW, State
from sitecrawl.frontier.forms.learner import Learnt
from sitecrawl.frontier.forms.learners import Learners
from sitecrawl.frontier.urls.drought import PART
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import RARE
from sitecrawl.frontier.urls.record import RANK_BYTES, UrlRecord
from sitecrawl.frontier.urls.sections import Section

MAX_KINDS: Final = 32
"""Values or folders that are told apart; where there are more, as of session ids, chance alone chooses."""
_SAMPLES = 16
"""URLs of a rule's section that are looked at for a test: of some, the page that stands for them waits itself."""
_CLASSES = 5_000
"""Classes with a test that are remembered of a rule, about 0.1 kB each."""
_SCANNED = 5_000
"""Rows of a section out of which these are chosen, about 1 us each; the next test goes on behind them. So many
records are read after a restart, about 15 us each."""


@dataclass(slots=True)
class Kind:
    """URLs of which a rule takes away the same, or in one folder, or with one query."""

    tested: int = 0
    failed: int = 0
    keys: deque[bytes] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """The last that were joined."""


class Kinds:
    """Those of one rule, by what it takes away, by folder and by query."""

    def __init__(self) -> None:
        self._known: list[dict[str, Kind] | None] = [{}, {}, {}]

    def of(self, taken: tuple[str, str, str]) -> Iterator[Kind]:
        """The kinds of a URL of which this was taken away, by `Learner.taken`."""
        for number, name in enumerate(taken):
            if (known := self._known[number]) is not None:
                if name not in known and len(known) >= MAX_KINDS:
                    self._known[number] = None
                else:
                    yield known.setdefault(name, Kind())

    def untested(self, *, failed: bool) -> Iterator[bytes]:
        """The last URL of each that has had no test or, with `failed`, of each that has failed one."""
        every = (kind for known in self._known for kind in (known or {}).values())
        return (kind.keys.pop() for kind in every if kind.keys and (kind.failed if failed else not kind.tested))

    @property
    def are_few_values(self) -> bool:
        """Whether few different values are taken away."""
        return self._known[0] is not None

    @property
    def are_tested(self) -> bool:
        return all(kind.tested or not kind.keys for known in self._known for kind in (known or {}).values())


class Judge(Protocol):
    """What is asked of `frontier.judge`."""

    random: Random

    @property
    def demoted(self) -> Mapping[bytes, tuple[Host, Section | None]]:
        """What it holds back, by key: hosts, and sections with theirs."""

    def set_aside(self, host: Host, section: Section) -> None:
        """What comes into `section` are other forms of pages."""

    def release(self, host: Host, section: Section) -> None:
        """Set a section free."""


class RuleTests:
    """See the module."""

    def __init__(self, database: Database, learners: Learners, judge: Judge) -> None:
        self._database = database
        self._learners = learners
        self._judge = judge
        self._due: dict[bytes, tuple[Host, Section]] = {}
        """By the section's key: the rules that want a test now."""
        self._kinds: defaultdict[bytes, Kinds] = defaultdict(Kinds)
        """By the section's key."""
        self._seen_up_to: dict[bytes, bytes] = {}
        """Up to which row of a large section samples were chosen."""
        self._classes: defaultdict[bytes, set[bytes]] = defaultdict(set)
        """By the section's key: the classes that have had a test."""
        self._whole: set[bytes] = set()
        """Sections of which all kinds are known: their rules began in this process, or they were read again."""
        self._fruitless: dict[bytes, int] = {}
        """Sections without a URL that could be a test, when nothing else was left to fetch: after how many fetches of
        the host."""

    def begin(self, section: Section) -> None:
        """Its rule joins URLs from now on."""
        self._whole.add(section.key)

    def joined(self, host: Host, section: Section, key: bytes, taken: tuple[str, str, str]) -> None:
        """A URL has come to the section of a rule."""
        for kind in self._kinds[section.key].of(taken):
            kind.keys.append(key)
        self.look(host, section)

    def tested(self, section: Section, taken: tuple[str, str, str], *, same: bool) -> None:
        """A URL of it had its class's content, or had not."""
        for kind in self._kinds[section.key].of(taken):
            kind.tested += 1
            kind.failed += not same

    def look(self, host: Host, section: Section) -> None:
        """See whether the rule of `section` wants a test, now that a URL has come to it, or has been fetched."""
        if not section.trap.is_joined:
            return
        self._fruitless.pop(section.key, None)
        learnt = self._learners.rule_of(host, section)
        if learnt is not None and self._wants(host, section, learnt, last=False):
            self._due[section.key] = host, section
        else:
            self._due.pop(section.key, None)

    def _wants(self, host: Host, section: Section, learnt: Learnt, *, last: bool) -> bool:
        evidence = learnt.evidence
        if not section.queued or host.trap.demoted or not evidence.is_active or evidence.state == State.ORDERED:
            return False
        done = section.fetched - section.trap.tried
        if evidence.state == State.TESTING:
            return last or done < WINDOW
        kinds = self._kinds[section.key]
        if last and not kinds.are_tested:
            return True
        allowed = TESTS + sqrt(section.known) * (1.0 if last else 0.5)
        if last and kinds.are_few_values:
            allowed = max(allowed, host.fetched / PART * (1 + evidence.failed))
        if evidence.recent:
            return done < allowed + WINDOW * (1 + evidence.failed)
        return done < allowed and (last or done < TESTS + RARE * host.fetched)

    def wanted(self, *, last: bool, but: Container[bytes]) -> list[tuple[Host, Section]]:
        """Sections of which a URL should be fetched; `last`: when nothing else is left, on hosts other than `but`."""
        if not last:
            return list(self._due.values()) if self._due else []
        found = []
        for host, section in self._judge.demoted.values():
            if section is None or not section.trap.is_joined or host.key in but:
                continue
            if self._fruitless.get(section.key) == host.fetched:
                continue
            learnt = self._learners.rule_of(host, section)
            if section.key not in self._whole:
                self._read_kinds(host, section)
            if learnt is not None and self._wants(host, section, learnt, last=True):
                found.append((host, section))
        return found

    def _read_kinds(self, host: Host, section: Section) -> None:
        """A crawl that was resumed has forgotten of what kinds the URLs are that wait in a rule's section."""
        self._whole.add(section.key)
        learner, kinds = self._learners.of(host.key), self._kinds[section.key]
        rows = islice(self._database.scan("queue", section.key, next_prefix(section.key)), _SCANNED)
        keys = [row[len(section.key) + RANK_BYTES :] for row, _ in rows]
        for key, data in zip(keys, self._database.get_many("urls", keys), strict=True):
            if data is not None:
                for kind in kinds.of(learner.taken(UrlRecord.unpack(data).url)):
                    kind.keys.append(key)

    def samples(self, section: Section, learnt: Learnt | None) -> Iterator[bytes]:
        """The keys of some URLs of `section`: of kinds without a test, every other time of those that have failed,
        then any, each as likely as any other; none where enough were tried for now.
        """
        done = section.fetched - section.trap.tried
        if learnt is not None and learnt.evidence.state == State.TESTING and done >= WINDOW:
            return
        yield from self._kinds[section.key].untested(failed=False)
        if done % 2:
            yield from self._kinds[section.key].untested(failed=True)
        start = self._seen_up_to.pop(section.key, section.key)
        rows = islice(self._database.scan("queue", start, next_prefix(section.key)), _SCANNED)
        keys = [row for row, _ in rows]
        if len(keys) == _SCANNED:
            self._seen_up_to[section.key] = keys[-1]
        chosen = self._judge.random.sample(keys, min(_SAMPLES, len(keys)))
        yield from (row[len(section.key) + RANK_BYTES :] for row in chosen)
        for _ in range(_SAMPLES - len(chosen)):  # what came since the last checkpoint is in memory alone
            if (entry := section.queue.sample(self._judge.random)) is not None:
                yield entry[RANK_BYTES:]

    def chosen(self, section: Section, entries: Iterable[tuple[bytes, bytes]]) -> bytes | None:
        """Of `entries`, each with its class, the first whose class has had no test, else the first; None of none."""
        known, again = self._classes[section.key], None
        for entry, its_class in entries:
            if its_class not in known:
                if len(known) >= _CLASSES:
                    known.clear()
                known.add(its_class)
                return entry
            again = again or entry
        return again

    def found_none(self, host: Host, section: Section, *, last: bool) -> None:
        """None of the samples could be a test: there is none until something more of the host has been fetched.

        As long as anything else is left, that may be a page which stands for them: when it comes, nobody looks here.
        """
        self._due.pop(section.key, None)
        if last:
            self._fruitless[section.key] = host.fetched

    def cease(self, section: Section) -> None:
        """The rule joins nothing any more."""
        self._due.pop(section.key, None)
        self._fruitless.pop(section.key, None)
        self._kinds.pop(section.key, None)
        self._classes.pop(section.key, None)
        self._whole.discard(section.key)
