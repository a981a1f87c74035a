"""In words: why a host or a section is held back, by the numbers that the judge went by."""

from __future__ import annotations

from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.sections import Section
from sitecrawl.frontier.trap_judge import CALM
from sitecrawl.frontier.trap_state import Reason, TrapState


def explain(unit: Host | Section, fetches: int) -> str:
    """Why a unit is demoted, in words, after `fetches` of the crawl; of what is not, whether a person set it free."""
    trap = unit.trap
    if trap.reason == Reason.VOUCHED:
        return "set free by hand: it will not be demoted again"
    if not trap.demoted:
        return ""
    numbers = f"{unit.known:,} URLs known, {unit.fetched:,} fetched, {unit.good:,} good"
    if isinstance(unit, Section):
        numbers += f", {unit.known - unit.own:,} first seen elsewhere"
    if trap.reason == Reason.BLOCKED:
        return f"blocked by hand at fetch {trap.since:,} of {fetches:,} ({numbers})"
    if trap.reason == Reason.FULL:
        return f"its {unit.fetched:,} pages are fetched, as many as its sheet allows ({numbers})"
    if trap.reason == Reason.JOINED:
        waiting = f"{unit.queued:,} of {unit.known:,} URLs wait"
        return f"other forms of pages that were fetched, joined since fetch {trap.since:,} of {fetches:,} ({waiting})"
    return f"demoted since fetch {trap.since:,} of {fetches:,}: {_sign(trap)} ({numbers})"


def _sign(trap: TrapState) -> str:
    """What a unit was demoted for."""
    if trap.reason == Reason.WORTHLESS:
        return "almost none of its last pages was worth having"
    if trap.reason == Reason.DRY:
        return f"every page of it brings {trap.novelty:.1f} new ones, and hardly one of its host said anything new"
    if trap.novelty < CALM:
        return "only what is held back as well leads there"
    news = f"every page of it brings {trap.novelty:.1f} new ones"
    return f"{news}, and it has outgrown what the seeds' sites vouch for"
