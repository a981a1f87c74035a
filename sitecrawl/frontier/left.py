"""What a crawl leaves when it ends, and what it does before: its last fetches go to what it holds back."""

from __future__ import annotations

from typing import Final, NamedTuple

from sitecrawl.base.display import counted
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.judge.held import name_of
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.sections import Section

NAMED: Final = 2
"""Sets that are named of those that grow: those of which most waits."""


def full_hosts(frontier: DiskFrontier) -> list[str]:
    """The hosts of which as many pages are fetched as are wanted and more wait, in words; most waiting first."""
    full = [host for host, section in frontier.judge.units_held(()) if section is None and host.trap.is_full]
    waiting = sorted((host for host in full if host.queued), key=lambda host: -host.queued)
    return [f"{host.name}: its {host.fetched:,} pages are fetched, {host.queued:,} URLs wait" for host in waiting]


class _LastFetches(NamedTuple):
    """Nothing is left but what is held back, and some of it is fetched still."""

    growing: list[tuple[Host, Section]]
    """Sets that grow, and are fetched to see whether they grow on; those of which most waits first."""
    most: int
    """Fetches that may still go to these, if all of them grow on."""
    poor: list[tuple[Host, Section]]
    """Sets that are worth little, but end: all of them is fetched, or until their host says nothing new any more."""
    rules: int
    """Rules of which tests are fetched, among other forms of pages."""

    def __str__(self) -> str:
        if self.growing:
            named = ", ".join(map(_size, self.growing[:NAMED]))
            left = "only what is held back is left" if self.poor else "only sets that grow are left"
            number, growth = counted(len(self.growing), "set"), "it grows" if len(self.growing) == 1 else "they grow"
            return f"{left}: fetching {number}, at most {self.most:,} more fetches while {growth}: {named}"
        if self.poor:
            waiting = sum(section.queued for _, section in self.poor)
            sets = counted(len(self.poor), "set")
            return f"only what is worth little is left: fetching it, {waiting:,} URLs of {sets}"
        return f"only other forms of pages are left: testing {counted(self.rules, 'rule')} that joins them"


def last_fetches(frontier: DiskFrontier) -> _LastFetches | None:
    """What is fetched while nothing is left but what is held back; None as long as there is anything else.

    Costs a look at every set that is held back, but nothing while a host rests of which something else is left.
    """
    dispatcher = frontier.dispatcher
    if dispatcher.workbench.next_time() is not None or dispatcher.page_limit.is_full or not dispatcher.is_held_back():
        return None
    silent = dispatcher.silent_hosts
    sites = dispatcher.last_stage.sites(silent)
    units = [(host, one) for site in sites for host, sections in site.sections.items() for one in sections]
    growing = sorted((unit for site in sites for unit in site.growing), key=lambda unit: -unit[1].queued)
    poor = [unit for unit in units if unit not in growing]
    most = sum(site.budget for site in sites if site.growing)
    rules = len(frontier.forms.tests(last=True, but=silent))
    return _LastFetches(growing, most, poor, rules) if growing or poor or rules else None


def _size(unit: tuple[Host, Section]) -> str:
    host, section = unit
    return f"{name_of(host.name, section.shape)} ({section.queued:,} waiting, {section.trap.novelty:.1f} new a page)"
