"""Tests of rules about URLs: which rule wants one now, and which of the URLs that it joined is to be fetched for it.

A rule is tested as long as it joins URLs, as it may be wrong for few of them: by some tests at once, until it is
trusted, and by more the more it has joined, chosen at random. Half of those are kept for the end of the crawl, when
all that was joined is there to be chosen from. What becomes of a test says `sitecrawl.dust.evidence`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import islice
from math import sqrt
from typing import Final

from sitecrawl.crawldir.database import Database
from sitecrawl.dust.evidence import AFTER_FAILURE, TESTS, State
from sitecrawl.dust.learner import Learnt
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.learners import Learners
from sitecrawl.frontier.queue import next_prefix
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_judge import TrapJudge

TEST_RATE: Final = 0.02
"""Of a host's fetches go to the tests of a rule that is trusted: the share that probes of traps have, too."""
EARLY: Final = 0.5
"""The share of the tests that are not kept for the end, when all that was joined is there to be chosen from."""
FIRST_TRIALS: Final = 4 * TESTS
"""Fetches for the first tests: some end in an error, and say nothing."""
_SAMPLES = 16
"""URLs of a rule's section that are looked at for a test: of some, the page that stands for them waits itself."""
_POOL = 64
"""URLs that are chosen for a section's next tests in one go, out of `_POOLED_FROM` rows: about 1 us each."""
_POOLED_FROM = 20_000
_GROWN = 1.25
"""When a section has grown so much, others are chosen."""


class RuleTests:
    """See the module."""

    def __init__(self, database: Database, learners: Learners, judge: TrapJudge) -> None:
        self._database = database
        self._learners = learners
        self._judge = judge
        self._due: dict[bytes, tuple[Host, Section]] = {}
        """By the section's key: the rules that want a test now."""
        self._pools: dict[bytes, tuple[int, list[bytes]]] = {}
        """By the section's key: how many URLs it knew when entries were chosen at random for its next tests, and
        these."""
        self._seen_up_to: dict[bytes, bytes] = {}
        """Up to which row of a large section its last pool was chosen."""
        self._fruitless: set[bytes] = set()
        """Sections without a URL that could be a test, when nothing else was left to fetch."""

    def look(self, host: Host, section: Section) -> None:
        """See whether the rule of `section` wants a test, now that a URL has come to it, or has been fetched."""
        if not section.trap.is_joined:
            return
        self._fruitless.discard(section.key)
        learnt = self._learners.rule_of(host, section)
        if learnt is not None and self._wants(host, section, learnt, last=False):
            self._due[section.key] = host, section
        else:
            self._due.pop(section.key, None)

    def _wants(self, host: Host, section: Section, learnt: Learnt, *, last: bool) -> bool:
        evidence = learnt.evidence
        if not section.queued or host.trap.demoted or evidence.state not in {State.TESTING, State.TRUSTED}:
            return False
        done = section.fetched - section.trap.tried
        allowed = TESTS + sqrt(section.known) * (1 if last else EARLY)
        if evidence.state == State.TESTING:
            return last or done < FIRST_TRIALS
        if evidence.recent and evidence.calm < AFTER_FAILURE:
            return done < FIRST_TRIALS + allowed + AFTER_FAILURE * evidence.failed
        return done < allowed and (last or done < TESTS + TEST_RATE * host.fetched)

    def wanted(self, *, last: bool, but: Container[bytes]) -> list[tuple[Host, Section]]:
        """Sections of which a URL should be fetched; `last`: when nothing else is left, on hosts other than `but`."""
        if not last:
            return list(self._due.values()) if self._due else []
        found = []
        for host, section in self._judge.demoted.values():
            if section is None or not section.trap.is_joined or section.key in self._fruitless or host.key in but:
                continue
            learnt = self._learners.rule_of(host, section)
            if learnt is not None and self._wants(host, section, learnt, last=True):
                found.append((host, section))
        return found

    def samples(self, section: Section, learnt: Learnt | None) -> Iterator[bytes]:
        """Entries of some URLs of `section`, each as likely as any other; none where enough were tried for now."""
        done = section.fetched - section.trap.tried
        if learnt is not None and learnt.evidence.state == State.TESTING and done >= FIRST_TRIALS:
            return
        for _ in range(_SAMPLES):
            if (entry := self._sample(section)) is None:
                return
            yield entry

    def _sample(self, section: Section) -> bytes | None:
        """A queue's own sample begins behind the URLs with the most credit, which is no matter for a trap."""
        known, pool = self._pools.get(section.key, (0, []))
        if not pool or section.known > _GROWN * known:
            start = self._seen_up_to.get(section.key, section.key)
            rows = islice(self._database.scan("queue", start, next_prefix(section.key)), _POOLED_FROM)
            keys = [key for key, _ in rows]
            if len(keys) == _POOLED_FROM:  # the next pool is of what comes after
                self._seen_up_to[section.key] = keys[-1]
            else:
                self._seen_up_to.pop(section.key, None)
            chosen = self._judge.random.sample(keys, min(_POOL, len(keys)))
            pool = [key[len(section.key) :] for key in chosen]
            self._pools[section.key] = section.known, pool
        return pool.pop() if pool else section.queue.sample(self._judge.random)

    def found_none(self, section: Section, *, last: bool) -> None:
        """None of the samples could be a test: there is none until something has changed.

        As long as anything else is left, that may be a page which stands for them: when it comes, nobody looks here.
        """
        self._due.pop(section.key, None)
        if last:
            self._fruitless.add(section.key)

    def cease(self, section: Section) -> None:
        """The rule joins nothing any more."""
        self._due.pop(section.key, None)
        self._fruitless.discard(section.key)
        self._pools.pop(section.key, None)
