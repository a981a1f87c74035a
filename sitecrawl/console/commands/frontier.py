"""`scrapy frontier`: what waits, and what is held back as traps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

from sitecrawl.base.display import one_line
from sitecrawl.base.errors import OptionError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.listing import Layout, write
from sitecrawl.crawl import sharing
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.forms.rule_orders import order_rule
from sitecrawl.frontier.judge.held import HeldSet, Unit, name_of
from sitecrawl.frontier.reader import FrontierReader, KnownRule, KnownUrl, Site


def _url(url: KnownUrl) -> str:
    return f"{url.importance:>10.4g}  {url.depth:>5}  {url.status or '-':>6}  {url.state:<8}  {one_line(url.url)}"


def _site(site: Site) -> str:
    return f"{site.importance:>10.4g}  {site.pages:>11,}  {site.known:>11,}  {one_line(site.site)}"


def _unit(unit: Unit) -> str:
    numbers = f"{unit.waiting:>11,}  {unit.known:>11,}  {unit.fetched:>11,}  {unit.good:>11,}"
    reason = f"\n{' ' * 13}{unit.reason}" if unit.reason else ""
    return f"{numbers}  {unit.novelty:>7.2f}  {one_line(name_of(unit.host, unit.shape))}{reason}"


_MORE = f"\n{' ' * 13}"


def _held(held: HeldSet) -> str:
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


_ORDERS: Final = {
    State.ORDERED: ("--trust-rule", "declare a rule right, without tests"),
    State.REFUSED: ("--refuse-rule", "declare a rule wrong, and fetch what it joined"),
    State.CANDIDATE: ("--reset-rule", "forget what was declared about a rule, and its evidence"),
}
"""Options that set a rule's state by hand."""

_T = TypeVar("_T")


class Command(ListingCommand):
    """List the hosts and sections with waiting URLs, and what is held back as traps, and why. With --urls, list the
    URLs themselves, in their order. Works while the crawl runs.
    """

    summary = "List what waits to be fetched"
    formats = ("csv", "jsonl", "table")

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--host", help="only this host (with :port if it is not the scheme's own)")
        parser.add_argument("--demoted", action="store_true", help="only what is held back, with evidence and URLs")
        parser.add_argument(
            "--urls", action="store_true", help="list the waiting URLs, one a line; can serve as seeds"
        )
        parser.add_argument(
            "--rules", action="store_true", help="list what was learnt about URLs: which parts do not matter"
        )
        for state, (option, meaning) in _ORDERS.items():
            text = f"{meaning} (see --rules; the crawl must not be running)"
            parser.add_argument(option, metavar="ID", dest=state.name, help=text)

    def list(self, opts: argparse.Namespace) -> None:
        if orders := [(name, state) for state in _ORDERS if (name := getattr(opts, state.name))]:
            self._refuse_redis("What is said of a rule by hand")
            for name, state in orders:
                print(order_rule(self.directory(opts), name, state))
            return
        with self.crawl(opts) as directory, FrontierReader(directory) as reader:
            nothing = "nothing is held back" if opts.demoted else "nothing waits"
            if opts.rules:
                self._write(reader.rules(opts.host), RULES, opts, opts.format, "no rule is learnt")
            elif opts.urls:
                waiting = reader.waiting(opts.host, demoted=opts.demoted)
                self._write(waiting, URLS, opts, "urls" if opts.format == "table" else opts.format, nothing)
            elif opts.demoted:
                self._write(reader.held(opts.host), HELD, opts, opts.format, nothing)
            else:
                self._write(reader.units(opts.host), UNITS, opts, opts.format, nothing)

    def _write(
        self, rows: Iterable[_T], layout: Layout[_T], opts: argparse.Namespace, form: str, nothing: str
    ) -> None:
        """Write `rows`; say on stderr that there is `nothing` if there are none."""
        if not write(islice(rows, opts.limit), layout, sys.stdout, format=form):
            print(f"scrapy: {nothing}", file=sys.stderr)

    def _refuse_redis(self, option: str) -> None:
        if sharing.redis_of(self.settings) is not None:
            raise OptionError(f"{option} is for the crawl of one process: on a cluster nobody hears of it")
