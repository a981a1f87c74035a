"""Which URL is handed out next, and when there will be one.

While something waits that is not held back, the workbench says which host may be asked, and turns or ranks which of
its URLs; between these come tests of rules about URLs. When nothing else is left, what is held back as a trap goes
on, as far as it may (`last_stage`).

A host that is dead is asked for nothing: what waits for it fails, or waits for the host to come back (`SilentHosts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sitecrawl.frontier.contract import Listener
from sitecrawl.frontier.forms.forms import Forms
from sitecrawl.frontier.judge.host_limits import HostLimits
from sitecrawl.frontier.judge.last_stage import LastStage
from sitecrawl.frontier.judge.trap_judge import TrapJudge
from sitecrawl.frontier.portfolio import Pick, Portfolio
from sitecrawl.frontier.turns import HostTurns
from sitecrawl.frontier.urls.counts import Counts, PageLimit
from sitecrawl.frontier.urls.host import Host, PolitenessOptions
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.link_credit import LinkCredit
from sitecrawl.frontier.urls.order import Order, class_credit, exact_credit, goes_first, level_of
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag, UrlRecord
from sitecrawl.frontier.urls.silent_hosts import TOLD, SilentHosts
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.frontier.urls.url_states import UrlStates, name_of
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.frontier.workbench import Workbench

_PASSED_AT_ONCE = 500
"""URLs of pools that are moved or given up in one go; then one is fetched. 50 us each."""
_READ_AT_ONCE = 32
"""Records of URLs that are read before their turn, one of each host. In a crawl of many hosts, and queues from long
ago, every record must be read: one alone takes 38 us, of 16 each 11."""


class Dispatcher:
    """See the module. `in_flight` are the visits under way, by key; `clock` gives monotonic seconds.

    `terms` say how polite to be to which host, and how many URLs are wanted. `keeps_levels`: no URL before all of the
    levels above are done. `one_by_one`: no URL while another is in flight, and none before the first of
    all.
    """

    def __init__(
        self,
        order: Order,
        *,
        portfolio: Portfolio,
        counts: Counts,
        hosts: HostTable,
        link_credit: LinkCredit,
        states: UrlStates,
        judge: TrapJudge,
        forms: Forms,
        in_flight: dict[bytes, Visit],
        listener: Listener,
        clock: Callable[[], float],
        politeness: PolitenessOptions,
        terms: TermsByHost,
        limits: HostLimits,
        keeps_levels: bool,
        one_by_one: bool,
    ) -> None:
        self._order = order
        self._portfolio = portfolio
        self._counts = counts
        self._hosts = hosts
        self._ledger = link_credit.ledger
        self._states = states
        self._judge = judge
        self.last_stage = LastStage(judge, hosts.sites_of)
        self._forms = forms
        self._in_flight = in_flight
        self._listener = listener
        self._clock = clock
        self._politeness = politeness
        self.page_limit = PageLimit(terms, counts, in_flight)
        self._limits = limits
        self._keeps_levels = keeps_levels
        self._one_by_one = one_by_one
        self._shelf: dict[Host, None] = {}
        """Hosts that are off the workbench: what they have waits for a level."""
        self._level = -1.0
        """At which level they were put there."""
        self._left = _PASSED_AT_ONCE
        """How many more URLs of pools may be passed over before something is fetched."""
        self.silent_hosts = SilentHosts(states, counts, politeness)
        self._turns = HostTurns(link_credit.graph, hosts.live(), lambda host: terms.of(host.name).priority)
        self.workbench = Workbench(terms, self._preference, waits=one_by_one)
        self.place(hosts.live())

    def place(self, hosts: Iterable[Host]) -> None:
        """What waits for `hosts`, or their politeness, has changed."""
        now = self._clock()
        for host in dict.fromkeys(hosts):  # in this order, so that a crawl can be repeated
            self.workbench.place(host, now)

    def grown(self, hosts: Iterable[Host]) -> None:
        """More waits for `hosts` than before."""
        now = self._clock()
        self.place(host for host in hosts if not self.workbench.rests(host, now))

    def ended(self, host: Host) -> None:
        """A visit of `host` is over, or its limit is another: more may be wanted of it, or less."""
        if self._limits.look(host):
            self._hosts.changed(host)
        self.place([host])

    def _next_of(self, host: Host) -> Pick | None:
        """What `Portfolio.next_of` gives, if it is wanted."""
        best = self._portfolio.next_of(host)
        is_wanted = best is None or best.section.is_requisites or not self._limits.is_filling(host)
        return best if is_wanted else None

    def _preference(self, host: Host) -> bytes | None:
        if (best := self._next_of(host)) is None:
            return None
        host.upcoming = best.entry[RANK_BYTES:]
        return self._turns.preference(host, best.entry) if self._order.takes_turns else best.entry

    # What is left

    def _awaits_one(self) -> bool:
        """Whether one URL goes out after the other, and one is on its way."""
        return self._one_by_one and bool(self._in_flight)

    def _waiting_requisites(self) -> Iterator[Host]:
        """The hosts that answer of which requisites wait. To be asked when no more pages are wanted."""
        return (one for one in self._hosts.live() if one.needs_requisites and one.key not in self.silent_hosts)

    @property
    def waiting(self) -> int:
        """URLs that are queued and not in flight. The next two are parts of them, with those in flight."""
        return self._counts.queued - len(self._in_flight)

    @property
    def joined(self) -> int:
        return self._judge.joined(self.silent_hosts)

    @property
    def silent(self) -> int:
        return self.silent_hosts.queued

    def is_finished(self) -> bool:
        """Whether nothing is left to hand out, now or later, but for what comes of the URLs in flight."""
        if self.waiting == 0:
            return True
        if not self.page_limit.wants_more:
            return not any(self._waiting_requisites())
        return self.is_held_back() and not self._last_hosts()

    def is_held_back(self) -> bool:
        """Whether nothing is left but what is held back, or waits for hosts that do not answer."""
        if not self._judge.demoted and not self.silent_hosts:
            return False
        return 0 < self._counts.queued <= self.silent + self._judge.held_back(self.silent_hosts)

    def _last_hosts(self) -> list[Host]:
        """The hosts of what is still to be tried when nothing is left but what is held back."""
        tests = self._forms.tests(last=True, but=self.silent_hosts)
        return [*self.last_stage.sections(self.silent_hosts), *(host for host, _ in tests)]

    def next_time(self) -> float | None:
        """Seconds until there may be something to fetch; None if only what is in flight can tell."""
        if self._awaits_one():
            return None
        if self.page_limit.is_filling():
            times = [host.free_at for host in self._waiting_requisites() if not host.active]
            return max(0.0, min(times) - self._clock()) if times else None
        at = self.workbench.next_time(self._is_of_use) if self._keeps_levels else self.workbench.next_time()
        if at is None and self.is_held_back():
            at = min((host.free_at for host in self._last_hosts() if self.workbench.has_seat(host)), default=None)
        return None if at is None else max(0.0, at - self._clock())

    def _is_of_use(self, host: Host) -> bool:
        """Whether something of `host` need not wait for a level; otherwise it goes to the shelf until one is over."""
        best = self._next_of(host)
        if best is None or not self._must_wait(best.entry):
            return True
        self._shelf[host] = None
        return False

    def _clear_shelf(self) -> None:
        """What waited there is put back where it belongs, once another level has begun."""
        if self._keeps_levels and self._level != (level := self._counts.open_level):
            shelf, self._shelf, self._level = self._shelf, {}, level
            self.place(shelf)

    # What is next

    def next(self, now: float | None = None) -> Visit | None:
        """The next URL to fetch, or None if nothing may be fetched at `now`, by default the time of the call."""
        if now is None:
            now = self._clock()
        if self._awaits_one():
            return None
        is_filling = self.page_limit.is_filling()
        self._revive(now)
        self._clear_shelf()
        self._forms.put_back()
        if not is_filling and (visit := self._test(now, last=False)) is not None:
            return visit
        while (host := self.workbench.best(now)) is not None:
            if host.is_dead(self._politeness):
                if (visit := self._give_up(host, now)) is not None:
                    return visit
            elif (best := self._next_of(host)) is not None:
                # Requisites go before all others.
                if self._must_wait(best.entry) or (is_filling and not best.section.is_requisites):
                    self.workbench.place(host, now)
                    if self.workbench.best(now) is host:
                        break
                    continue  # it had its place for a URL that has gone
                best.section.queue.take(best.entry)
                self._states.read_ahead(best.entry, self._coming)
                if (visit := self._take(host, best, now)) is not None:
                    return visit
            self.workbench.place(host, now)
        if self._keeps_levels and self._level != self._counts.open_level:  # a host that fell silent opened a level
            return self.next(now)
        return self._last(now) if not is_filling and self.is_held_back() else None

    def _coming(self) -> list[Host]:
        return self.workbench.coming(_READ_AT_ONCE)

    def _take(self, host: Host, pick: Pick, now: float) -> Visit | None:
        """The URL of `pick`, in its turn. Requisites have none: they come with their page."""
        if pick.section.is_requisites:
            return self._visit(host, pick.entry, now)
        self._pay(pick.entry)
        return self._visit(host, pick.entry, now, pick)

    def _last(self, now: float) -> Visit | None:
        """Nothing is left but what is held back."""
        visit = self._test(now, last=True) or self._go_on(now)
        if visit is None and not self.is_held_back():  # a rule could not be tested, and what it held is free
            return self.next(now)
        return visit

    def _go_on(self, now: float) -> Visit | None:
        """A URL of what is held back."""
        for host, sections in self.last_stage.sections(self.silent_hosts).items():
            if host.is_dead(self._politeness):
                if (visit := self._give_up(host, now)) is not None:
                    return visit
                continue
            while self._is_free(host, now) and (pick := self._portfolio.last_of(host, sections)) is not None:
                if self._must_wait(pick.entry):
                    break
                pick.section.queue.take(pick.entry)
                if (visit := self._take(host, pick, now)) is not None:
                    return visit
        return None

    def _must_wait(self, entry: bytes) -> bool:
        """A depth limit is exact only level by level: no URL before the last of the level above is done."""
        return self._keeps_levels and not goes_first(entry) and self._counts.has_above(level_of(entry))

    def _pay(self, entry: bytes) -> None:
        """The lambda page is fetched when it holds more than what would be. What comes back has had its grant."""
        ledger = self._ledger
        if not self._order.by_credit:
            return
        holds = exact_credit(entry, ledger.policy.dividend) if self._order.is_exact else class_credit(entry)
        if ledger.reserve > holds:
            record = self._states.waiting(entry) if ledger.comes_back else None
            if record is None or not record.flags & Flag.AGAIN:
                ledger.pay(self._counts.queued, self._counts.known)

    def _is_free(self, host: Host, now: float) -> bool:
        """Whether a page of `host` may be asked for now."""
        return self.workbench.is_free(host, now) and not self._limits.is_filling(host)

    def _test(self, now: float, *, last: bool) -> Visit | None:
        """Another form of a page, to see whether it has the page's content."""
        for host, section in self._forms.tests(last=last, but=self.silent_hosts):
            if not self._is_free(host, now) or host.is_dead(self._politeness):
                continue
            if (entry := self._forms.test_of(host, section, last=last)) is not None:
                return self._hand_out(host, entry, now)
        return None

    def _visit(self, host: Host, entry: bytes, now: float, turn: Pick | None = None) -> Visit | None:
        """Hand the URL of `entry` out, if it still waits, and is no other form of a page.

        In its `turn`, unless it goes out of turn.
        """
        record = self._states.waiting(entry)
        if record is None or self._forms.joins(host, entry[RANK_BYTES:], record):
            return None
        if host.is_pool and self._left > 0 and self._passes(host, entry[RANK_BYTES:], record):
            self._left -= 1
            return None
        self._forms.visited()
        visit = self._hand_out(host, entry, now, turn)
        if host.silent and host.is_silent(_heard_of(host, visit.url), self._politeness):
            self._let_fail(visit)
        return visit

    def _passes(self, pool: Host, key: bytes, record: UrlRecord) -> bool:
        """Whether a URL in a pool is passed over: its name has a record by now, or does not answer."""
        if (host := self._states.leave_pool(key, record, pool)) is not None:
            self.place([host])
            return True
        if not pool.is_silent(name_of(record.url), self._politeness) or record.flags & TOLD:
            return False
        self._states.give_up(key, record, pool)
        self._listener.given_up(key)
        return True

    def _hand_out(self, host: Host, entry: bytes, now: float, turn: Pick | None = None) -> Visit:
        key = entry[RANK_BYTES:]
        record = self._states.known(key)
        request = self._states.request(key) if record.flags & Flag.REQUEST else None
        visit = self._in_flight[key] = Visit(key, record, host, request)
        self._left = _PASSED_AT_ONCE
        if turn is not None and self._order.takes_turns:
            self._turns.take(host, entry, hosts=len(self._hosts))
            self._portfolio.taken(host, turn)
        self.workbench.start(host, now, visit)
        return visit

    # Hosts come back, or do not

    def free(self, visit: Visit, seconds: float = 0.0) -> None:
        """Give back the host's seat, once, after a download that took `seconds`."""
        host, visit.host = visit.host, None
        if host is not None:
            self.workbench.finish(host, self._clock(), seconds, visit)

    def downloaded(
        self, visit: Visit, seconds: float, *, ip: str | None, failed: bool | None, retry_after: float
    ) -> None:
        """See `contract.Frontier`."""
        host = visit.host
        if host is None:
            return
        if failed is not None:
            self._heard(host, visit, failed=failed, retry_after=retry_after)
        host.ip = ip or host.ip
        if seconds > 0:
            host.took(seconds, self._states.known(visit.key).section, failed=bool(failed))
        self.free(visit, seconds)

    def answered(self, visit: Visit, *, failed: bool, retry_after: float) -> None:
        """See `contract.Frontier`."""
        host = self._states.host_of(self._states.known(visit.key))
        before = host.free_at
        self._heard(host, visit, failed=failed, retry_after=retry_after)
        if host.free_at != before or host.is_dead(self._politeness):
            self.place([host])

    def _heard(self, host: Host, visit: Visit, *, failed: bool, retry_after: float) -> None:
        now = self._clock()
        name = _heard_of(host, visit.url)
        if failed:
            host.fail(visit.key, now, self._politeness, name, beside=host.active - (visit.host is not None))
        else:
            host.answer(name)
            self.silent_hosts.heard(host, now)
        if retry_after:
            host.leave_alone(now, retry_after)

    def _give_up(self, host: Host, now: float) -> Visit | None:
        """What someone wants to be told of is handed out, to fail at once."""
        given_up: list[bytes] = []
        entry = self.silent_hosts.give_up(host, now, given_up)
        visit = None if entry is None else self._dead_visit(host, entry, now)
        for key in given_up:
            self._listener.given_up(key)
        return visit

    def _dead_visit(self, host: Host, entry: bytes, now: float) -> Visit | None:
        visit = self._visit(host, entry, now)
        if visit is not None:
            self._let_fail(visit)
        return visit

    def _let_fail(self, visit: Visit) -> None:
        visit.dead = True
        self.free(visit)

    def _revive(self, now: float) -> None:
        """Ask hosts again that ceased to answer some time ago."""
        for host in self.silent_hosts.due(now):
            host.revive(self._politeness)
            self._states.rewind(host)
            self.workbench.place(host, now)


def _heard_of(host: Host, url: str) -> str:
    """By what `host` keeps who answers: in a pool the name of the URL's host, elsewhere its scheme."""
    return name_of(url) if host.is_pool else url.partition(":")[0]
