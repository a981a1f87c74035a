"""The frontier of one process: on disk, in the crawl's order, polite. Keeps the contract of `frontier.contract`.

One URL's way: `add` (a link) or `add_request` (anything else) → queued → `next` hands it out as a `Visit` →
`downloaded` frees its host → `done`, or `retry` puts it back.

What happens between two checkpoints lives in memory, as changes over what the database holds, and goes down in one
atomic batch: `flush` hands all of it over, `flushed` says that it is on disk. A crash in between leaves the database
as the last batch made it; a URL that is not done there is queued there.

Layout on disk: docs/formats/database.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from random import Random
from typing import Final

from sitecrawl.base.errors import CorruptFile, OptionError
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import JUDGE
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.credit.ledger import Ledger
from sitecrawl.credit.policies import policy_named
from sitecrawl.dust.evidence import State
from sitecrawl.frontier.contract import Capability, Listener
from sitecrawl.frontier.counts import Counts
from sitecrawl.frontier.crawl_seen import SeenKeeper
from sitecrawl.frontier.duplicates import ContentIndex, Verdict
from sitecrawl.frontier.forms import Forms
from sitecrawl.frontier.hosts import Host, PolitenessOptions
from sitecrawl.frontier.link_credit import LinkCredit
from sitecrawl.frontier.order import (
    Order,
    class_credit,
    goes_first,
    goes_last,
    level_of,
)
from sitecrawl.frontier.record import GONE, MAX_STATUS, NO_REFERRER, RANK_BYTES, Flag, UrlRecord, UrlState
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.silent_hosts import SilentHosts
from sitecrawl.frontier.tables import HostTable, UrlTable
from sitecrawl.frontier.trap_judge import TrapJudge, TrapOptions
from sitecrawl.frontier.turns import HostTurns, next_section
from sitecrawl.frontier.url_states import UrlStates
from sitecrawl.frontier.visit import News, Visit
from sitecrawl.frontier.workbench import Workbench
from sitecrawl.page.items import Link

_SAMPLES = 4
"""Entries of a section that are tried for a probe: some stand for URLs that have been fetched."""
_GIVEN_UP_AT_ONCE = 500
"""URLs of a dead host that are given up in one go: there may be millions, and the other hosts do not wait."""
_GIVE_UP_PAUSE = 0.1
"""Seconds until the next go."""


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """What the frontier may hand out."""

    max_depth: int = 0
    """URLs farther than so many links from a seed are not queued; 0 for no limit."""
    max_pages: int = 0
    """Hand out no more once so many URLs have been fetched; 0 for no limit."""
    lambda_policy: str = "hosts"
    """How the lambda page pays out: see `sitecrawl.credit.policies`."""
    traps: TrapOptions = field(default_factory=TrapOptions)
    learn_rules: bool = True
    """Learn from pages that repeat others what in their URLs chooses no content, and fetch one form of each: see
    `sitecrawl.frontier.forms`. Only where sections can be held back: in an order by credit without a depth limit."""


class DiskFrontier:
    """See the module; what its calls mean is said in `contract.Frontier`.

    `host_key` gives the key of a host by its name, `fingerprint` that of a URL; `clock` gives monotonic seconds,
    `wall` Unix seconds; `listener` hears what happens by itself.
    """

    can: Final = Capability.ALL

    def __init__(
        self,
        database: Database,
        order: Order,
        *,
        seen: SeenKeeper,
        host_key: Callable[[str], bytes],
        fingerprint: Callable[[str], bytes],
        listener: Listener,
        clock: Callable[[], float],
        wall: Callable[[], float],
        politeness: PolitenessOptions,
        options: FrontierOptions,
    ) -> None:
        self._database = database
        self._order = order
        self._clock = clock
        self._politeness = politeness
        self._options = options
        self._keeps_levels = options.max_depth > 0 and order.by_level
        self._meta = Overlay(database, "meta")
        self.counts = Counts(self._meta)
        self.urls = UrlTable(database, self.counts.known)
        self._seen_keeper = seen
        self.seen = seen.open(database, self.urls, self.counts.serial)
        self.hosts = HostTable(database, host_key)
        self._content = ContentIndex(database)
        self.link_credit = LinkCredit(
            database,
            self.urls,
            self.hosts,
            lambda: Ledger(policy_named(options.lambda_policy)),
        )
        # A level is not over before all of it is done, so nothing of it can be held back; the limit ends traps.
        holds = order.by_credit and not self._keeps_levels
        traps = options.traps if holds else replace(options.traps, hold=False)
        # Which URLs are probed is no secret; a crawl that can be repeated is worth more.
        self.judge = TrapJudge(traps, self.link_credit.graph, Random(0))  # noqa: S311
        self.hosts.on_load = self._remember
        self.workbench = Workbench(politeness, self._preference)
        self.in_flight: dict[bytes, Visit] = {}
        self._listener = listener
        self.url_states = UrlStates(
            database, order, self.counts, self.link_credit, in_flight=self.in_flight, wall=wall
        )
        learns = holds and options.learn_rules
        self.judge.joins = learns
        self.forms = Forms(
            database,
            self.urls,
            self.hosts,
            self.url_states,
            self.judge,
            in_flight=self.in_flight,
            fingerprint=fingerprint,
            place=self._place,
            learns=learns,
        )
        self.url_states.rule_section = self.forms.section_for
        self._load()

    def _load(self) -> None:
        now = self._clock()
        self._silent = SilentHosts()
        self.judge.fetches, self.judge.known = self.counts.fetched + self.counts.failed, self.counts.known
        if (stored := self._meta.get(JUDGE)) is not None:
            self.judge.unpack(stored)
        hosts = list(self.hosts.load())
        self.link_credit.graph.recompute(self.judge.is_demoted)
        self._turns = HostTurns(self.link_credit.graph, hosts)
        for host in hosts:
            self.workbench.place(host, now)

    def _remember(self, host: Host) -> None:
        freed = self.judge.remember(host)
        self.forms.remember(host)
        if host.queued:  # of others nothing is held back, and they do not stay in memory
            for section in freed:
                self.hosts.changed(host, section)

    # Growth

    def add(self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER) -> int:
        if self._is_too_deep(depth):
            return 0
        new = self._unseen(found)
        credit = 0 if depth else self.link_credit.ledger.seed(len(new))
        flags = Flag.NONE if depth else Flag.SEED
        self._place(
            [self.url_states.insert(f, depth=depth, referrer=referrer, flags=flags, credit=credit) for f in new]
        )
        return len(new)

    def _is_too_deep(self, depth: int) -> bool:
        return 0 < self._options.max_depth < depth

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        depth = visit.depth + 1
        record = self.urls.get(visit.key)
        if record is None or self._is_too_deep(depth):
            return 0
        links = list({link.key: link for link in reversed(found) if link.key != visit.key}.values())[::-1]
        host = self.url_states.host_of(record)
        outlinks = self.link_credit.spend(record, host, links, rest=rest)
        self.urls.put(visit.key, record)
        self.hosts.changed(host)
        unseen = self._unseen(links)
        new = {link.key for link in unseen}
        known = [link for link in links if link.key not in new]
        self.link_credit.owe(known, outlinks.tenth)
        hosts = [self.url_states.insert(link, depth=depth, referrer=visit.key, outlinks=outlinks) for link in unseen]
        section = host.sections[record.section]
        for link, target in zip(unseen, hosts, strict=True):
            found_in = target.sections[self.urls.section_of(link.key)]
            if not found_in.trap.is_joined:  # it is no other form of a page there
                visit.news.add(host, section, target, found_in)
        hosts += filter(None, (self.url_states.prefer(link.key, link.priority) for link in known if link.priority))
        self._place(hosts)
        return len(new)

    def _unseen(self, found: Sequence[Link]) -> list[Link]:
        return [f for f, is_new in zip(found, self.seen.add_many([f.key for f in found]), strict=True) if is_new]

    def add_request(
        self,
        found: Link,
        *,
        depth: int,
        priority: int,
        flags: int,
        request: bytes | None,
        referrer: bytes = NO_REFERRER,
        brings_credit: bool = False,
    ) -> bool:
        if not flags & Flag.UNFILTERED and not self.seen.add_many([found.key])[0]:
            return False
        if request is not None:
            self.url_states.put_request(found.key, request)
            flags |= Flag.REQUEST
        brings_credit |= depth == 0 and referrer == NO_REFERRER
        credit = self.link_credit.ledger.seed(1) if brings_credit else 0
        host = self.url_states.insert(
            found, depth=depth, referrer=referrer, priority=priority, flags=flags, credit=credit
        )
        if (visit := self.in_flight.get(referrer)) is not None:
            page = self._standing(visit)
            linking = self.url_states.host_of(page)
            section = host.sections[self.urls.section_of(found.key)]
            visit.news.add(linking, linking.sections[page.section], host, section)
        self._place([host])
        return True

    def again(self, key: bytes, *, priority: int = 0, request: bytes | None = None) -> bool:
        """The lambda page gives it credit, for its new links."""
        record = self.urls.get(key)
        if record is None or record.state == UrlState.QUEUED:
            return False
        host = self.url_states.host_of(record)
        if host.is_dead(self._politeness):  # it has had its time to come back
            host.revive(self._politeness)
        self.forms.set_free(key, record)
        self.url_states.reopen(record, host)
        record.credit += self.link_credit.ledger.grant()
        if request is not None:
            record.flags |= Flag.REQUEST
            self.url_states.put_request(key, request)
        record.rank = self.url_states.rank(record, priority)
        self.url_states.enter(key, record, host)
        self._place([host])
        return True

    def _place(self, hosts: Iterable[Host]) -> None:
        now = self._clock()
        for host in dict.fromkeys(hosts):  # in this order, so that a crawl can be repeated
            self.workbench.place(host, now)

    # Work

    def _preference(self, host: Host) -> bytes | None:
        best = self._best(host)
        if best is None:
            return None
        return self._turns.preference(host, best[0]) if self._order.takes_turns else best[0]

    def _best(self, host: Host) -> tuple[bytes, Section] | None:
        """The entry of `host` that is to be taken next, and its section; None if nothing waits that may be taken."""
        waiting = host.waiting()
        if not waiting:
            return None
        return next_section(host, waiting) if self._order.takes_turns else min(waiting, key=itemgetter(0))

    def next(self) -> Visit | None:
        now = self._clock()
        if self._is_full():
            return None
        self._revive(now)
        self.forms.put_back()
        if (visit := self._trial(now)) is not None:
            return visit
        while (host := self.workbench.best(now)) is not None:
            if host.is_dead(self._politeness):
                if (visit := self._give_up(host, now)) is not None:
                    return visit
            elif (best := self._best(host)) is not None:
                entry, section = best
                if self._must_wait(entry):
                    return None
                self._pay(entry)
                section.queue.pop()
                if (visit := self._visit(host, entry, now, section)) is not None:
                    return visit
            self.workbench.place(host, now)
        return self._last(now) if self._is_held_back() else None

    def _trial(self, now: float) -> Visit | None:
        """A URL of what is held back, if it is time for one."""
        if self._order.by_credit and self.judge.probe_is_due() and (visit := self._probe(now, last=False)):
            return visit
        return self._test(now, last=False)

    def _last(self, now: float) -> Visit | None:
        """Nothing is left but what is held back."""
        visit = self._test(now, last=True) or self._probe(now, last=True)
        if visit is None and not self._is_held_back():  # a rule could not be tested, and what it held is free
            return self.next()
        return visit

    def _test(self, now: float, *, last: bool) -> Visit | None:
        """Another form of a page, to see whether it has the page's content."""
        for host, section in self.forms.tests(last=last, but=self._silent):
            if not self.workbench.is_free(host, now) or host.is_dead(self._politeness):
                continue
            if (entry := self.forms.test_of(host, section, last=last)) is not None:
                return self._hand_out(host, entry, now)
        return None

    def _pay(self, entry: bytes) -> None:
        """The lambda page is fetched when it holds more than the page that would be."""
        if self._order.by_credit and self.link_credit.ledger.reserve > class_credit(entry):
            self.link_credit.ledger.pay()

    def _probe(self, now: float, *, last: bool) -> Visit | None:
        """A URL of what is held back as a trap."""
        for host, unit in self.judge.candidates(last=last, but=self._silent):
            if not self.workbench.is_free(host, now):
                continue
            if host.is_dead(self._politeness):
                if (visit := self._give_up(host, now)) is not None:
                    return visit
                continue
            for section in self.judge.sections_to_probe(host, unit):
                if (visit := self._sample(host, section, now)) is not None:
                    return visit
        return None

    def _sample(self, host: Host, section: Section, now: float) -> Visit | None:
        """Some URL of `section`; the first one where samples stand for nothing any more, or all are wanted."""
        for _ in range(0 if self.judge.comes_last(host, section) else _SAMPLES):
            entry = section.queue.sample(self.judge.random)
            if entry is None or self._must_wait(entry):
                return None
            if (visit := self._visit(host, entry, now)) is not None:
                return visit
            section.queue.discard(entry)
        while (entry := section.queue.pop()) is not None:
            if (visit := self._visit(host, entry, now)) is not None:
                return visit
        return None

    def _is_held_back(self) -> bool:
        """Whether nothing is left but what is held back, or waits for hosts that do not answer."""
        return 0 < self.counts.queued <= self.silent + self.held + self.joined

    @property
    def is_full(self) -> bool:
        return 0 < self._options.max_pages <= self.counts.fetched

    @property
    def held(self) -> int:
        return self.judge.held(self._silent)

    @property
    def joined(self) -> int:
        return self.judge.joined(self._silent)

    @property
    def silent(self) -> int:
        return self._silent.queued

    def _is_full(self) -> bool:
        limit = self._options.max_pages
        return limit > 0 and self.counts.fetched + len(self.in_flight) >= limit

    def is_finished(self) -> bool:
        if self.waiting == 0 or self.is_full:
            return True
        return self._is_held_back() and not self._last_units()

    def _last_units(self) -> list[Host]:
        """The hosts of what is still to be tried when nothing is left but what is held back."""
        probes = self.judge.candidates(last=True, but=self._silent)
        tests = self.forms.tests(last=True, but=self._silent)
        return [host for host, _ in (*probes, *tests)]

    @property
    def waiting(self) -> int:
        return self.counts.queued - len(self.in_flight)

    def next_time(self) -> float | None:
        if self._is_full():
            return None
        at = self.workbench.next_time()
        if at is None and self._is_held_back():
            at = min((host.free_at for host in self._last_units()), default=None)
        return None if at is None else max(0.0, at - self._clock())

    def _must_wait(self, entry: bytes) -> bool:
        """A depth limit is exact only level by level: no URL before the last of the level above is done."""
        return self._keeps_levels and not goes_first(entry) and self.counts.has_above(level_of(entry))

    def _visit(self, host: Host, entry: bytes, now: float, turn: Section | None = None) -> Visit | None:
        """Hand the URL of `entry` out, if it still waits, and is no other form of a page.

        In its `turn`, unless it goes out of turn.
        """
        record = self.url_states.waiting(entry)
        if record is None or self.forms.joins(host, entry[RANK_BYTES:], record):
            return None
        self.forms.visited()
        return self._hand_out(host, entry, now, turn)

    def _hand_out(self, host: Host, entry: bytes, now: float, turn: Section | None = None) -> Visit:
        key = entry[RANK_BYTES:]
        record = self._known(key)
        request = self.url_states.request(key) if record.flags & Flag.REQUEST else None
        visit = self.in_flight[key] = Visit(key, record, host, request)
        if turn is not None and self._order.takes_turns:
            self._turns.take(host, turn, entry, hosts=len(self.hosts))
        self.workbench.start(host, now)
        return visit

    def _give_up(self, host: Host, now: float) -> Visit | None:
        """What waits for a dead host stays for later if the host has answered before, and fails if it never has.

        What someone wants to be told of is handed out, to fail at once.
        """
        given_up: list[bytes] = []
        visit = self._give_up_some(host, now, given_up)
        for key in given_up:
            self._listener.given_up(key)
        return visit

    def _give_up_some(self, host: Host, now: float, given_up: list[bytes]) -> Visit | None:
        left = _GIVEN_UP_AT_ONCE
        for section in host.sections.values():
            while (entry := section.queue.pop()) is not None:
                if (record := self.url_states.waiting(entry)) is not None:
                    if record.flags & (Flag.AWAITED | Flag.VOLATILE):
                        return self._dead_visit(host, entry, now)
                    if not host.fetched:
                        self.url_states.end(entry[RANK_BYTES:], record, host, UrlState.FAILED)
                        given_up.append(entry[RANK_BYTES:])
                left -= 1
                if left == 0:
                    host.free_at = now + _GIVE_UP_PAUSE
                    return None
        if host.queued:
            host.free_at = now + self._politeness.revival
            self._silent.add(host)
        return None

    def _revive(self, now: float) -> None:
        """Ask hosts again that ceased to answer some time ago."""
        for host in self._silent.due(now):
            host.revive(self._politeness)
            self.url_states.rewind(host)
            self.workbench.place(host, now)

    def is_out(self, visit: Visit) -> bool:
        return self.url_states.host_of(self._standing(visit)).is_out

    def _dead_visit(self, host: Host, entry: bytes, now: float) -> Visit | None:
        visit = self._visit(host, entry, now)
        if visit is not None:
            visit.dead = True
            self._free(visit)
        return visit

    # Completion

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None = None, failed: bool = False, retry_after: float = 0.0
    ) -> None:
        host = visit.host
        if host is None:
            return
        now = self._clock()
        if failed:
            host.fail(visit.key, now, self._politeness)
        else:
            host.failures = 0
            self._silent.heard(host, now)
        host.free_at = max(host.free_at, now + retry_after)
        host.ip = ip or host.ip
        self._free(visit, seconds)

    def judge_content(self, visit: Visit, sha1: bytes, *, title: str, text_hash: int | None) -> Verdict:
        """Asked before the page is done: content of a page that is not would meet itself after a crash."""
        record = self._standing(visit)
        found = self._content.add(record.host, sha1, visit.key, title=title, text_hash=text_hash)
        self.forms.compared(visit, record, found.original)
        return found.verdict

    def _free(self, visit: Visit, seconds: float = 0.0) -> None:
        """Give back the host's seat, once."""
        host, visit.host = visit.host, None
        if host is not None:
            self.workbench.finish(host, self._clock(), seconds, ip=visit.ip)

    def slow_down(self, host_name: str, crawl_delay: float) -> None:
        host = self.hosts.named(host_name)
        host.crawl_delay = crawl_delay
        self.hosts.changed(host)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self._free(visit)
        if self.in_flight.pop(visit.key, None) is None:
            return
        record = self._standing(visit)
        record.status = min(max(status, 0), MAX_STATUS)
        record.flags |= Flag.STORED * (row > 0)
        host = self.url_states.host_of(record)
        self.url_states.end(visit.key, record, host, state)
        self.forms.ended(visit.key, record, host)
        if state != UrlState.EXCLUDED:
            good = good and state == UrlState.FETCHED
            self._learn(host, host.sections[record.section], good=good, missing=status in GONE, news=visit.news)

    def _learn(self, host: Host, section: Section, *, good: bool, missing: bool, news: News) -> None:
        self.judge.known = self.counts.known
        if section.trap.is_joined:
            self.judge.learn_test(host, section, good=good)
            self.hosts.changed(host, section)
            return
        changed = self.judge.learn(host, section, good=good, missing=missing, news=news)
        self.hosts.changed(host, section)
        for judged in changed:
            self.hosts.changed(judged)
        if self._order.by_credit:
            self._place(changed)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        self._free(visit)
        del self.in_flight[visit.key]
        record = self._standing(visit)
        host = self.url_states.host_of(record)
        self.url_states.leave(visit.key, record, host)
        record.try_again()
        if self._keeps_levels and not goes_last(record.rank):
            priority = max(priority, 0)  # a level is not over before what was put back is done
        record.flags &= ~(Flag.REQUEST | Flag.VOLATILE)
        if volatile:
            record.flags |= Flag.VOLATILE
        if request is not None:
            record.flags |= Flag.REQUEST
            self.url_states.put_request(visit.key, request)
        record.rank = self.url_states.rank(record, priority)
        self.url_states.enter(visit.key, record, host)
        self._place([host])

    def _standing(self, visit: Visit) -> UrlRecord:
        return self._known(visit.key)

    def _known(self, key: bytes) -> UrlRecord:
        record = self.urls.get(key)
        if record is None:
            raise CorruptFile(
                f"The record of URL {key.hex()} has gone from {self._database.path} while it was queued"
            )
        return record

    # By hand

    def block(self, host: Host, section: Section | None = None) -> None:
        """Fetch nothing more of `host`, or of one of its sections. Raises `OptionError` where all must be fetched."""
        if self._keeps_levels:
            raise OptionError(
                "With a depth limit no level may be left before all of it is done, so nothing of it can be blocked"
            )
        self.judge.block(host, section)
        self._changed(host, section)

    def vouch(self, host: Host, section: Section | None = None) -> None:
        """Hold `host`, or one of its sections, back no more: whatever was its reason, a person knows better."""
        if section is not None and (learnt := self.forms.learners.rule_of(host, section)) is not None:
            self.forms.order(host, learnt, State.REFUSED)
        else:
            self.judge.vouch(host, section)
        self._changed(host, section)

    def _changed(self, host: Host, section: Section | None) -> None:
        self.hosts.changed(host, section)
        self._place([host])

    # Durability

    wants_checkpoint: Final = False

    def flush(self, batch: Batch) -> None:
        self.link_credit.settle(self.url_states.credited)
        self.counts.store(self._meta)
        self._meta.put(JUDGE, self.judge.pack())
        for part in (
            self.url_states, self._meta, self.urls, self.hosts, self.link_credit, self._content, self.forms
        ):  # fmt: skip
            part.flush(batch)

    def flushed(self) -> None:
        for part in (self.url_states, self._meta, self.urls, self.link_credit, self._content, self.forms):
            part.flushed()
        self.hosts.flushed(self._clock())

    def save(self) -> None:
        """Keep the seen set's filter beside the database. Raises `StorageError`."""
        self._seen_keeper.save(self._database, self.seen, self.counts.serial)

    # Life: it works when it is asked, and not otherwise

    def start(self) -> None:
        """Nothing is to be begun."""

    async def close(self) -> None:
        """The database is the caller's to close."""

    def stats(self) -> dict[str, int | float]:
        return {}
