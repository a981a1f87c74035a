"""URLs that are other forms of pages: one form is fetched, the others wait, and a few of them are fetched as tests.

What in a URL chooses no content is learnt from the pages themselves (`sitecrawl.dust`). Under a rule that is in test
or trusted, a URL is *joined* if its class has a page already: one that was fetched, or waits to be. It is queued like
any other, with its credit and its record, but in a section of the rule's own, which is held back (`Reason.JOINED`).
So nothing is lost by a rule that is wrong: tests pick URLs of its section at random, and when it fails the section
is set free, and all that it held is fetched after all.

Invariants:
- Whoever is joined has a page that stands for it: one that was fetched with success, is in flight, or waits in a
  section that is not a rule's. It is asked again under the rules of the present, which may have made another class of
  that page. Where it comes to nothing, the shortest URL that it stood for takes its place.
- Only what links lead to is joined: no request, no seed, nothing that is asked for again.
- On a host without such rules a link costs one look into a set.

A URL meets its class twice: when it is found, and when it would be fetched, for it may have waited longer than the
rule is old. Of two forms that wait, the shorter is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from itertools import islice
from math import sqrt
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.dust.evidence import AFTER_FAILURE, TESTS, State
from sitecrawl.dust.learner import Learner, Learnt
from sitecrawl.frontier.classes import MAX_FAILURES, NOBODY, UNKNOWN, Classes, ClassRow
from sitecrawl.frontier.hosts import KEY_BYTES, Host
from sitecrawl.frontier.learners import Learners
from sitecrawl.frontier.queue import next_prefix
from sitecrawl.frontier.record import RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.tables import HostTable, UrlTable
from sitecrawl.frontier.trap_judge import TrapJudge
from sitecrawl.frontier.url_states import UrlStates
from sitecrawl.frontier.visit import Visit
from sitecrawl.page.items import Link

TEST_RATE: Final = 0.02
"""Of a host's fetches go to the tests of a rule that is trusted: the share that probes of traps have, too."""
EARLY: Final = 0.5
"""The share of the tests that are not kept for the end, when all that was joined is there to be chosen from."""
FIRST_TRIALS: Final = 4 * TESTS
"""Fetches for the first tests: some end in an error, and say nothing."""
_SAMPLES = 16
"""URLs of a rule's section that are looked at for a test: of some, the page that stands for them waits itself."""
_JOINED_AT_ONCE = 500
"""URLs that had been waiting when a rule was learnt and are joined in one go; then one is fetched. 50 us each."""
_POOL = 64
"""URLs that are chosen for a section's next tests in one go, out of `_POOLED_FROM` rows: about 1 us each."""
_POOLED_FROM = 20_000
_GROWN = 1.25
"""When a section has grown so much, others are chosen."""
_PUT_BACK_AT_ONCE = 50
"""URLs of a dropped rule that go back to the sections of their shapes before each fetch; 50 us each."""
_NAME = "rule "
"""How the names of rules begin: no shape begins so."""
_NO_FORMS = Flag.UNFILTERED | Flag.REQUEST | Flag.VOLATILE | Flag.SEED | Flag.AWAITED | Flag.AGAIN
_GONE = frozenset({404, 410})


def is_rules(section: Section) -> bool:
    """Whether a section was made for a rule, which may have been dropped."""
    return section.shape.startswith(_NAME)


