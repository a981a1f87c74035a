"""What is fetched of what is held back when nothing else is left, so that a verdict costs turns and no pages.

On the seeds' sites what is held back goes on, whatever it was held back for, until

- its host has dried up, and each section was looked at `trap_judge.FAIR` times since anything new was said, or
- what is left grows without end, and all such sections of the site have had `TrapOptions.last_budget` fetches, or
  twice the good pages beside them, where those do not count that they alone have brought.

So of a site with at most `last_budget` URLs, whose pages say something new, none is left. A site is all hosts of a
seed's registrable domain: names cost nothing, so they share one budget. Other sites are only sampled (`probes`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Sequence

from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.judge.trap_judge import BUDGET, TrapJudge, is_brought, is_held


class LastStage:
    """See the module. `judge` says what is held back, `sites_of` of which sites the hosts with some keys are."""

    def __init__(self, judge: TrapJudge, sites_of: Callable[[Sequence[bytes]], set[str]]) -> None:
        self._judge = judge
        self._sites_of = sites_of
        self._named: tuple[int, set[str]] = 0, set()
        """Of how many seeds' hosts the sites are known, and these."""

    def is_wanted(self, host: Host) -> bool:
        """Whether a seed names the site of `host`."""
        if self._judge.is_named(host):
            return True
        seeds = self._judge.graph.seeds
        if len(seeds) != self._named[0]:
            self._named = len(seeds), self._sites_of([*seeds])
        return host.site in self._named[1]

    def sections(self, but: Container[bytes]) -> dict[Host, list[Section]]:
        """What goes on, on hosts other than `but`, when nothing else is left."""
        found = {}
        for hosts in self.sites(but):
            has_budget = self.budget_left(hosts) > 0
            for host in hosts:
                held = [one for one in host.sections.values() if one.queued and is_held(host, one)]
                if going_on := [one for one in held if has_budget or not self.grows(host, one)]:
                    found[host] = going_on
        return found

    def sites(self, but: Container[bytes]) -> Collection[Collection[Host]]:
        """The hosts other than `but` of which something is held back that may go on, by their sites."""
        sites: defaultdict[str, dict[Host, None]] = defaultdict(dict)
        for host, _ in self._judge.units_held(but):
            if not host.trap.is_left and self.is_wanted(host):
                sites[host.site][host] = None
        return sites.values()

    def grows(self, host: Host, section: Section) -> bool:
        """Whether no end of what is held back is in sight: of a section, or of its whole host."""
        return host.trap.demoted or self._judge.is_endless(section)

    def budget_left(self, hosts: Iterable[Host]) -> int:
        """Fetches that what grows on these `hosts` of a site may still have."""
        units = [(host, one, self.grows(host, one)) for host in hosts for one in host.sections.values()]
        spent = sum([one.fetched for _, one, grows in units if grows])
        budget = self._judge.options.last_budget
        if spent >= budget:
            budget = int(
                BUDGET * sum([one.good for host, one, grows in units if not (grows or is_brought(host, one))])
            )
        return max(0, budget - spent)
