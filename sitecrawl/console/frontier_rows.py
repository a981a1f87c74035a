"""Rows of the frontier: URLs, sites, sections, what is held back, rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.frontier.judge.held import HeldSet, Unit, name_of
from sitecrawl.frontier.reader import KnownRule, KnownUrl, Site


def _url(url: KnownUrl) -> str:
    return f"{url.importance:>10.4g}  {url.depth:>5}  {url.status or '-':>6}  {url.state:<8}  {one_line(url.url)}"


def _site(site: Site) -> str:
    return f"{site.importance:>10.4g}  {site.pages:>11,}  {site.known:>11,}  {one_line(site.site)}"


def _unit(unit: Unit) -> str:
    """What is demoted, or set free by hand, has the reason in a line of its own."""
    numbers = f"{unit.waiting:>11,}  {unit.known:>11,}  {unit.fetched:>11,}  {unit.good:>11,}"
    reason = f"\n{' ' * 13}{unit.reason}" if unit.reason else ""
    return f"{numbers}  {unit.novelty:>7.2f}  {one_line(name_of(unit.host, unit.shape))}{reason}"


_MORE = f"\n{' ' * 13}"


def _held(held: HeldSet) -> str:
    """Lines of their own for the reason, and for each sample: what was fetched, and what waits."""
    numbers = f"{held.waiting:>11,}  {held.known:>11,}  {held.fetched:>11,}  {held.good:>11,}  {held.novelty:>7.2f}"
    elsewhere = "-" if held.elsewhere is None else f"{held.elsewhere:.0%}"
    came = [(str(one.status or "-"), "good" if one.good else "not good", one.url) for one in held.fetched_urls]
    lines = [
        f"{numbers}  {elsewhere:>9}  {one_line(name_of(held.host, held.shape))}",
        one_line(held.reason),
        *(f"fetched  {status:>3}  {worth:<8}  {one_line(url)}" for status, worth, url in came),
        *(f"waits{' ' * 17}{one_line(url)}" for url in held.waiting_urls),
    ]
    return _MORE.join(lines)


def _held_facts(held: HeldSet) -> Mapping[str, Any]:
    samples = [one._asdict() for one in held.fetched_urls]
    return {**held._asdict(), "fetched_urls": samples, "waiting_urls": list(held.waiting_urls)}


URLS: Final = Layout(
    f"{'importance':>10}  {'depth':>5}  {'status':>6}  {'state':<8}  url", _url, KnownUrl._fields, KnownUrl._asdict
)
SITES: Final = Layout(f"{'importance':>10}  {'pages':>11}  {'known':>11}  site", _site, Site._fields, Site._asdict)
UNITS: Final = Layout(
    "    waiting        known      fetched         good  novelty  host or section",
    _unit,
    Unit._fields,
    Unit._asdict,
)

HELD: Final = Layout(
    "    waiting        known      fetched         good  novelty  elsewhere  host or section",
    _held,
    HeldSet._fields,
    _held_facts,
)


def _rule(rule: KnownRule) -> str:
    numbers = f"{rule.waiting:>9,}  {rule.agreed:>7,}  {rule.differed:>7,}  {rule.tests:>7,}  {rule.failed:>6,}"
    return f"{rule.state:<9}  {numbers}  {one_line(rule.id)}: {one_line(rule.rule)}"


RULES: Final = Layout(
    f"{'state':<9}  {'waiting':>9}  {'agreed':>7}  {'against':>7}  {'tests':>7}  {'failed':>6}  rule",
    _rule,
    KnownRule._fields,
    KnownRule._asdict,
)
