"""In words: why a host or a section is held back, by the numbers that the judge went by."""

from __future__ import annotations

from sitecrawl.base.display import counted
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.options import ENOUGH
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason


def explain(unit: Host | Section, fetches: int) -> str:
    """Why a unit is demoted, in words, after `fetches` of the crawl; of what is not, whether a person set it free."""
    trap = unit.trap
    if trap.reason == Reason.VOUCHED:
        return "set free by hand: it will not be demoted again"
    if not trap.demoted:
        return ""
    numbers = f"{counted(unit.known, 'URL')} known, {unit.fetched:,} fetched, {unit.good:,} good"
    if isinstance(unit, Section):
        numbers += f", {unit.known - unit.own:,} first seen elsewhere"
    if trap.reason == Reason.BLOCKED:
        return f"blocked by hand at fetch {trap.since:,} of {fetches:,} ({numbers})"
    if trap.reason == Reason.FULL:
        return f"{counted(unit.fetched, 'page')} fetched, as many as its sheet allows ({numbers})"
    if trap.reason == Reason.JOINED:
        waiting = f"{unit.queued:,} of {unit.known:,} URLs wait"
        return f"other forms of pages that were fetched, joined since fetch {trap.since:,} of {fetches:,} ({waiting})"
    return f"demoted since fetch {trap.since:,} of {fetches:,}: {_sign(unit)} ({numbers})"


def _sign(unit: Host | Section) -> str:
    """What a unit was demoted for, with the figures that decided."""
    trap = unit.trap
    if isinstance(unit, Section) and trap.reason == Reason.WORTHLESS:
        return f"{unit.recent:.0%} of its last pages were worth having"
    growth = f"every page of it brings {trap.novelty:.1f} new ones"
    if trap.reason == Reason.DRY:
        return f"{growth}, and hardly one of its host said anything new"
    if isinstance(unit, Host):
        return f"{growth}, and it has outgrown what the seeds' sites vouch for"
    links = f"of the links to it {trap.then:.0%} were the first to their URL"
    if trap.links >= ENOUGH:
        links += f" ({trap.share:.0%} since then)"
    good = unit.successes / unit.trials if unit.trials else 0.0
    lately = f"{good:.0%} of its last pages were good"
    return f"{growth}, {links}, {lately}" + (", and it has had its share beside the rest" if unit.gives else "")