class Forms:
    """See the module. `fingerprint` is that of a URL; `place` puts a host that has work again on the workbench."""

    def __init__(
        self,
        database: Database,
        urls: UrlTable,
        hosts: HostTable,
        states: UrlStates,
        judge: TrapJudge,
        *,
        in_flight: Container[bytes],
        fingerprint: Callable[[str], bytes],
        place: Callable[[Iterable[Host]], None],
        learns: bool,
    ) -> None:
        self.learns = learns
        self._database = database
        self._urls = urls
        self._hosts = hosts
        self._states = states
        self._judge = judge
        self._in_flight = in_flight
        self._fingerprint = fingerprint
        self._place = place
        self._classes = Classes(database)
        self.learners = Learners(database)
        self._ruled: set[bytes] = set()
        """The keys of hosts on which rules join URLs."""
        self._due: dict[bytes, tuple[Host, Section]] = {}
        """By the section's key: the rules that want a test now."""
        self._pools: dict[bytes, tuple[int, list[bytes]]] = {}
        """By the section's key: how many URLs it knew when entries were chosen at random for its next tests, and
        these."""
        self._seen_up_to: dict[bytes, bytes] = {}
        """Up to which row of a large section its last pool was chosen."""
        self._fruitless: set[bytes] = set()
        """Sections without a URL that could be a test at present."""
        self._left = _JOINED_AT_ONCE
        self._freed: dict[bytes, tuple[Host, Section]] = {}
        """By the section's key: sections of rules that were dropped, whose URLs go back where they came from."""

    # Where a URL goes

    def section_for(self, host: Host, found: Link) -> Section | None:
        """The section of the rule by which a link that was just found is another form of a page, if it is one."""
        if host.key not in self._ruled:
            return None
        return self._joining(host, found.key, found.url, found.priority)

    def joins(self, host: Host, key: bytes, record: UrlRecord) -> bool:
        """Whether a URL that would be fetched now is not, because it is another form of a page."""
        if host.key not in self._ruled or record.flags & _NO_FORMS:
            return False
        section = host.sections[record.section]
        if section.trap.is_joined:
            return True
        if self._left <= 0:
            return False
        target = self._joining(host, key, record.url)
        if target is None:
            return False
        self._left -= 1
        self._states.move(key, record, host, target)
        self._look(host, target)
        return True

    def visited(self) -> None:
        """Something is fetched: as many as before may be joined until the next."""
        self._left = _JOINED_AT_ONCE

    def is_joined(self, host: Host, section: bytes) -> bool:
        """Whether the section of `host`, by the second part of its key, is that of a rule."""
        return host.key in self._ruled and host.sections[section].trap.is_joined

    def _joining(self, host: Host, key: bytes, url: str, priority: int | None = None) -> Section | None:
        """The section where the URL waits as another form; None if it is to be fetched, and stands for its class.

        `priority` is None for a URL that would be fetched now: it is not kept back by one that still waits.
        """
        learner = self.learners.of(host.key)
        text, learnt = learner.form(url)
        name = self._fingerprint(text)
        row = self._classes.get(name)
        page = self._page(learner, text, name, row, key)
        if page is None:
            if learnt is not None or row is not None:
                self._stand(name, row, key)
            return None
        page_key, record = page
        waits = record.state == UrlState.QUEUED and page_key not in self._in_flight
        by = learnt or learner.form(record.url)[1]
        if by is None:
            return None
        if waits and (priority is None or self._gives_way(page_key, record, url, learner)):
            self._stand(name, row, key, other=page_key)
            return None
        if priority:
            self._states.prefer(page_key, priority)
        self._note_other(name, row, page_key, key, url)
        section = self._hosts.rule_section(host, str(by))
        self._look(host, section)
        return section

    def _gives_way(self, key: bytes, record: UrlRecord, url: str, learner: Learner) -> bool:
        """Whether the page of the class, which waits, has made room for the shorter `url`."""
        learnt = learner.form(record.url)[1]
        if len(url) >= len(record.url) or learnt is None or record.flags & _NO_FORMS:
            return False
        host = self._states.host_of(record)
        section = self._hosts.rule_section(host, str(learnt))
        if not section.trap.is_joined:
            return False
        self._states.move(key, record, host, section)
        return True

    def _page(
        self, learner: Learner, text: str, name: bytes, row: ClassRow | None, key: bytes
    ) -> tuple[bytes, UrlRecord] | None:
        """Who stands for the class `text`: a URL other than `key`, and its record."""
        page = name if row is None else row.page
        if page in (key, NOBODY) or (record := self._urls.get(page)) is None:
            return None
        if page != name and learner.form(record.url)[0] != text:
            return None  # it did under other rules
        return (page, record) if self._stands(page, record, row) else None

    def _stands(self, key: bytes, record: UrlRecord, row: ClassRow | None) -> bool:
        """Whether a URL brings its class's content, or has."""
        if record.state == UrlState.QUEUED:
            return key in self._in_flight or not self._states.host_of(record).sections[record.section].trap.is_joined
        fetched = record.state == UrlState.FETCHED and (200 <= record.status < 300 or record.status in _GONE)
        return fetched or (row is not None and row.failures >= MAX_FAILURES)

    def _stand(self, name: bytes, row: ClassRow | None, key: bytes, other: bytes = NOBODY) -> None:
        """From now on `key` stands for the class."""
        if row is None:
            row = ClassRow()
        if row.page != key:
            self._classes.put(name, row._replace(page=key, content=UNKNOWN, other=other or row.other))

    def _note_other(self, name: bytes, row: ClassRow | None, page: bytes, key: bytes, url: str) -> None:
        """Remember the URL if it is the shortest of those that are joined."""
        row = row or ClassRow(page)
        if row.other != NOBODY:
            known = self._urls.get(row.other)
            if known is not None and known.state == UrlState.QUEUED and len(known.url) <= len(url):
                return
        self._classes.put(name, row._replace(other=key))

    # What pages teach

    def compared(self, visit: Visit, record: UrlRecord, original: bytes) -> None:
        """The page of `visit` has the content of the URL with the fingerprint `original`: its own if it is new."""
        if not self.learns or visit.again or record.url.find("/", 8) < 0:
            return
        host = self._states.host_of(record)
        learner, content = self.learners.of(host.key), original[: len(UNKNOWN)]
        if host.key in self._ruled:
            self._apply(host, learner, self._test(host, learner, visit.key, record, content))
        elif original != visit.key:
            self._classes.put(visit.key, ClassRow(visit.key, content))
        first = None
        if original != visit.key and (known := self._urls.get(original)) is not None:
            first = known.url
        self._apply(host, learner, learner.observe(record.url, content, first))
        if learner.learnt:
            self.learners.changed(host.key)

    def _test(self, host: Host, learner: Learner, key: bytes, record: UrlRecord, content: bytes) -> list[Learnt]:
        """A page of a host with rules has come: it stands for its class, or has tested the rules that joined it."""
        text, learnt = learner.form(record.url)
        name = self._fingerprint(text)
        row = self._classes.get(name)
        page = self._page(learner, text, name, row, key)
        if page is None:
            self._classes.put(name, (row or ClassRow())._replace(page=key, content=content))
            return []
        if learnt is None or not host.sections[record.section].trap.is_joined:
            return []
        same = self._is_same(page, row, content)
        return [] if same is None else learner.tested(record.url, same=same)

    def _is_same(self, page: tuple[bytes, UrlRecord], row: ClassRow | None, content: bytes) -> bool | None:
        """Whether `content` is that of its class's page; None as long as that is not fetched."""
        key, record = page
        if record.state != UrlState.FETCHED:
            return None
        if record.status in _GONE:
            return False
        if row is not None and row.content != UNKNOWN:
            return row.content == content
        own = self._classes.get(key)  # as it was fetched, before it stood for others
        return content == (key[: len(UNKNOWN)] if own is None or own.content == UNKNOWN else own.content)

    def ended(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """A visit is over. What came to nothing stands for its class no longer."""
        if host.key not in self._ruled:
            return
        self._look(host, host.sections[record.section])
        if self._stands(key, record, None):
            return
        learner = self.learners.of(host.key)
        name = self._fingerprint(learner.form(record.url)[0])
        row = self._classes.get(name)
        if row is None or row.page != key:
            return
        failures = min(row.failures + 1, MAX_FAILURES)
        self._classes.put(name, ClassRow(row.other, UNKNOWN, NOBODY, failures))
        if row.other != NOBODY and (other := self._urls.get(row.other)) is not None:
            self.set_free(row.other, other)

    def set_free(self, key: bytes, record: UrlRecord) -> None:
        """A URL that was joined goes back to where URLs of its shape wait."""
        host = self._states.host_of(record)
        if not host.sections[record.section].trap.is_joined or key in self._in_flight:
            return
        if record.state == UrlState.QUEUED:
            self._states.move(key, record, host, self._hosts.section(host, record.url))
            self._place([host])
        else:
            self._states.recount(record, host, self._hosts.section(host, record.url))

    def put_back(self) -> None:
        """Let some of what a rule held, and joins no more, wait among the URLs of its shape again."""
        for place, (host, section) in list(self._freed.items()):
            learner = self.learners.of(host.key)
            for _ in range(_PUT_BACK_AT_ONCE):
                if (entry := section.queue.pop()) is None:
                    del self._freed[place]
                    section.queue.rewind()
                    break
                record = self._states.waiting(entry)
                if record is None or record.section != section.key[KEY_BYTES:]:
                    continue
                learnt = learner.form(record.url)[1] if section.trap.is_joined else None
                if learnt is None or str(learnt) != section.shape:
                    self._states.move(entry[RANK_BYTES:], record, host, self._hosts.section(host, record.url))
            self._place([host])

    # Rules come and go

    def _apply(self, host: Host, learner: Learner, changed: Iterable[Learnt]) -> None:
        for learnt in changed:
            self.learners.changed(host.key)
            section = self._hosts.rule_section(host, str(learnt))
            if not learnt.evidence.is_active:
                self._cease(host, learner, section)
            elif section.trap.is_joined:  # it joins fewer: some of what it holds has to go back
                self._states.rewind(host)
                self._freed[section.key] = host, section
            else:
                self._begin(host, learner, section)

    def _begin(self, host: Host, learner: Learner, section: Section) -> None:
        """A rule joins URLs from now on: the last pages of the host stand for their classes."""
        self._judge.set_aside(host, section)
        self._ruled.add(host.key)
        self._hosts.changed(host, section)
        for url, content in learner.recent():
            key, name = self._fingerprint(url), self._fingerprint(learner.form(url)[0])
            row = self._classes.get(name)
            if row is None or row.page == key:
                self._classes.put(name, (row or ClassRow())._replace(page=key, content=content))

    def _cease(self, host: Host, learner: Learner, section: Section) -> None:
        """A rule joins nothing any more: what it held is fetched after all."""
        self._due.pop(section.key, None)
        self._fruitless.discard(section.key)
        self._pools.pop(section.key, None)
        if section.trap.is_joined:
            self._judge.release(host, section)
            self._states.rewind(host)
        self._freed[section.key] = host, section
        self._hosts.changed(host, section)
        if not len(learner.active):
            self._ruled.discard(host.key)
        self._place([host])

    def remember(self, host: Host) -> None:
        """A host has come from disk: which rules join its URLs is known again, also if a person has changed that."""
        joined = []
        for section in host.sections.values():
            if section.trap.is_joined:
                joined.append(section)
            elif section.queued and is_rules(section):
                self._freed[section.key] = host, section
        if not joined or not self.learns:
            return
        learner = self.learners.of(host.key)
        self._ruled.add(host.key)
        active = {str(one): one for one in learner.learnt.values() if one.evidence.is_active}
        for section in joined:
            if section.shape not in active:
                self._judge.release(host, section)
                self._freed[section.key] = host, section
                self._hosts.changed(host, section)
            else:
                self._look(host, section)
        for text in active.keys() - {section.shape for section in joined}:
            section = self._hosts.rule_section(host, text)
            self._judge.set_aside(host, section)
            self._hosts.changed(host, section)
        if not len(learner.active):
            self._ruled.discard(host.key)

    def order(self, host: Host, learnt: Learnt, state: State) -> None:
        """A person says what becomes of a rule."""
        learner = self.learners.of(host.key)
        was_active = learnt.evidence.is_active
        learner.order(learnt, state)
        self.learners.changed(host.key)
        if learnt.evidence.is_active != was_active:
            self._apply(host, learner, [learnt])

    def rule_of(self, host: Host, section: Section) -> Learnt | None:
        """The rule whose section it is."""
        if not is_rules(section):
            return None
        return self.learners.of(host.key).numbered(int(section.shape.partition(":")[0].removeprefix(_NAME)))

    # Tests

    def _look(self, host: Host, section: Section) -> None:
        """See whether the rule of `section` wants a test, now that a URL has come to it, or has been fetched."""
        if not section.trap.is_joined:
            return
        self._fruitless.discard(section.key)
        learnt = self.rule_of(host, section)
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

    def tests(self, *, last: bool, but: Container[bytes] = ()) -> list[tuple[Host, Section]]:
        """Sections of which a URL should be fetched, to test their rules; `last`: when nothing else is left."""
        if not last:
            return list(self._due.values()) if self._due else []
        found = []
        for host, section in self._judge.demoted.values():
            if section is None or not section.trap.is_joined or section.key in self._fruitless or host.key in but:
                continue
            learnt = self.rule_of(host, section)
            if learnt is not None and self._wants(host, section, learnt, last=True):
                found.append((host, section))
        return found

    def test_of(self, host: Host, section: Section, *, last: bool) -> bytes | None:
        """The queue's entry of a URL of `section` whose class's page has been fetched.

        Where there is none, the section has no test for now; a rule that could not be tested by the end is dropped.
        """
        learnt = self.rule_of(host, section)
        done = section.fetched - section.trap.tried
        is_young = learnt is not None and learnt.evidence.state == State.TESTING
        if not (is_young and done >= FIRST_TRIALS):
            for _ in range(_SAMPLES):
                entry = self._sample(section)
                if entry is None:
                    break
                if self._is_test(host, section, entry):
                    return entry
        self._due.pop(section.key, None)
        self._fruitless.add(section.key)
        if is_young and last and learnt is not None:
            learner = self.learners.of(host.key)
            learner.give_up(learnt)
            self._apply(host, learner, [learnt])
        return None

    def _sample(self, section: Section) -> bytes | None:
        """The entry of some URL of `section`, each as likely as any other.

        A queue's own sample begins behind the URLs with the most credit, which is no matter for a trap.
        """
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

    def _is_test(self, host: Host, section: Section, entry: bytes) -> bool:
        key = entry[RANK_BYTES:]
        record = self._states.waiting(entry)
        if record is None or record.section != section.key[KEY_BYTES:]:
            section.queue.discard(entry)
            return False
        learner = self.learners.of(host.key)
        text, _ = learner.form(record.url)
        name = self._fingerprint(text)
        page = self._page(learner, text, name, self._classes.get(name), key)
        if page is None:
            self._stand(name, self._classes.get(name), key)
            self.set_free(key, record)
            return False
        return page[1].state == UrlState.FETCHED

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand what was learnt to `batch`."""
        self._classes.flush(batch)
        self.learners.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._classes.flushed()
        self.learners.flushed()
