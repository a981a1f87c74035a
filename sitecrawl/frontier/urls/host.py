"""A host: its sections, its politeness state, its counts, its account with the lambda page.

Politeness is Mercator's (Heydon and Najork 1999, "Mercator: A scalable, extensible Web crawler", §3.2): one
connection a host, and after a download that took t seconds nothing more for `factor * t` seconds, so that a slow
server is asked less often. A fixed delay, a robots.txt `Crawl-delay` and `Retry-After` are lower bounds on top.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.circles import circles
from sitecrawl.frontier.urls.drought import Drought
from sitecrawl.frontier.urls.order import goes_last
from sitecrawl.frontier.urls.pace import Pace
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.sites import is_pool
from sitecrawl.frontier.urls.trap_state import TRAP_BYTES, TrapState
from sitecrawl.frontier.urls.worth import REFRESH, Kin, look_again, weigh
from sitecrawl.urls.url import site_of

KEY_BYTES: Final = 8
POOL_PATIENCE: Final = 10
"""So many times the failed downloads that make a host dead make a pool dead: many names, and none answers."""
MAX_SILENT: Final = 1_000
"""Names of a pool of which it is known how often they failed."""
_HEAD = struct.Struct(">QQQQdQQQddddQQQQ")


@dataclass(frozen=True, slots=True)
class PolitenessOptions:
    """How hard the crawl may press on one host."""

    delay: float = 0.0
    """Least pause between the end of a download and the start of the next on one host, in seconds."""
    delay_factor: float = 10.0
    """The pause is also at least so many times the last download's time; 0 for none."""
    max_delay: float = 60.0
    """What `delay_factor` and failures can make of the pause at the most, in seconds."""
    per_host: int = 1
    """Requests under way on one host."""
    per_ip: int = 8
    """Requests under way on one IP address, over all of its hosts; 0 for no limit."""
    in_all: int = 0
    """Requests under way on all hosts; 0 if whoever sends them has no limit."""
    failure_delay: float = 1.0
    """Pause after a failed download, in seconds; doubled by every further failure in a row."""
    max_failures: int = 10
    """Failed downloads in a row after which a host counts as dead; 0 for never. What waits for it fails, or stays for
    later if the host has answered before."""
    max_first_failures: int = 3
    """The same for a host that has never answered."""
    revival: float = 3600.0
    """Seconds after which a dead host that has answered before is asked again, if the crawl still runs."""
    max_rest: float = 3600.0
    """What is left of a rest that a host has asked for when the crawl is resumed, in seconds, is at most this: clocks
    are set."""


