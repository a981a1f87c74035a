"""What a crawl leaves when it ends, and what it does before: its last fetches go to what it holds back."""

from __future__ import annotations

from typing import Final, NamedTuple

from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.judge.held import name_of
from sitecrawl.frontier.judge.trap_judge import TrapJudge

NAMED: Final = 2
"""Sets that are named of those that are sampled: those of which most waits."""


def full_hosts(frontier: DiskFrontier) -> list[str]:
    """The hosts of which as many pages are fetched as are wanted and more wait, in words; most waiting first."""
    full = [host for host, section in frontier.judge.units_held(()) if section is None and host.trap.is_full]
    waiting = sorted((host for host in full if host.queued), key=lambda host: -host.queued)
    return [f"{host.name}: its {host.fetched:,} pages are fetched, {host.queued:,} URLs wait" for host in waiting]


class LastFetches(NamedTuple):
    """Nothing is left but what is held back, and some of it is fetched still."""

    growing: list[tuple[Host, Section | None]]
    """Sets that grow, and are fetched to see whether they grow on; those of which most waits first."""
    most: int
    """Fetches that may still go to these, if all of them grow on."""
    poor: list[tuple[Host, Section | None]]
    """Sets that are worth little, but end: all of them is fetched, or until their host says nothing new any more."""
    rules: int
    """Rules of which tests are fetched, among other forms of pages."""

    def __str__(self) -> str:
        if self.growing:
            named = ", ".join(map(_size, self.growing[:NAMED]))
            left = "only what is held back is left" if self.poor else "only sets that grow are left"
            number, growth = sets(len(self.growing)), "it grows" if len(self.growing) == 1 else "they grow"
            return f"{left}: fetching {number}, at most {self.most:,} more fetches while {growth}: {named}"
        if self.poor:
            waiting = sum((section or host).queued for host, section in self.poor)
            return f"only what is worth little is left: fetching it, {waiting:,} URLs of {sets(len(self.poor))}"
        tested = "1 rule" if self.rules == 1 else f"{self.rules:,} rules"
        return f"only other forms of pages are left: testing {tested} that joins them"


def last_fetches(frontier: DiskFrontier) -> LastFetches | None:
    """What is fetched while nothing is left but what is held back; None as long as there is anything else.

    Costs a look at every set that is held back, but nothing while a host rests of which something else is left.
    """
    dispatcher = frontier.dispatcher
    if dispatcher.workbench.next_time() is not None or dispatcher.is_full or not dispatcher.is_held_back():
        return None
    silent, judge, probes = dispatcher.silent_hosts, frontier.judge, dispatcher.probes
    probed = probes.to_be_probed(last=True, but=silent)
    going_on = judge.going_on(silent)
    units = probed + [(host, section) for host, sections in going_on.items() for section in sections]
    units.sort(key=lambda unit: -(unit[1] or unit[0]).queued)
    growing = [unit for unit in units if _grows(judge, *unit)]
    most = probes.left([unit for unit in probed if _grows(judge, *unit)])
    grown = {host.site for host, _ in growing if host in going_on}
    most += sum(judge.budget_left(hosts) for hosts in judge.wanted(silent) if any(one.site in grown for one in hosts))
    rules = len(frontier.forms.tests(last=True, but=silent))
    if not (units or rules):
        return None
    return LastFetches(growing, most, [unit for unit in units if unit not in growing], rules)


def _grows(judge: TrapJudge, host: Host, section: Section | None) -> bool:
    if section is not None and judge.is_wanted(host):
        return judge.grows(host, section)
    return not judge.comes_last(host, section)


def _size(unit: tuple[Host, Section | None]) -> str:
    host, section = unit
    shape = section.shape if section is not None else ""
    one = section or host
    return f"{name_of(host.name, shape)} ({one.queued:,} waiting, {one.trap.novelty:.1f} new a page)"


def sets(number: int) -> str:
    """So many sets, in words."""
    return "1 set" if number == 1 else f"{number:,} sets"
