"""What is fetched of what is held back when nothing else is left, so that a verdict costs turns and no pages.

What does not grow goes on. Of what grows without end

- on a seed's site all such sections together may have `TrapOptions.last_budget` fetches, or twice the good pages
  beside them, where those do not count that they alone have brought. So of a site with at most `last_budget` URLs,
  whose pages say something new, none is left.
- all other sites together may have `TrapOptions.allowance` fetches since they were held back, and `allowance_share`
  of those of the crawl. They are fetched in rounds, as fewer than `ENOUGH` fetches say nothing of an end: what 20
  large sites may have together is enough for some of them, and each that is set free lets the crawl go on to the
  others.

Where a host has dried up, each section goes on until it was looked at `ENOUGH` times since anything new was
said. A site is all hosts of a registrable domain: names cost nothing, so they share one budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from sitecrawl.frontier.judge.trap_judge import BUDGET, TrapJudge, is_brought, is_held
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import ENOUGH, MATTERS
from sitecrawl.frontier.urls.sections import Section


class _GoingOn(NamedTuple):
    """A site of which something goes on."""

    sections: dict[Host, list[Section]]
    """What is held back and may be fetched, none of them empty."""
    growing: list[tuple[Host, Section]]
    """Those of them that grow."""
    budget: int
    """How many fetches those of them that grow may still have, if they grow on."""


class LastStage:
    """See the module. `judge` says what is held back, `sites_of` of which sites the hosts with some keys are."""

    def __init__(self, judge: TrapJudge, sites_of: Callable[[Sequence[bytes]], set[str]]) -> None:
        self._judge = judge
        self._sites_of = sites_of
        self._named: tuple[int, set[str]] = 0, set()
        """Of how many seeds' hosts the sites are known, and these."""

    def sections(self, but: Container[bytes]) -> dict[Host, list[Section]]:
        """What goes on, on hosts other than `but`, when nothing else is left: what is to go first comes first."""
        return {host: sections for site in self.sites(but) for host, sections in site.sections.items()}

    def sites(self, but: Container[bytes]) -> list[_GoingOn]:
        """The same by sites: those of the seeds, then others, as far as all of these may still have a round."""
        held: defaultdict[str, dict[Host, None]] = defaultdict(dict)
        for host, _ in self._judge.units_held(but):
            if not host.trap.is_left:
                held[host.site][host] = None
        named: list[_GoingOn] = []
        others: list[Iterable[Host]] = []
        for hosts in held.values():
            if self._is_named(hosts):
                named.append(self._going_on(hosts, self._named_budget(hosts)))
            else:
                others.append(hosts)
        named.sort(key=_turn)
        return [one for one in (*named, *self._others(others)) if one.sections]

    def _others(self, held: Iterable[Iterable[Host]]) -> list[_GoingOn]:
        """Of sites that no seed names: those that have begun a round first, then those that have had the fewest."""
        sites = [(self._spent(hosts), hosts) for hosts in held]
        share, fetches = self._judge.options.allowance_share, self._judge.fetches
        left = int(self._allowance + share * fetches) - sum(spent for spent, _ in sites)
        found = []
        for spent, hosts in sorted(
            sites, key=lambda site: (site[0] // ENOUGH, -site[0], min(h.turn for h in site[1]))
        ):
            one = self._going_on(hosts, max(0, left))
            found.append(one)
            if one.growing:
                left -= ENOUGH - spent % ENOUGH
        return found

    def _going_on(self, hosts: Iterable[Host], budget: int) -> _GoingOn:
        found: defaultdict[Host, list[Section]] = defaultdict(list)
        growing = []
        for host in sorted(hosts, key=lambda one: one.turn):
            for section in host.sections.values():
                if not (section.queued and is_held(host, section)):
                    continue
                if self._grows(host, section):
                    if not budget:
                        continue
                    growing.append((host, section))
                found[host].append(section)
        return _GoingOn(found, growing, budget)

    def _grows(self, host: Host, section: Section) -> bool:
        """Whether no end of a section is in sight, or of its host, if that is held back; but where no seed names the
        site, a small part of such a host that does not grow itself is fetched all the same.
        """
        if self._judge.is_endless(section):
            return True
        if not host.trap.demoted:
            return False
        small = max(self._allowance, self._judge.good)
        return section.trap.novelty > self._judge.options.high or section.queued > small or self._is_named([host])

    def _is_named(self, hosts: Iterable[Host]) -> bool:
        """Whether a seed names the site of `hosts`."""
        judge, first = self._judge, next(iter(hosts))
        if any(map(judge.is_named, hosts)):
            return True
        if len(judge.graph.seeds) != self._named[0]:
            self._named = len(judge.graph.seeds), self._sites_of([*judge.graph.seeds])
        return first.site in self._named[1]

    def _named_budget(self, hosts: Iterable[Host]) -> int:
        """Fetches that what grows on these `hosts` of a seed's site may still have."""
        units = [(host, one, self._grows(host, one)) for host in hosts for one in host.sections.values()]
        spent = sum([one.fetched for _, one, grows in units if grows])
        budget = self._judge.options.last_budget
        if spent >= budget:
            good = sum([one.good for host, one, grows in units if not (grows or is_brought(host, one))])
            budget = int(BUDGET * good)
        return max(0, budget - spent)

    @property
    def _allowance(self) -> int:
        """Of a small crawl as little as of a large one."""
        return min(self._judge.options.allowance, ENOUGH + int(MATTERS * self._judge.fetches))

    def _spent(self, hosts: Iterable[Host]) -> int:
        """Fetches of what grows on these hosts, since it was held back."""
        spent = 0
        for host in hosts:
            if host.trap.demoted:
                spent += host.fetched - host.trap.tried
            else:
                held = [one for one in host.sections.values() if is_held(host, one) and self._grows(host, one)]
                spent += sum([one.fetched - one.trap.tried for one in held])
        return spent


def _turn(site: _GoingOn) -> float:
    return min((host.turn for host in site.sections), default=0.0)