@dataclass(slots=True, eq=False)
class Host:
    """One host (host:port) that the crawl knows. Times are on the frontier's clock, in seconds."""

    key: bytes
    name: str
    sections: dict[bytes, Section] = field(default_factory=dict)
    """By the second part of their keys."""
    known: int = 0
    """URLs of this host that were ever queued, but for requisites."""
    queued: int = 0
    """Of these, how many are not done: waiting or in flight."""
    volatile: int = 0
    """Of the queued, how many are in memory only."""
    fetched: int = 0
    good: int = 0
    """Of the fetched, those that gave a page worth having."""
    picks: int = 0
    """URLs of it that were taken in turn (`portfolio`)."""
    passed: int = 0
    """How many URLs, in the order of breadth first, are done (`breadth`)."""
    rich: int = 0
    """How many URLs, in the order of credit alone, are done."""
    ahead: Counter[int] = field(default_factory=Counter)
    """Picks of other orders that credit alone has not come to yet, by their class of credit: in memory only."""
    judged: int = 0
    """Of the picks, those by worth, and by worth and links."""
    trap: TrapState = field(default_factory=TrapState)
    payees: int = 0
    dividend: int = 0
    mark: int = 0
    rest: int = 0
    """The account with the lambda page: see `sitecrawl.frontier.credit.policies`."""
    active: int = 0
    """Requests under way."""
    failures: int = 0
    """Failed downloads since the last that worked."""
    spared: int = 0
    """Downloads that were under way when the last failure was counted: theirs are the same failure of the host."""
    failing: tuple[bytes, bytes] = (bytes(16), bytes(16))
    """The fingerprints of the last two URLs whose downloads failed."""
    crawl_delay: float = 0.0
    free_at: float = 0.0
    """No request may start before."""
    asked_until: float = 0.0
    """Until when the host itself has asked to be left alone (`Retry-After`), if it has."""
    rests_until: float = 0.0
    """`free_at` in Unix seconds, as of the last checkpoint, for whoever looks at the crawl from outside: a crawl that
    is resumed does not wait for it. 0 before any request."""
    asked_rest: float = 0.0
    """`asked_until` in Unix seconds, as of the last checkpoint: a crawl that is resumed waits for this. 0 if it has
    never asked."""
    ip: str | None = None
    ticket: int = 0
    """Which entry of the workbench stands for this host; older ones are void."""
    stands_at: bytes | float | None = None
    """The key of that entry, in the heap of hosts that may be asked or of those that rest."""
    upcoming: bytes = b""
    """The key of the URL that it would have been asked for next, when it was put on the workbench."""
    turn: float = -1.0
    """When its next turn ends, on the frontier's virtual clock; a time that has passed if nothing of it waited."""
    clock: float = 0.0
    """Its virtual clock: when the last turn of a section began (`frontier.urls.worth`)."""
    is_pool: bool = field(init=False)
    """Whether it stands for all names of a site that have no record of their own (`frontier.urls.sites`)."""
    put_off: Counter[int] | None = None
    """While it does not answer: how many of its URLs are of each level (`frontier.urls.counts`)."""
    answers: tuple[str, ...] = ()
    """The schemes by which it has answered in this run; of a pool none."""
    silent: dict[str, int] = field(default_factory=dict)
    """How often in a row names failed (of a pool the `MAX_SILENT` that did last), or schemes: see `fail`."""
    drought: Drought = field(default_factory=Drought)
    pace: Pace = field(default_factory=Pace)
    _kin: Kin | None = None
    _site: str = ""

    def __post_init__(self) -> None:
        self.is_pool = is_pool(self.name)

    @property
    def kin(self) -> Kin:
        """What its sections have shown, for one another."""
        if self._kin is None:
            self._kin = Kin(self.sections.values())
        return self._kin

    @property
    def site(self) -> str:
        """The registrable domain that it belongs to, or else itself."""
        if not self._site:
            self._site = site_of(self.name) if self.name else self.name
        return self._site

    def waiting(self) -> list[tuple[bytes, Section]]:
        """Its sections that have something to be fetched and are not held back, each with its first entry."""
        if not self.queued or (self.trap.demoted and not self.trap.is_full):
            return []
        parts = [self.requisites] if self.trap.is_full else self.sections.values()
        return [
            (entry, section)
            for section in parts
            if section is not None
            and section.queued
            and not section.trap.demoted
            and (entry := section.queue.peek()) is not None
        ]

    def waiting_traps(self) -> list[tuple[bytes, Section]]:
        """Its sections that are held back, and of which orders pick all the same, each with its first entry."""
        return [
            (entry, section)
            for section in self.sections.values()
            if section.trap.demoted
            and section.queued
            and not section.trap.is_left
            and (entry := section.queue.peek()) is not None
        ]

    @property
    def has_answered(self) -> bool:
        """Whether anything was ever fetched of it, a page or a requisite."""
        requisites = None if self.fetched else self.requisites
        return self.fetched > 0 or (requisites is not None and requisites.fetched > 0)

    @property
    def requisites(self) -> Section | None:
        """The section of its requisites, if there have been any."""
        return next((section for section in self.sections.values() if section.is_requisites), None)

    @property
    def needs_requisites(self) -> bool:
        """Whether requisites wait that are not held back."""
        is_held = self.trap.demoted and not self.trap.is_full
        section = self.requisites if self.queued and not is_held else None
        return section is not None and not section.trap.demoted and section.queue.peek() is not None

    def join(self) -> None:
        """Find out anew which sections grow as one."""
        sections = self.sections
        found = circles(
            {key: section.brought for key, section in sections.items()},
            {key: section.shape for key, section in sections.items()},
        )
        own = dict.fromkeys(sections, 0)
        most: dict[bytes, tuple[int, bytes]] = {}
        for key, section in sections.items():
            section.circle = found[key]
            for target, urls in section.brought.items():
                most[target] = max(most.get(target, (0, b"")), (urls, section.key))
                if found.get(target) == found[key]:
                    own[target] += urls
        for key, section in sections.items():
            section.own = max(section.own, own[key])
            if key in most:
                section.be_fed(most[key][1])

    def learn(
        self, section: Section, *, good: bool, is_new: bool | None = None, leads: float = 0.0, led: bool = False
    ) -> None:
        """A visit of `section` has come to an end: see `Section.learn`."""
        kin, trials, hits = self.kin, section.trials, section.hits
        section.learn(good=good, is_new=is_new, leads=leads, led=led)
        self.good += good
        kin.learn(section, section.trials - trials, section.hits - hits)
        if self.fetched % REFRESH:
            weigh(section, kin)
            return
        self.join()
        for one in self.sections.values():
            look_again(one, self.sections)
            weigh(one, kin)

    def waste(self, section: Section) -> None:
        """An attempt at `section` took its time and brought nothing: its next turns pay for that."""
        self.pace.took(inf)
        trials, hits = section.trials, section.hits
        section.show(good=False)
        self.kin.learn(section, section.trials - trials, section.hits - hits)
        weigh(section, self.kin)

    def took(self, seconds: float, section: bytes, *, failed: bool) -> None:
        """A download of the section with that key has ended after so long."""
        if not failed:
            self.pace.took(seconds)
        if self.pace.usual:
            self.sections[section].spend(seconds / self.pace.usual)

    def patience(self, factor: float) -> float:
        """As of `Pace`; infinite for the many servers of a pool."""
        return inf if self.is_pool else self.pace.patience(factor, self.active)

    def puts_off(self) -> bool:
        """Whether a URL that takes so long is put off, for another waits that was not. It is then counted."""
        return any(not goes_last(entry) for entry, _ in self.waiting()) and self.pace.puts_off(self.active)

    def start(self, now: float, options: PolitenessOptions) -> None:
        self.active += 1
        self.free_at = max(self.free_at, now + max(options.delay, self.crawl_delay))

    def finish(self, now: float, seconds: float, options: PolitenessOptions) -> None:
        """A download that took `seconds` has ended."""
        self.active -= 1
        slow = min(options.delay_factor * seconds, options.max_delay)
        self.free_at = max(self.free_at, now + max(options.delay, self.crawl_delay, slow))

    def leave_alone(self, now: float, seconds: float) -> None:
        """It has asked to be left alone for so long."""
        self.asked_until = max(self.asked_until, now + seconds)
        self.free_at = max(self.free_at, self.asked_until)

    def resume(self, now: float, wall: float, options: PolitenessOptions) -> None:
        """The crawl is resumed, at `wall` in Unix seconds: what is left of the rest that it has asked for holds."""
        if (left := self.asked_rest - wall) > 0:
            self.leave_alone(now, min(left, options.max_rest))

    def note_rests(self, ahead: float) -> None:
        """Unix time is so many seconds ahead of the frontier's clock."""
        if self.free_at:
            self.rests_until = float(int(self.free_at + ahead))
        if self.asked_until:
            self.asked_rest = float(ceil(self.asked_until + ahead))

    def fail(self, url: bytes, now: float, options: PolitenessOptions, name: str = "", *, beside: int = 0) -> None:
        """The download of `url` failed, or the host is too busy: leave it alone, twice as long each time.

        So many as are under way `beside` it were asked for before anybody knew, and do not count once more, if the
        host has answered before.

        `name` is that of the URL's host in a pool, elsewhere its scheme. Of a name that fails too often nothing is
        asked for any more, and what is left waits no longer for it. So it is with a scheme by which a host has never
        answered, if it has by another: where nothing listens on port 443, links to it are no failures of port 80.
        """
        is_apart = self.is_pool or (bool(self.answers) and name not in self.answers)
        if is_apart:
            self.silent[name] = self.silent.pop(name, 0) + 1
            if len(self.silent) > MAX_SILENT:
                del self.silent[next(iter(self.silent))]
        if self.is_pool or not is_apart:
            self.failing = self.failing[1], url
            if self.spared:
                self.spared -= 1
                return
            self.failures += 1
            self.spared = beside if self.has_answered else 0
            if self.is_dead(options):
                return  # what becomes of it is decided at once
        doublings = 0 if is_apart else min(self.failures - 1, 30)
        self.free_at = max(self.free_at, now + min(options.failure_delay * 2**doublings, options.max_delay))

    def answer(self, name: str) -> None:
        """A download has worked; `name` as for `fail`."""
        if not self.is_pool and name not in self.answers:
            self.answers += (name,)
        self.failures = 0
        self.spared = max(0, self.spared - 1)
        self.pace.answered()
        self.silent.pop(name, None)

    def is_silent(self, name: str, options: PolitenessOptions) -> bool:
        """Whether nothing is asked for any more of a pool's host, or by a scheme: it has never answered."""
        return 0 < min(options.max_first_failures, options.max_failures) <= self.silent.get(name, 0)

    @property
    def is_idle(self) -> bool:
        return self.queued == 0 and self.active == 0

    def is_dead(self, options: PolitenessOptions) -> bool:
        return 0 < self._patience(options) <= self.failures

    @property
    def is_out(self) -> bool:
        """Whether it has answered before, and now fails whatever it is asked for. Of names in a pool nobody knows."""
        return not self.is_pool and self.has_answered and self.failures > 1 and self.failing[0] != self.failing[1]

    def revive(self, options: PolitenessOptions) -> None:
        """Give a dead host one more chance."""
        self.failures = self._patience(options) - 1

    def _patience(self, options: PolitenessOptions) -> int:
        patience = (
            options.max_failures if self.has_answered else min(options.max_first_failures, options.max_failures)
        )
        return patience * POOL_PATIENCE if self.is_pool else patience

    def pack(self) -> bytes:
        head = _HEAD.pack(
            self.known,
            self.queued - self.volatile,
            self.fetched,
            self.good,
            self.crawl_delay,
            self.dividend,
            self.mark,
            self.rest,
            self.turn,
            self.clock,
            self.rests_until,
            self.asked_rest,
            self.picks,
            self.passed,
            self.rich,
            self.judged,
        )
        return head + self.trap.pack() + self.name.encode()

    @classmethod
    def unpack(cls, key: bytes, data: bytes) -> Host:
        """The host without its sections. Raises `CorruptFile` for bytes that no `pack` wrote."""
        try:
            numbers = _HEAD.unpack_from(data)
            trap = TrapState.unpack(data[_HEAD.size : _HEAD.size + TRAP_BYTES])
            host = cls(key, data[_HEAD.size + TRAP_BYTES :].decode())
        except (struct.error, ValueError) as error:
            raise CorruptFile(f"A host record of {len(data)} bytes cannot be read: {error}") from error
        host.known, host.queued, host.fetched, host.good, host.crawl_delay = numbers[:5]
        host.dividend, host.mark, host.rest, host.turn, host.clock = numbers[5:10]
        host.rests_until, host.asked_rest = numbers[10:12]
        host.picks, host.passed, host.rich, host.judged = numbers[12:]
        host.payees = host.queued
        host.trap = trap
        return host
