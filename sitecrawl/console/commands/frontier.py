"""`scrapy frontier`: what waits, and what is held back as traps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import islice
from typing import Final, TypeVar

from sitecrawl.base.errors import OptionError
from sitecrawl.console.base_command import ListingCommand
from sitecrawl.console.frontier_rows import HELD, RULES, UNITS, URLS
from sitecrawl.console.listing import Layout, write
from sitecrawl.console.nothing import Counted
from sitecrawl.crawl import sharing
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.forms.rule_orders import order_rule
from sitecrawl.frontier.reader import FrontierReader

_ORDERS: Final = {
    State.ORDERED: ("--trust-rule", "declare a rule right, without tests"),
    State.REFUSED: ("--refuse-rule", "declare a rule wrong, and fetch what it joined"),
    State.CANDIDATE: ("--reset-rule", "forget what was declared about a rule, and its evidence"),
}
"""What a person may say of a rule, by the state that it makes of it."""

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
        some = Counted(islice(rows, opts.limit))
        write(some, layout, sys.stdout, format=form)
        if not some.number:
            print(f"scrapy: {nothing}", file=sys.stderr)

    def _refuse_redis(self, option: str) -> None:
        assert self.settings is not None
        if sharing.redis_of(self.settings) is not None:
            raise OptionError(f"{option} is for the crawl of one process: on a cluster nobody hears of it")
