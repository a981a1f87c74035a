"""Which sections and hosts are held back as traps, and when they get another chance.

Nothing is held back for what it looks like, or for what leads there: each section is judged by its own figures.

- *Whether it has an end.* A trap mints URLs: every page of it brings new ones, for ever. A real site does so at
  first, too, but it links to what it has. So of what has an end the share of links that are the first to their URL
  falls (`TrapState.falls`). A section is taken for endless while that share has not fallen, and its *novelty*, the
  new URLs of its circle that a fetch of it brings of late, is above `high`.
- *What it may cost.* What is endless is *demoted* once it has had `min_fetches` and does not give good pages. While
  it does, it has a budget, one for all such sections of a host: twice the good pages beside them, and on a seed's
  host at least `least_budget`; on others they go on while all of them together are smaller than the host may be.
  What is nearly all that a host has is the site, and is not demoted before it has had `last_budget` fetches, or
  `LONGER` times as many as URLs of it were known when an end was last in sight.
- *Where its host has dried up* (`drought`), what is endless, or is brought by such alone, and in a long drought
  whatever waits, is left, also by the plain orders, for as long as that is so, unless a hundredth of its own fetches
  since has said something new.
- *A host* may be as large as what is vouched for: a part of the good pages of all others, by the trust that flows to
  it from the seeds' hosts (`sitecrawl.frontier.credit.trust`), which no farm of hosts can make for itself. One that
  is larger and endless is demoted, or its endless sections where it has others that are worth it. A seed's host never
  is: whoever named it wants it. Hosts that only demoted ones lead to are demoted sooner.
- A section of which almost nothing was good lately is demoted, too, where its host gives something.
- A demoted unit is not fetched in the turns of worth, but by the plain orders (`portfolio`). If novelty falls below
  `high`, or an end comes into sight, it is set free.
- A verdict costs turns, and no pages. When nothing is left but demoted units, they go on, as far as their budget goes
  (`last_stage`). Then the crawl ends, and says what it left.

Every demotion is on record with its reason, since when, and the numbers it was made on.

Of many frontiers that share a crawl each judges its own hosts, beside the good pages of all (`elsewhere`).

A person may overrule all of this. What is *blocked* is held back without probes until a person sets it free; what a
person sets free is *vouched* for, and never demoted again. Both are kept with the unit, so they survive a restart.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable, Iterator
from random import Random
from sys import float_info
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.urls.drought import FEW
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import ENOUGH, MATTERS, RARE, TrapOptions
from sitecrawl.frontier.urls.sections import KEY_BYTES, Section
from sitecrawl.frontier.urls.trap_state import Reason, TrapState
from sitecrawl.frontier.urls.visit import News

JUDGE_STATE: Final = struct.Struct(">Q8x")
"""`good`, as it is stored."""
_EDGES_A_FETCH = 50
"""Edges of the graph of hosts that a fetch may pay for: each takes about 0.2 us when trust flows."""
BUDGET: Final = 2.0
"""Fetches of what gives good pages and grows without end, for each good page elsewhere on its host."""
LONGER: Final = 4
"""Fetches of what is nearly all of its host, for each URL that was known of it when an end was last in sight, until
it is demoted; or `TrapOptions.last_budget`."""


class TrapJudge:
    """See the module. `random` draws tests of rules; `joins`: what rules hold, other forms of pages, stays there."""

    def __init__(self, options: TrapOptions, graph: HostGraph, random: Random, *, joins: bool = False) -> None:
        self.options = options
        self._joins = joins
        self.graph = graph
        self.random = random
        self.fetches = 0
        self.good = 0
        self.elsewhere = 0
        """Good pages that other frontiers of the crawl have found, as far as is known."""
        self._flows_at = options.flow_period
        """At which fetch trust flows next."""
        self._reached: set[bytes] | None = None
        """Hosts that not only such as are held back lead to, as of when trust flowed last; None for all of them."""
        self.demoted: dict[bytes, tuple[Host, Section | None]] = {}
        """By the unit's key: a host's, or a section's."""

    def remember(self, host: Host) -> list[Section | None]:
        """Take up a host that was read from disk: register what of it is demoted, or set it free where this crawl
        holds nothing back. Returns what was set free; None stands for the host itself.
        """
        demoted = [section for section in (None, *host.sections.values()) if (section or host).trap.demoted]
        freed = [unit for unit in demoted if not self._stays((unit or host).trap)]
        for section in freed:
            self.release(host, section)
        kept = [section for section in demoted if (section or host).trap.demoted]
        self.demoted.update(((section or host).key, (host, section)) for section in kept)
        return freed

    def _stays(self, trap: TrapState) -> bool:
        return self._joins if trap.is_joined else self.options.hold or trap.is_apart

    def is_demoted(self, key: bytes) -> bool:
        """Whether the host with this key passes no trust on: it is held back, and not for being full."""
        held = self.demoted.get(key)
        return held is not None and not held[0].trap.is_full

    def held(self, but: Container[bytes] = ()) -> int:
        """URLs, in flight ones included, of what is held back as traps on hosts other than `but`."""
        return sum(
            waits_in(host, section)
            for host, section in self.units_held(but)
            if section is None or not section.trap.is_joined
        )

    def joined(self, but: Container[bytes] = ()) -> int:
        """The same of other forms of pages, on hosts that are not held back themselves."""
        return sum(
            section.queued for _, section in self.units_held(but) if section is not None and section.trap.is_joined
        )

    def held_back(self, but: Container[bytes]) -> int:
        """Both together, in one go."""
        return sum(waits_in(host, section) for host, section in self.units_held(but))

    def units_held(self, but: Container[bytes]) -> Iterator[tuple[Host, Section | None]]:
        """Demoted units on hosts other than `but`, without the sections of demoted hosts."""
        for host, section in self.demoted.values():
            if (section is None or not host.trap.demoted) and host.key not in but:
                yield host, section

    # What a fetch teaches

    def learn(self, host: Host, section: Section, *, good: bool, news: News) -> list[Host]:
        """A visit has ended. Returns the hosts of which something was demoted or set free."""
        self.fetches += 1
        self.good += good
        section.trap.learn(news.in_circle, section.fetched)
        host.trap.learn(news.on_host, host.fetched)
        says_new = False if news.is_redirect and news.is_new is None else news.is_new
        host.learn(section, good=good, is_new=says_new, leads=news.leads, led=news.led)
        is_dry = host.drought.ends_row(host.fetched, new=section.look(good=good, is_new=news.is_new))
        is_changed = is_dry is not None and self._dry_up(host, is_dry=is_dry)
        if self.options.hold:
            is_changed |= self._demote(host, section)
        changed = [host] if is_changed | self._free(host, section) else []
        if self.fetches >= self._flows_at:
            self._flows_at = self.fetches + max(self.options.flow_period, len(self.graph) // _EDGES_A_FETCH)
            self.graph.flow(self.is_demoted)
            holds_hosts = any(section is None for _, section in self.demoted.values())
            self._reached = self.graph.reached(self.is_demoted) if holds_hosts else None
            changed += self._look_again()
        return changed

    def _look_again(self) -> list[Host]:
        """Set free the hosts that have come to be trusted since they were demoted; returns them."""
        hosts = [host for host, section in self.demoted.values() if section is None and not host.trap.is_apart]
        trusted = [host for host in hosts if _size_of(host.sections.values()) <= self._allowed(host)]
        for host in trusted:
            self.release(host, None)
        return trusted

    def _demote(self, host: Host, section: Section) -> bool:
        held = len(self.demoted)
        fetched = host.fetched / MATTERS if self._is_fed(host) else host.fetched
        if self._may_be_demoted(host, fetched) and self._has_outgrown(host):
            beside = [one for one in host.sections.values() if self._is_beside(host, one)]
            for one in beside:
                self._leave(host, one)
            if not beside:
                self.hold(host, None, Reason.GROWS)
        if self._is_beside(host, section):
            self._leave(host, section)
        elif self._may_be_demoted(section, section.fetched) and self._is_worthless(host, section):
            self.hold(host, section, Reason.WORTHLESS)
        return len(self.demoted) > held

    def _leave(self, host: Host, section: Section) -> None:
        if self._may_be_demoted(section, section.fetched) and not self._has_budget(host, section):
            self.hold(host, section, Reason.GROWS)

    def _dry_up(self, host: Host, *, is_dry: bool) -> bool:
        """Hold back what grows without end on a host that has dried up, and set it free where that is so no more.

        Returns whether anything has changed. There need be nothing else on the host: what is held back has said
        nothing for a quarter of all fetches.
        """
        changed = False
        for one in host.sections.values():
            trap = one.trap
            if trap.demoted and trap.reason == Reason.DRY:
                if not is_dry:
                    self.release(host, one)
                    changed = True
            elif (
                is_dry and self._says_nothing(host, one) and (trap.demoted or self._may_be_demoted(one, one.fetched))
            ):
                if trap.demoted:
                    trap.reason = Reason.DRY
                else:
                    self.hold(host, one, Reason.DRY)
                changed = True
            if not is_dry:
                one.asked = one.looked_at = one.news = 0
        return changed

    def _says_nothing(self, host: Host, section: Section) -> bool:
        """Whether a section is to be left on a host that has dried up: hardly a fetch of it said anything new, and it
        is held back, has no end in sight, or is brought by such sections alone, as the days of a calendar are. In a
        long drought the first is enough.
        """
        is_poor = section.looked_at >= ENOUGH and section.news <= FEW * section.asked
        if not self.options.hold or not is_poor or section.is_requisites:
            return False
        if is_held(host, section) or host.drought.is_long(host.fetched):
            return True
        return self.is_endless(section) or is_brought(host, section)

    def _is_beside(self, host: Host, section: Section) -> bool:
        """Whether a section has no end in sight, and its host has anything else to speak of.

        What is nearly all of its host goes on for longer, and for ever if an end comes into sight now and then.
        """
        if not self.is_endless(section):
            return False
        elsewhere, spent, _ = self._endless(host, section)
        most = max(self.options.last_budget, LONGER << section.trap.fell_at)
        return elsewhere >= MATTERS * spent or spent >= most

    def _has_budget(self, host: Host, section: Section) -> bool:
        """Whether a section without an end gives good pages, and its host's budget for such is not spent."""
        elsewhere, spent, size = self._endless(host, section)
        if not section.gives or spent < BUDGET * elsewhere:
            return section.gives
        return spent < self.options.least_budget if self.is_named(host) else size <= self._allowed(host)

    def is_named(self, host: Host) -> bool:
        """Whether a seed names `host`: somebody wants it."""
        return host.key in self.graph.seeds

    def _endless(self, host: Host, section: Section) -> tuple[float, int, int]:
        """How many good pages a host has, or is expected to have of what waits, beside its sections without an end,
        of which `section` is one; and the fetches and the size of all of these: they share one budget, so that none
        makes room for another. On a host that no seed names a section counts once it has been tried: a trap mints
        sections, too.
        """
        elsewhere, spent, size = 0.0, 0, 0
        is_named = self.is_named(host)
        for one in host.sections.values():
            if one is section or self.is_endless(one):
                spent += one.fetched
                size += _size(one)
            elif is_named or one.fetched >= self.options.min_fetches:
                elsewhere += one.good + one.queued * one.shown
        return elsewhere, spent, size

    def is_endless(self, section: Section) -> bool:
        """Whether it grows, and no end of it is in sight."""
        trap = section.trap
        if section.is_requisites or trap.is_apart:
            return False
        grows = trap.novelty > self.options.high and not trap.falls
        return grows or (trap.demoted and trap.reason == Reason.GROWS)

    def _has_outgrown(self, host: Host) -> bool:
        """Whether a host grows, beside others that are worth it, to more than what is vouched for.

        A seed's host was named by a person. Of ten large sites each grows at first, and none would be left.
        """
        if self.is_named(host):
            return False
        grows = host.trap.novelty > self.options.high and not self._has_end(host)
        had_all = host.fetched >= self.options.last_budget
        is_beside = had_all or self._of_others(host) >= MATTERS * host.fetched
        free = [one for one in host.sections.values() if not one.trap.demoted]
        return grows and is_beside and _size_of(free) > self._allowed(host)

    def _is_worthless(self, host: Host, section: Section) -> bool:
        """Whether it brings almost nothing, and its host more: where all is `noindex`, nothing is worthless."""
        return section.recent < RARE and host.good > MATTERS * host.fetched

    def _allowed(self, host: Host) -> float:
        """How many URLs a host may have, by the trust in it and by what others gave: its own make no room for it."""
        trust, others = self.graph.trust(host.key), self._of_others(host)
        size = self.options.host_size
        if self._is_fed(host):
            size *= MATTERS
        return size + self.options.trusted_share * trust / max(1 - trust, float_info.epsilon) * others

    def _of_others(self, host: Host) -> int:
        """Good pages of all other hosts. One that came from another frontier may have more than were counted here."""
        return max(self.good - host.good, 0) + self.elsewhere

    def _is_fed(self, host: Host) -> bool:
        """Whether only hosts that are held back lead to a host: what a trap alone brings is of its kind."""
        return self._reached is not None and host.key not in self._reached

    def _may_be_demoted(self, unit: Host | Section, fetched: float) -> bool:
        trap = unit.trap
        return not trap.demoted and trap.reason != Reason.VOUCHED and fetched >= self.options.min_fetches

    def hold(self, host: Host, section: Section | None, reason: Reason) -> None:
        """Demote a unit for `reason`."""
        unit = section or host
        trap = unit.trap
        trap.demoted, trap.since, trap.reason, trap.tried = True, self.fetches, reason, unit.fetched
        trap.begin_anew(unit.known)
        self.demoted[unit.key] = host, section

    def look_at_ends(self) -> list[Host]:
        """Links have been counted: set free what has come to an end, wherever that was seen; returns the hosts."""
        return [host for host, section in [*self.demoted.values()] if self._free(host, section)]

    def _free(self, host: Host, section: Section | None) -> bool:
        held = len(self.demoted)
        if section is not None and self._may_go_on(host, section):
            self.release(host, section)
        if self._has_calmed(host):
            self.release(host, None)
        return len(self.demoted) < held

    def _may_go_on(self, host: Host, section: Section) -> bool:
        if self._has_calmed(section):
            return section.recent >= RARE
        is_held = section.trap.demoted and section.trap.reason == Reason.GROWS
        return is_held and self._has_budget(host, section)

    def _has_calmed(self, unit: Host | Section) -> bool:
        trap = unit.trap
        if not trap.demoted or trap.is_apart or unit.fetched - trap.tried < self.options.min_fetches:
            return False
        return trap.novelty < self.options.high or self._has_end(unit)

    def _has_end(self, unit: Host | Section) -> bool:
        """Whether an end is in sight: of a host, of all of its sections."""
        if isinstance(unit, Section):
            return unit.trap.falls
        return not any(map(self.is_endless, unit.sections.values()))

    def set_aside(self, host: Host, section: Section) -> None:
        """What comes into `section` are other forms of pages."""
        self.hold(host, section, Reason.JOINED)

    def learn_test(self, host: Host, section: Section, *, good: bool) -> None:
        """A visit of another form of a page has ended: it says nothing of traps."""
        self.fetches += 1
        self.good += good
        host.good += good
        section.learn(good=good)

    def vouch(self, host: Host, section: Section | None) -> None:
        """A person wants a unit, whatever it looks like."""
        if (section or host).trap.demoted:
            self.release(host, section)
        (section or host).trap.reason = Reason.VOUCHED

    def release(self, host: Host, section: Section | None) -> None:
        """Set a demoted unit free."""
        unit = section or host
        trap = unit.trap
        trap.demoted, trap.reason = False, Reason.NONE
        self.demoted.pop(unit.key, None)

    def pack(self) -> bytes:
        return JUDGE_STATE.pack(self.good)

    def unpack(self, data: bytes) -> None:
        """Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            (self.good,) = JUDGE_STATE.unpack(data)
        except struct.error as error:
            raise CorruptFile(f"The judge's record of {len(data)} bytes cannot be read: {error}") from error


def waits_in(host: Host, section: Section | None) -> int:
    """URLs that wait in a unit, and are held back with it."""
    parts = host.requisites if section is None and host.trap.is_full else None
    return (section or host).queued - (parts.queued if parts is not None and not parts.trap.demoted else 0)


def is_held(host: Host, section: Section) -> bool:
    """Whether a section is held back, by itself or with its host, and may go on some time."""
    return (host.trap.demoted or section.trap.demoted) and not section.trap.is_left


def _size_of(sections: Iterable[Section]) -> int:
    """How many URLs some sections have; those that wait count twice."""
    return sum([_size(one) for one in sections if not one.is_requisites])


def _size(section: Section) -> int:
    return section.known + section.queued  # what waits is still to be paid for


def is_brought(host: Host, section: Section) -> bool:
    """Whether sections that are held back have brought all of a section's URLs, or nearly all."""
    key = section.key[-KEY_BYTES:]
    feeders = (one for one in host.sections.values() if one.trap.demoted and not one.trap.is_apart)
    brought = sum([one.brought.get(key, 0) for one in feeders if one is not section])
    return section.known - brought <= MATTERS * section.known
