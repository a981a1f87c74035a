"""Which of what is held back as a trap is sampled, and for how long.

While better waits a few in a hundred of all fetches are probes. When nothing but demoted units is left, those of the
seeds' sites go on without (`last_stage`); of others there are probes until each unit has had its allowance, or all
of them a share of the crawl.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from math import ceil
from typing import Final

from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.hosts.trap_state import MEASURED
from sitecrawl.frontier.judge.last_stage import LastStage
from sitecrawl.frontier.judge.trap_judge import LEAST_PROBES, LEAST_TRUST, PROBES_DIVISOR, TrapJudge

COMPARED: Final = 64
"""Demoted units that are compared when a probe is due: of more, a random choice."""
TRUST_POWER: Final = 0.75
"""How far trust goes: a unit's turn to be probed comes so much sooner."""


class Probes:
    """See the module. `judge` says what is held back, and draws the lots; `last_stage` what goes on without them."""

    def __init__(self, judge: TrapJudge, last_stage: LastStage) -> None:
        self._judge = judge
        self._last_stage = last_stage

    @property
    def is_due(self) -> bool:
        """Whether it is time for one, while better waits."""
        return bool(self._judge.demoted) and self._judge.cost < self._judge.options.probes * self._judge.fetches

    def candidates(self, *, last: bool, but: Container[bytes] = ()) -> Iterator[tuple[Host, Section | None]]:
        """Demoted units with waiting URLs, on hosts other than `but`, in the order in which they deserve a probe.

        The `last` of them are as many as can be told from traps by what may still be spent on them all.
        """
        units = self.to_be_probed(last=last, but=but)
        if len(units) > COMPARED:
            begun = [unit for unit in units if _to_be_told(*unit) < MEASURED]
            units = begun + self._judge.random.sample(units, COMPARED)
        units.sort(key=self._virtual_time)
        return self._affordable(units) if last else iter(units)

    def _affordable(self, units: Iterable[tuple[Host, Section | None]]) -> Iterator[tuple[Host, Section | None]]:
        """What comes last, and of all others the first that have a round each; at least one.

        One that was found to have nothing left to fetch needs none.
        """
        left, is_first = self._last_cost_left, True
        for unit in units:
            if self._judge.comes_last(*unit):
                yield unit
            elif is_first or left >= _to_be_told(*unit):
                yield unit
                if _has_work(*unit):
                    left -= _to_be_told(*unit)
                    is_first = False

    def to_be_probed(self, *, last: bool, but: Container[bytes] = ()) -> list[tuple[Host, Section | None]]:
        """All of these, in no order."""
        units = [unit for unit in self._judge.units_held(but) if _has_work(*unit)]
        if last:
            units += [(host, one) for host, unit in units if unit is None for one in self._sound(host)]
        return [unit for unit in units if self._may_be_probed(*unit, last=last)]

    def _sound(self, host: Host) -> list[Section]:
        """Sections of a demoted host that come last."""
        return [one for one in host.sections.values() if one.queued and self._judge.comes_last(host, one)]

    def _virtual_time(self, unit: tuple[Host, Section | None]) -> tuple[float, float]:
        """Fair queueing: what a unit has cost and how fast it grows, against the trust in its host.

        It is served in rounds, as fewer than `MEASURED` fetches say nothing of an end: the probes that 20 large sites
        have together are enough for some of them, and each that is set free lets the crawl go on to the others.
        """
        host, section = unit
        trap = (section or host).trap
        trust: float = (self._judge.graph.trust(host.key) + LEAST_TRUST) ** TRUST_POWER
        rounds = trap.cost // MEASURED
        return (rounds * MEASURED + 1) * trap.novelty / trust, -trap.cost

    def _may_be_probed(self, host: Host, section: Section | None, *, last: bool) -> bool:
        """Whether a unit is worth a probe while better waits; or, `last`, when nothing but demoted units is left."""
        unit = section or host
        if last and self._last_stage.is_wanted(host):
            return False
        if self._judge.comes_last(host, section) or not last:
            return self._judge.comes_last(host, section) == last
        return unit.trap.cost < self._judge.first_probes + unit.trap.tried and self._last_cost_left > 0

    @property
    def _last_cost_left(self) -> float:
        """What demoted units may still cost when nothing else is left."""
        judge = self._judge
        return judge.first_probes + judge.options.last_probes * judge.fetches - judge.cost

    def left(self, units: Sequence[tuple[Host, Section | None]]) -> int:
        """How many more fetches of `units` there may be when nothing else is left, if all of them grow on."""
        judge, options, fetches = self._judge, self._judge.options, self._judge.fetches
        capped = (options.first_probes + options.last_probes * fetches - judge.cost) / (1 - options.last_probes)
        small = LEAST_PROBES + fetches / PROBES_DIVISOR + options.last_probes * fetches - judge.cost
        most = max(0, ceil(min(capped, small / (1 - options.last_probes - 1 / PROBES_DIVISOR))))
        first = min(options.first_probes, LEAST_PROBES + (fetches + most) // PROBES_DIVISOR)
        traps = [(section or host).trap for host, section in units]
        return min(most, sum(max(0, ceil(first + trap.tried - trap.cost)) for trap in traps))

    def sections_of(self, host: Host, section: Section | None) -> Iterable[Section]:
        """Of a unit's sections those that a probe may take, in a random order weighed by what waits."""
        if section is not None:
            return (section,)
        queued = [s for s in host.sections.values() if s.queued]
        waiting = [s for s in queued if not s.is_requisites] or queued
        fair = [s for s in waiting if not s.trap.demoted] or [s for s in waiting if not s.trap.is_left]
        return sorted(fair, key=lambda s: self._judge.random.random() ** (1 / s.queued), reverse=True)


def _to_be_told(host: Host, section: Section | None) -> float:
    """What a demoted unit costs yet until it has been measured again."""
    return MEASURED - (section or host).trap.cost % MEASURED


def _has_work(host: Host, section: Section | None) -> bool:
    """Whether URLs of a demoted unit wait that no person has blocked, no rule joins and no drought holds back."""
    if (section or host).trap.is_left:
        return False
    if section is not None:
        return section.queued > 0
    return any(s.queued and not s.trap.is_left for s in host.sections.values())
