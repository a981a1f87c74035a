"""The frontier of one process: on disk, in the crawl's order, polite. Keeps the contract of `frontier.contract`.

One URL's way: `add` or `expand` → queued → `next` hands it out as a `Visit` → `downloaded` frees its host → `done`,
or `retry` puts it back.

What happens between two checkpoints lives in memory, as changes over what the database holds, and goes down in one
atomic batch: `prepare` hands all of it over, `committed` says that it is on disk. A crash in between leaves the
database as the last batch made it; a URL that is not done there is queued there.

Layout on disk: docs/formats/database.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import JUDGE
from sitecrawl.crawldir.overlay import Overlay
from sitecrawl.frontier.by_hand import ByHand
from sitecrawl.frontier.contract import Asked, Capability, Figures, Listener
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.disk_parts import DiskContents, DiskManners, figures_of
from sitecrawl.frontier.dispatcher import Dispatcher
from sitecrawl.frontier.forms.duplicates import ContentIndex
from sitecrawl.frontier.forms.forms import Forms
from sitecrawl.frontier.intake import Intake
from sitecrawl.frontier.judge.host_limits import HostLimits
from sitecrawl.frontier.judge.trap_judge import TrapJudge
from sitecrawl.frontier.portfolio import Portfolio
from sitecrawl.frontier.urls.breadth import Breadth
from sitecrawl.frontier.urls.causes import Cause
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.crawl_seen import SeenKeeper
from sitecrawl.frontier.urls.host import Host, PolitenessOptions
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.link_credit import LinkCredit
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import Order, goes_last
from sitecrawl.frontier.urls.record import MAX_STATUS, NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.tables import HostTable, UrlTable
from sitecrawl.frontier.urls.territory import Message, Outbox, Territory
from sitecrawl.frontier.urls.url_states import UrlStates
from sitecrawl.frontier.urls.visit import News, Visit
from sitecrawl.page.items import Link

SETTLED: Final = 50
"""After so many fetches links to known URLs are counted, not at checkpoints alone: what is judged hangs on them."""


class DiskFrontier:
    """See the module; what its calls mean is said in `contract.Frontier`.

    `host_key` gives the key of a host by its name, `fingerprint` that of a URL; `clock` gives monotonic seconds,
    `wall` Unix seconds; `listener` hears what happens by itself. With a `territory` it has the sites of that alone:
    what leads elsewhere goes to the `outbox`, for the caller to carry, and what others have sent comes by `receive`.
    Without `terms`, `politeness` and the limits of `options` hold for all hosts.
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
        terms: TermsByHost | None = None,
        territory: Territory | None = None,
    ) -> None:
        self._database = database
        self._order = order
        self._clock = clock
        self._wall = wall
        self._politeness = politeness
        self._listener = listener
        self.terms = terms = terms or TermsByHost(
            politeness, max_pages=options.max_pages, max_depth=options.max_depth
        )
        self._repeats = options.repeats
        self.has_requisites = options.requisites
        """Whether what pages are made of comes in, too."""
        self.fingerprint = fingerprint
        """Gives the key of a URL that is fetched by GET."""
        self.keeps_levels = options.max_depth > 0 and order.by_level
        self._meta = Overlay(database, "meta")
        self.counts = Counts(self._meta, territory.counts if territory is not None else None)
        self.urls = UrlTable(database, self.counts.known)
        self._seen_keeper = seen
        self.seen = seen.open(database, self.urls, self.counts.serial)
        self.hosts = HostTable(database, host_key, is_named=terms.sheets.names)
        self._breadth = Breadth(database)
        self.outbox = Outbox(territory) if territory is not None else None
        self.link_credit = LinkCredit(
            database,
            self.urls,
            self.hosts,
            lambda: Ledger(policy_named("pages" if order.is_exact else options.lambda_policy)),
            territory.has if territory is not None else None,
        )
        # A level is not over before all of it is done, so nothing of it can be held back; the limit ends traps.
        holds = order.takes_turns and not self.keeps_levels
        traps = options.traps if holds else replace(options.traps, hold=False)
        learns = holds and options.learn_rules
        # Which URLs are probed is no secret; a crawl that can be repeated is worth more.
        self.judge = TrapJudge(traps, self.link_credit.graph, Random(0), joins=learns)  # noqa: S311
        self.hosts.on_load = self._remember
        self.in_flight: dict[bytes, Visit] = {}
        self._limits = HostLimits(terms, self.judge, self.in_flight, lambda key: self.url_states.known(key).host)
        self.url_states = UrlStates(
            database,
            order,
            self.counts,
            self.link_credit,
            in_flight=self.in_flight,
            wall=wall,
            breadth=self._breadth if order.takes_turns else None,
        )
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
        content = ContentIndex(database)
        self.contents = DiskContents(content, self.url_states, self.forms, self.in_flight)
        self._parts = self.url_states, self._breadth, self._meta, self.urls, self.link_credit, content, self.forms
        self.url_states.joined = self.forms.joined
        self._intake = Intake(
            self.seen,
            self.url_states,
            self.link_credit,
            in_flight=self.in_flight,
            grown=self._grown,
            outbox=self.outbox,
            linked_to=listener.linked_to,
            terms=terms,
            has_requisites=options.requisites,
            viewed=self.forms.viewed,
        )
        self._load()
        self.dispatcher = Dispatcher(
            order,
            portfolio=Portfolio(order, self._breadth, self.urls, self.in_flight),
            counts=self.counts,
            hosts=self.hosts,
            link_credit=self.link_credit,
            states=self.url_states,
            judge=self.judge,
            forms=self.forms,
            in_flight=self.in_flight,
            listener=listener,
            clock=clock,
            politeness=politeness,
            terms=terms,
            limits=self._limits,
            keeps_levels=self.keeps_levels,
            one_by_one=options.one_by_one and not order.takes_turns,
        )
        self.manners = DiskManners(self.dispatcher, self.hosts, self.url_states, self.in_flight, territory)
        self.by_hand = ByHand(
            dispatcher=self.dispatcher,
            hosts=self.hosts,
            states=self.url_states,
            judge=self.judge,
            forms=self.forms,
            clock=clock,
            keeps_levels=self.keeps_levels,
        )

    def _load(self) -> None:
        self.judge.fetches = self.counts.fetched + self.counts.failed
        if (stored := self._meta.get(JUDGE)) is not None:
            self.judge.unpack(stored)
        self.hosts.load()
        self.link_credit.graph.recompute(self.judge.is_demoted)

    def _remember(self, host: Host) -> None:
        host.resume(self._clock(), self._wall(), self._politeness)
        freed = self.judge.remember(host)
        if self._limits.look(host):
            freed.append(None)
        self.forms.remember(host)
        if host.queued:  # of others nothing is held back, and they do not stay in memory
            for section in freed:
                self.hosts.changed(host, section)

    # Growth

    def add(
        self, found: Sequence[Link], *, depth: int, referrer: bytes = NO_REFERRER, asked: Asked | None = None
    ) -> int:
        return self._intake.add(found, depth=depth, referrer=referrer, asked=asked)

    def expand(self, visit: Visit, found: Sequence[Link], *, rest: int = 0) -> int:
        if self.forms.compare_views(visit, found):
            return 0
        new = self._intake.expand(visit, found, rest=rest)
        if self._order.is_exact:  # not at the next checkpoint
            self.link_credit.settle(self._arrived)
        return new

    def _arrived(self, records: Mapping[bytes, UrlRecord], waiting: Mapping[bytes, UrlRecord]) -> None:
        """Credit has reached known URLs, and what is next of their hosts may be another."""
        self.url_states.credited(records, waiting)
        hosts = (self.hosts.get(key) for key in dict.fromkeys([record.host for record in records.values()]))
        self._grown(host for host in hosts if host is not None)

    def receive(self, messages: Sequence[Message]) -> None:
        """Let in what other frontiers have sent, as if it had been found here."""
        self._intake.receive(messages)

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
        if record.flags & Flag.REQUISITE:
            self.url_states.become_page(key, record)
        record.credit += self.link_credit.ledger.grant(self.counts.known)
        self.url_states.enter_again(key, record, host, priority=priority, request=request)
        self.dispatcher.ended(host)
        return True

    def _place(self, hosts: Iterable[Host]) -> None:
        self.dispatcher.place(hosts)  # which comes into being last of all

    def _grown(self, hosts: Iterable[Host]) -> None:
        self.dispatcher.grown(hosts)

    # Work

    def next(self, now: float | None = None) -> Visit | None:
        """`now` is that of the frontier's clock at which hosts must have rested, by default the time of the call."""
        visit = self.dispatcher.next(now)
        if visit is None and self.judge.demoted and self.link_credit.is_owing:
            self._settle()  # an end may have come into sight of what is held back, and nothing else is left
            visit = self.dispatcher.next(now)
        return visit

    def next_time(self) -> float | None:
        return self.dispatcher.next_time()

    def is_finished(self) -> bool:
        return self.dispatcher.is_finished()

    @property
    def figures(self) -> Figures:
        return figures_of(self.counts, self.dispatcher, self.judge, in_flight=len(self.in_flight))

    # Completion

    def downloaded(
        self,
        visit: Visit,
        seconds: float,
        *,
        ip: str | None = None,
        failed: bool | None = False,
        retry_after: float = 0.0,
    ) -> None:
        self.dispatcher.downloaded(visit, seconds, ip=ip, failed=failed, retry_after=retry_after)

    def done(self, visit: Visit, state: UrlState, *, status: int = 0, good: bool = True, row: int = 0) -> None:
        self.dispatcher.free(visit)
        if self.in_flight.pop(visit.key, None) is None:
            return
        record = self.url_states.known(visit.key)
        record.status, record.cause = min(max(status, 0), MAX_STATUS), visit.cause
        record.flags |= Flag.STORED * (row > 0)
        host = self.url_states.host_of(record)
        if visit.is_requisite:
            self._requisite_done(visit, record, host, state)
            return
        self.url_states.end(visit.key, record, host, state)
        self.forms.ended(visit.key, record, host)
        if state != UrlState.EXCLUDED and not self.forms.views.first(visit):
            good = good and state == UrlState.FETCHED
            section = host.sections[record.section]
            section.remember(visit.key, good=good)
            visit.news.is_redirect = 300 <= status < 400
            self._learn(host, section, good=good, news=visit.news)
        if self._repeats and state == UrlState.FETCHED and visit.request is None:
            self._once_more(visit.key, record, host, priority=0)
            self.dispatcher.page_limit.repeats += 1
        if self.forms.views.wants(visit, state):
            self._once_more(visit.key, record, host, priority=max(visit.priority, 1))
        if self.terms.sheets:
            self.dispatcher.ended(host)

    def _once_more(self, key: bytes, record: UrlRecord, host: Host, *, priority: int) -> None:
        """Queue a URL that is done."""
        self.url_states.reopen(record, host)
        self.url_states.enter_again(key, record, host, priority=priority, request=None)
        self._place([host])

    def _requisite_done(self, visit: Visit, record: UrlRecord, host: Host, state: UrlState) -> None:
        ended = UrlState.REQUISITE if state == UrlState.FETCHED else state
        self.url_states.end(visit.key, record, host, ended)
        self.hosts.changed(host, host.sections[record.section])
        if visit.is_linked_to and ended == UrlState.REQUISITE:
            self._listener.linked_to(visit.key)

    def _learn(self, host: Host, section: Section, *, good: bool, news: News) -> None:
        changed: list[Host] = []
        if section.trap.is_joined:
            self.judge.learn_test(host, section, good=good)
        else:
            changed = self.judge.learn(host, section, good=good, news=news)
        if self.judge.fetches % SETTLED == 0:
            self._settle()
        self.hosts.learnt(host)
        self.hosts.changed(host, section)
        self._judged(changed)

    def _settle(self) -> None:
        self._count_links()
        self._judged(self.judge.look_at_ends())

    def _count_links(self) -> None:
        """Let all credit arrive, with which links to known URLs are counted, and count growth by new ones alone."""
        self.link_credit.settle(self.url_states.credited)
        for section in self.hosts.changed_sections():
            if section.trap.counted != section.known:  # a crawl of many hosts has thousands, of which few have
                section.trap.count(0, section.known)

    def _judged(self, hosts: Iterable[Host]) -> None:
        """Something of these was held back, or set free."""
        for host in hosts:
            self.hosts.changed(host)
        if self._order.by_credit:
            self._place(hosts)

    def _taken_back(self, visit: Visit) -> tuple[UrlRecord, Host]:
        """Take `visit` out of flight; its URL and host."""
        self.dispatcher.free(visit)
        del self.in_flight[visit.key]
        record = self.url_states.known(visit.key)
        return record, self.url_states.host_of(record)

    def retry(self, visit: Visit, *, priority: int, request: bytes | None, volatile: bool = False) -> None:
        record, host = self._taken_back(visit)
        self.url_states.leave(visit.key, record, host)
        record.try_again()
        record.status, record.cause = min(max(visit.status, 0), MAX_STATUS), visit.cause
        if visit.cause == Cause.SLOW:
            host.waste(host.sections[record.section])
        record.fetched = float(int(self._wall()))
        if self.keeps_levels and not goes_last(record.rank):
            priority = max(priority, 0)  # a level is not over before what was put back is done
        record.flags = record.flags & ~(Flag.REQUEST | Flag.VOLATILE) | Flag.VOLATILE * volatile
        self.url_states.enter_again(visit.key, record, host, priority=priority, request=request)
        self._place([host])

    def put_back(self, visit: Visit, *, rest: float = 0.0) -> None:
        record, host = self._taken_back(visit)
        host.free_at = max(host.free_at, self._clock() + rest)
        volatile = bool(record.flags & Flag.VOLATILE)
        host.sections[record.section].queue.push(record.rank + visit.key, volatile=volatile)
        self._place([host])

    # Durability

    def prepare(self, batch: Batch) -> None:
        self._count_links()
        self.counts.store(self._meta)
        self._meta.put(JUDGE, self.judge.pack())
        for part in self._parts:
            part.flush(batch)
        self.hosts.flush(batch, ahead=self._wall() - self._clock())

    def committed(self) -> None:
        for part in self._parts:
            part.flushed()
        self.hosts.flushed(self._clock())

    def save(self) -> None:
        """Keep the seen set's filter beside the database. Raises `StorageError`."""
        self._seen_keeper.save(self._database, self.seen, self.counts.serial)
