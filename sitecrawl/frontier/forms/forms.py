"""URLs that are other forms of pages: one form is fetched, the others wait, and a few of them are fetched as tests.

What in a URL chooses no content is learnt from the pages themselves (`learner`). Under a rule that is in test
or trusted, a URL is *joined* if its class has a page already: one that was fetched, or waits to be. It is queued like
any other, with its credit and its record, but in a section of the rule's own, which is held back (`Reason.JOINED`).
So nothing is lost by a rule that is wrong: tests pick URLs of its section at random, and when it fails the section
is set free, and all that it held is fetched after all.

A pool (`frontier.urls.sites`) has no rules: its URLs are of many servers, and what two of them do alike is no rule
of one.

Invariants:
- Whoever is joined has a page that stands for it: one that was fetched with success, is in flight, or waits in a
  section that is not a rule's. It is asked again under the rules of the present, which may have made another class of
  that page. Where it comes to nothing, the shortest URL that it stood for takes its place.
- A URL from which the rule takes nothing away is not joined to one that was fetched, unless they differ in spelling
  alone or in what is called as session ids are: it may be the page, and what was fetched an old version of it. So a
  key that is wrongly taken for one that chooses nothing costs at most what stands only at URLs with it.
- Only what links lead to is joined: no request, no seed, nothing that is asked for again.
- On a host without such rules a link costs one look into a set.

A URL meets its class twice: when it is found, and when it would be fetched, for it may have waited longer than the
rule is old. Of two forms that wait, the shorter is fetched, but for sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.frontier.forms.classes import NOBODY, Classes, content_id
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.forms.learner import Learner, Learnt, rule_number
from sitecrawl.frontier.forms.learners import Learners
from sitecrawl.frontier.forms.representatives import Representatives
from sitecrawl.frontier.forms.rule_tests import Judge, RuleTests
from sitecrawl.frontier.forms.rules import DROP, session_rules
from sitecrawl.frontier.forms.views import FIRST, Views, is_suspect
from sitecrawl.frontier.urls.host import KEY_BYTES, Host
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.tables import HostTable, UrlTable
from sitecrawl.frontier.urls.url_states import UrlStates
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link

_JOINED_AT_ONCE = 500
"""URLs that had been waiting when a rule was learnt and are joined in one go; then one is fetched. 50 us each."""
_PUT_BACK_AT_ONCE = 50
"""URLs of a dropped rule that go back to the sections of their shapes before each fetch; 50 us each."""
_NO_FORMS: Final = (
    Flag.UNFILTERED | Flag.REQUEST | Flag.VOLATILE | Flag.SEED | Flag.AWAITED | Flag.AGAIN | Flag.REQUISITE
)


class Forms:
    """See the module. `fingerprint` is that of a URL; `place` puts a host that has work again on the workbench."""

    def __init__(
        self,
        database: Database,
        urls: UrlTable,
        hosts: HostTable,
        states: UrlStates,
        judge: Judge,
        *,
        in_flight: Container[bytes],
        fingerprint: Callable[[str], bytes],
        place: Callable[[Iterable[Host]], None],
        learns: bool,
    ) -> None:
        self.learns = learns
        self._urls = urls
        self._hosts = hosts
        self._states = states
        self._judge = judge
        self._in_flight = in_flight
        self._place = place
        self._classes = Classes(database)
        self._standing = Representatives(self._classes, urls, states, in_flight=in_flight, fingerprint=fingerprint)
        self._fingerprint = fingerprint
        self.learners = Learners(database)
        self._tests = RuleTests(database, self.learners, judge)
        self.views = Views()
        self._ruled: set[bytes] = set()
        """The keys of hosts on which rules join URLs."""
        self._left = _JOINED_AT_ONCE
        """How many more of those that had been waiting may be joined before something is fetched."""
        self._freed: dict[bytes, tuple[Host, Section]] = {}
        """By the section's key: sections of rules that were dropped, whose URLs go back where they came from."""

    # Where a URL goes

    def joined(self, host: Host, found: Link) -> tuple[Section, bytes] | None:
        """Where a link that was just found waits if it is another form of a page, and the key of that page."""
        if self.learns and not host.is_pool and (rules := session_rules(found.url)):
            learner = self.learners.of(host.key)
            self._apply(host, learner, learner.know(rules))
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
        found = self._joining(host, key, record.url)
        if found is None:
            return False
        target, _ = found
        self._left -= 1
        self._states.move(key, record, host, target)
        self._tests.look(host, target)
        return True

    def visited(self) -> None:
        """Something is fetched: as many as before may be joined until the next."""
        self._left = _JOINED_AT_ONCE

    def _joining(self, host: Host, key: bytes, url: str, priority: int | None = None) -> tuple[Section, bytes] | None:
        """The section where the URL waits as another form, and the page that stands for it; None if it is to be
        fetched, and stands for its class.

        `priority` is None for a URL that would be fetched now: it is not kept back by one that still waits.
        """
        learner = self.learners.of(host.key)
        its_class = self._standing.class_of(learner, url)
        page = self._standing.page(learner, its_class, key)
        if page is None:
            if its_class.by is not None or its_class.row is not None:
                self._standing.appoint(its_class, key)
            return None
        page_key, record = page
        waits = record.state == UrlState.QUEUED and page_key not in self._in_flight
        by = its_class.by or learner.form(record.url)[1]
        if by is None:
            return None
        if waits and (priority is None or self._gives_way(page_key, record, url, learner)):
            self._standing.appoint(its_class, key, other=page_key)
            return None
        if its_class.by is None and by.rule.kind == DROP and not by.evidence.is_of_sessions:
            return None  # it may be the page of which the other is an old version
        if priority:
            self._states.prefer(page_key, priority)
        self._standing.note_other(its_class, page_key, key, url)
        section = self._hosts.rule_section(host, str(by))
        self._tests.joined(host, section, key, learner.taken(url))
        return section, page_key

    def _gives_way(self, key: bytes, record: UrlRecord, url: str, learner: Learner) -> bool:
        """Whether the page of the class, which waits, has made room for the shorter `url`."""
        learnt = learner.form(record.url)[1]
        if len(url) >= len(record.url) or learnt is None or record.flags & _NO_FORMS:
            return False
        if learnt.evidence.is_of_sessions:
            return False  # its credit would wait with it
        host = self._states.host_of(record)
        section = self._hosts.rule_section(host, str(learnt))
        if not section.trap.is_joined:
            return False
        self._states.move(key, record, host, section)
        return True

    # What pages teach

    def compared(self, visit: Visit, record: UrlRecord, original: bytes, title: bytes) -> None:
        """The page of `visit` has the content of the URL with the fingerprint `original`: its own if it is new."""
        if not self.learns or visit.again or record.url.find("/", 8) < 0:
            return
        host = self._states.host_of(record)
        if host.is_pool:
            return
        learner, content = self.learners.of(host.key), content_id(original, title)
        if host.key in self._ruled:
            self._apply(host, learner, self._test(host, learner, visit.key, record, content))
        elif original != visit.key:
            self._standing.repeats(visit.key, content)
        first = None
        if original != visit.key and (known := self._urls.get(original)) is not None:
            first = known.url
        self._apply(host, learner, learner.observe(record.url, content, first))
        if learner.learnt:
            self.learners.changed(host.key)

    def _test(self, host: Host, learner: Learner, key: bytes, record: UrlRecord, content: bytes) -> list[Learnt]:
        """A page of a host with rules has come: it stands for its class, or has tested the rules that joined it."""
        its_class = self._standing.class_of(learner, record.url)
        page = self._standing.page(learner, its_class, key)
        if page is None:
            self._standing.fetched(its_class, key, content)
            return []
        section = host.sections[record.section]
        if not section.trap.is_joined:
            return []
        by = its_class.by or learner.form(page[1].url)[1]
        is_minted = by is not None and by.evidence.state == State.MINTED
        if (same := self._standing.is_same(page, its_class.row, content, by_title=is_minted)) is None:
            return []
        url = record.url if its_class.by is not None else page[1].url  # a rule has changed one of the two
        self._tests.tested(section, learner.taken(record.url), same=same)
        return learner.tested(url, same=same)

    def viewed(self, visit: Visit, host: Host, links: Sequence[Link], new: Sequence[Link]) -> None:
        """The page of `visit` links to `links`, of which those on its own `host` that no rule joins are `new`."""
        if not self.learns or host.is_pool or host.fetched < FIRST or visit.request is not None or visit.again:
            return
        learner = self.learners.of(host.key)
        if host.fetched >= learner.next_views:
            own = [link for link in links if link.host == host.name]
            if is_suspect(own, new):
                learner.next_views = 2 * host.fetched
                self.learners.changed(host.key)
                self.views.take(visit, own)

    def compare_views(self, visit: Visit, links: Sequence[Link]) -> bool:
        """Learn from the links of a page that is fetched a second time for them; False if it is another."""
        if not (first := self.views.first(visit)):
            return False
        host = self._states.host_of(self._states.known(visit.key))
        learner = self.learners.of(host.key)
        second = [link.url for link in links if link.host == host.name]
        self._apply(host, learner, learner.compare_views(first, second[: len(first)]))
        return True

    def ended(self, key: bytes, record: UrlRecord, host: Host) -> None:
        """A visit is over. What came to nothing stands for its class no longer."""
        if host.key not in self._ruled:
            return
        self._tests.look(host, host.sections[record.section])
        heir = self._standing.ended(self.learners.of(host.key), key, record)
        if heir != NOBODY and (other := self._urls.get(heir)) is not None:
            self.set_free(heir, other)

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
        for key, (host, section) in [*self._freed.items()] if self._freed else ():
            learner = self.learners.of(host.key)
            for _ in range(_PUT_BACK_AT_ONCE):
                if (entry := section.queue.pop()) is None:
                    del self._freed[key]
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
        self._tests.begin(section)
        self._ruled.add(host.key)
        self._hosts.changed(host, section)
        for url, content in learner.recent():
            key, its_class = self._fingerprint(url), self._standing.class_of(learner, url)
            if its_class.row is None or its_class.row.page == key:
                self._standing.fetched(its_class, key, content)

    def _cease(self, host: Host, learner: Learner, section: Section) -> None:
        """A rule joins nothing any more: what it held is fetched after all."""
        self._tests.cease(section)
        if section.trap.is_joined:
            self._judge.release(host, section)
            self._states.rewind(host)
        self._freed[section.key] = host, section
        self._hosts.changed(host, section)
        if not learner.active.rules:
            self._ruled.discard(host.key)
        self._place([host])

    def remember(self, host: Host) -> None:
        """A host has come from disk: which rules join its URLs is known again, also if a person has changed that."""
        joined = []
        for section in host.sections.values():
            if section.trap.is_joined:
                joined.append(section)
            elif section.queued and rule_number(section.shape) is not None:
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
                self._tests.look(host, section)
        for text in active.keys() - {section.shape for section in joined}:
            section = self._hosts.rule_section(host, text)
            self._judge.set_aside(host, section)
            self._hosts.changed(host, section)
        if not learner.active.rules:
            self._ruled.discard(host.key)

    def order(self, host: Host, learnt: Learnt, state: State) -> None:
        """A person says what becomes of a rule."""
        learner = self.learners.of(host.key)
        was_active = learnt.evidence.is_active
        learner.order(learnt, state)
        self.learners.changed(host.key)
        if learnt.evidence.is_active != was_active:
            self._apply(host, learner, [learnt])

    # Tests

    def tests(self, *, last: bool, but: Container[bytes] = ()) -> list[tuple[Host, Section]]:
        """Sections of which a URL should be fetched, to test their rules; `last`: when nothing else is left."""
        return self._tests.wanted(last=last, but=but)

    def test_of(self, host: Host, section: Section, *, last: bool) -> bytes | None:
        """The queue's entry of a URL of `section` whose class's page has been fetched.

        Where there is none, the section has no test for now. A rule that could not be tested by the end is dropped,
        and so is one that has been wrong too often by then.
        """
        learnt = self.learners.rule_of(host, section)
        if last and learnt is not None and learnt.evidence.is_doubtful:
            self._give_up(host, learnt)
            return None
        found = (self._test_entry(host, section, key) for key in self._tests.samples(section, learnt))
        if (entry := self._tests.chosen(section, filter(None, found))) is not None:
            return entry
        self._tests.found_none(host, section, last=last)
        if last and learnt is not None and learnt.evidence.is_unproven:
            self._give_up(host, learnt)
        return None

    def _give_up(self, host: Host, learnt: Learnt) -> None:
        """What the rule has joined is fetched after all."""
        learner = self.learners.of(host.key)
        learner.give_up(learnt)
        self._apply(host, learner, [learnt])

    def _test_entry(self, host: Host, section: Section, key: bytes) -> tuple[bytes, bytes] | None:
        """The queue's entry of a URL, and its class, if it is a test."""
        record = self._urls.get(key)
        if record is None or record.state != UrlState.QUEUED or key in self._in_flight:
            return None
        if record.section != section.key[KEY_BYTES:]:
            return None
        learner = self.learners.of(host.key)
        its_class = self._standing.class_of(learner, record.url)
        page = self._standing.page(learner, its_class, key)
        if page is None:
            self._standing.appoint(its_class, key)
            self.set_free(key, record)
            return None
        return (record.rank + key, its_class.name) if page[1].state == UrlState.FETCHED else None

    # Durability

    def flush(self, batch: Batch) -> None:
        """Hand what was learnt to `batch`."""
        self._classes.flush(batch)
        self.learners.flush(batch)

    def flushed(self) -> None:
        """The batch is on disk."""
        self._classes.flushed()
        self.learners.flushed()
