"""What the frontier judges worth a fetch: content over fetches, on recorded sites, beside traps, and where none are.

    python benchmarks/judgement.py --seed 7 --policies aopic --update docs/design/order.md
    python benchmarks/judgement.py --only drupal,maze --policies aopic,bfs
    python benchmarks/judgement.py --seed 2026 --ablate --jobs 2
    python benchmarks/judgement.py --only dokuwiki,phpbb,drupal --choose sitecrawl.frontier.urls.worth.POWER=4,8,16
    python benchmarks/judgement.py --only recorded --policies aopic,cluster-4,cluster-16 --budget 1 --shares
    python benchmarks/judgement.py --only phpbb --set min_fetches=30 --set sitecrawl.frontier.urls.worth.POWER=4

Webs: the recorded sites in `--webs` (`recorded.py`); a good site beside a trap of every kind, in a folder of its
own, on another host of its domain, and on a foreign one (`traps.py`, drawn from `--seed`); large sites of one shape
of URL, alone and beside a good one in these places (`large.py`); sites without traps; and as one web `--copies`
copies of each recorded site (`copied.py`), which is large, and crawled if `--only` names it. Each is crawled alone,
from one seed (from one of each copy), by every policy: `aopic` is the default order, `cluster-4` that of four
workers, each with a part of the sites, `published` AOPIC as it was published, `oracle` knows every page before it is
fetched. A crawl ends by itself, or when its budget is spent: `--budget` times as many fetches as there is content.
Without `--budget` that is four times on recorded and large sites, on others thirty, but at least 3,000.

The columns: content; the percentage of it that is in after 0.5, 1, 1.5, 2 and 3 times as many fetches; fetches
until 90, 95, 99 and 100% are in; fetches at the end, `+` where it had none; the percentage that went to traps, or
to pages that were there before under another URL; the most hosts and sections in memory; MB by which the process
grew; ms of the processor a fetch, without the making of pages.

With `--shares` they are others: of the first 25, 50 and 100% of the budget the percentage that went to traps, and
the percentage of the content that was in by then.

`--set` sets a field of `TrapOptions`, or a constant by its dotted name, so that parameters can be chosen on some webs
and reported on others. `--choose`, once or more, takes several values of one, each of which is tried while all others
stay as they are, and reports on each web what is chosen on the others (`crossvalidation.py`). `--ablate` crawls all
webs in the default order without one part of it at a time, for three times as many fetches as there is content if no
budget is given, and prints a table, a row for each part; `--ablate circles,holding` takes only the parts whose names
begin so (`ablation.py`). `--only` takes the webs whose names contain one of these, such as `trap:` or `maze@folder`;
`--list` prints the names.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final

import ablation
import crossvalidation
from copied import Copies
from figures import update
from generated import Forum, Pagination, Shop, Wiki
from large import NAMES, WHERE, Large
from madeup import Beside, Lab, NoIndex, OneBody
from outcome import Outcome
from recorded import Recorded
from traps import KINDS
from webreplay import CHECKPOINT_EVERY, POLICIES, Conditions, crawl
from webs import Generated, Web

from sitecrawl.frontier.urls.options import TrapOptions

TIMES: Final = (0.5, 1.0, 1.5, 2.0, 3.0)
SHARES: Final = (0.9, 0.95, 0.99, 1.0)
SPENT: Final = (0.25, 0.5, 1.0)
COPIES: Final = "recorded:"
LEAST_BUDGET: Final = 3000
LARGE_BUDGET: Final = 4.0
DEFAULT: Final = TrapOptions()
PROJECT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Entry:
    """A web of the benchmark, which is made when it is crawled."""

    name: str
    make: Callable[[], Web]
    budget: float = 30.0
    """Fetches per content."""


def entries(seed: int, webs: Path, size: float, copies: int) -> list[Entry]:
    recorded = sorted(webs.glob("*.tsv.gz"))
    found = [Entry(path.name.partition(".")[0], partial(Recorded, path), LARGE_BUDGET) for path in recorded]
    found += [
        Entry(f"trap:{kind.name}@{place}", partial(Beside, kind, place, seed, int(300 * size)))
        for kind in KINDS
        for place in kind.places
    ]
    found += [
        Entry(f"large:{name}@{place}".rstrip("@"), partial(Large, name, place, seed, size), LARGE_BUDGET)
        for name in NAMES
        for place in WHERE
    ]
    found += [Entry(f"plain:{name}", make) for name, make in _plain(seed, size)]
    return [*found, Entry(f"{COPIES}{copies}", partial(Copies, webs, copies), LARGE_BUDGET)]


def _plain(seed: int, size: float) -> Iterator[tuple[str, Callable[[], Web]]]:
    pages = int(4000 * size)
    yield "noindex", lambda: NoIndex(pages)
    yield "one body", lambda: OneBody(pages)
    yield "pagination", lambda: Generated(Pagination(pages // 20))
    yield "shop", lambda: Generated(Shop(pages))
    yield "forum", lambda: Generated(Forum(pages // 4))
    yield "wiki", lambda: Generated(Wiki(pages // 8))
    yield "lab", lambda: Lab(seed, hosts=20, pages=int(40 * size))


# One crawl, in a process of its own, so that none grows on what another has left


@dataclass(frozen=True)
class Task:
    entry: Entry
    conditions: Conditions
    """But for the budget."""
    budget: float
    """Fetches per content; 0 for the usual budget of its web."""
    without: str = ablation.NOTHING
    """One of `ablation.PARTS`."""
    setting: str = ""
    """What else is set: see `overridden`."""

    def run(self) -> Outcome:
        web = self.entry.make()
        usual = max(LEAST_BUDGET, int(self.entry.budget * web.contents()))
        budget = int(self.budget * web.contents()) or usual
        traps = overridden([self.setting] if self.setting else [], self.conditions.traps)
        conditions = ablation.PARTS[self.without](replace(self.conditions, budget=budget, traps=traps))
        with tempfile.TemporaryDirectory(prefix="judgement-") as directory:
            outcome = crawl(web, conditions, Path(directory) / "crawl")
        outcome.web = self.entry.name
        return outcome


_TASKS: list[Task] = []
"""Inherited by the processes, as what makes a web cannot be sent to them."""


def _run(number: int) -> Outcome:
    return _TASKS[number].run()


def outcomes(todo: Sequence[Task], jobs: int) -> Iterator[Outcome]:
    _TASKS[:] = todo
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap(_run, range(len(todo)), chunksize=1)


# Parameters


def overridden(settings: Sequence[str], traps: TrapOptions = DEFAULT) -> TrapOptions:
    """Sets what is named by a dotted name; returns the options with what is named as a field of them."""
    for setting in settings:
        name, _, text = setting.partition("=")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        if name in {field.name for field in fields(TrapOptions)}:
            traps = replace(traps, **{name: value})
        else:
            _assign(name, value)
    return traps


def _assign(name: str, value: object) -> None:
    owner_name, _, attribute = name.rpartition(".")
    owner = _resolved(owner_name)
    if owner is None or not hasattr(owner, attribute):
        sys.exit(f"--set {name}: neither a field of TrapOptions nor a constant by its dotted name")
    before = getattr(owner, attribute)
    modules = [one for name, one in sys.modules.items() if name.startswith("sitecrawl.")]
    for one in (owner, *(one for one in modules if vars(one).get(attribute) == before)):  # those that import it
        setattr(one, attribute, value)


def _resolved(name: str) -> object | None:
    """A module, or a class in one."""
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError):
        module, _, attribute = name.rpartition(".")
        return getattr(_resolved(module), attribute, None) if module else None


# The table

_HEADS = ("web", "policy", "content", *(f"{t:g}x%" for t in TIMES), *(f"{s:.0%}" for s in SHARES), "fetches", "trap%",
          "hosts", "sect", "MB", "ms")  # fmt: skip
_WIDTHS = (34, 9, 7, *(5,) * len(TIMES), *(6,) * len(SHARES), 7, 5, 5, 6, 5, 6)


def header() -> str:
    return _aligned(_HEADS)


def line(outcome: Outcome) -> str:
    until = [outcome.until(share) for share in SHARES]
    cells = [outcome.web, outcome.policy, str(outcome.contents)]
    cells += [f"{100 * outcome.after(times):.1f}" for times in TIMES]
    cells += ["-" if fetches is None else str(fetches) for fetches in until]
    cells += [f"{outcome.fetched}{'' if outcome.ended else '+'}", f"{100 * outcome.traps / outcome.fetched:.1f}"]
    cells += [str(outcome.hosts), str(outcome.sections), f"{outcome.grown / 1e6:.0f}"]
    cells += [f"{1000 * outcome.seconds / outcome.fetched:.2f}"]
    return _aligned(cells)


def shares_header() -> str:
    return _aligned(["web", "policy", "content", *(f"{head}{share:.0%}" for share in SPENT for head in ("t", "c"))])


def shares_line(outcome: Outcome) -> str:
    cells = [outcome.web, outcome.policy, str(outcome.contents)]
    for spent in SPENT:
        cells += [f"{100 * share:.1f}" for share in outcome.at(int(spent * outcome.fetched))]
    return _aligned(cells)


def _aligned(cells: Sequence[str]) -> str:
    first = [cell.ljust(width) for cell, width in zip(cells[:2], _WIDTHS[:2], strict=True)]
    return " ".join(first + [cell.rjust(width) for cell, width in zip(cells[2:], _WIDTHS[2:], strict=False)])


def figures(outcome: Outcome) -> dict[str, object]:
    found = {
        name: value for name, value in asdict(outcome).items() if name not in {"arrivals", "wasted", "known", "met"}
    }
    found["traps"] = outcome.traps
    found["in_after"] = {f"{times:g}": outcome.after(times) for times in TIMES}
    found["fetches_until"] = {f"{share:g}": outcome.until(share) for share in SHARES}
    found["in"] = len(outcome.arrivals)
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--webs", type=Path, default=PROJECT.parent / "shared" / "data" / "webs")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--budget", type=float, default=0.0, help="fetches per content")
    parser.add_argument("--shares", action="store_true", help="see above")
    parser.add_argument("--copies", type=int, default=8, help="of each recorded site")
    parser.add_argument(
        "--checkpoint", type=int, default=CHECKPOINT_EVERY, help="fetches of a worker between two checkpoints"
    )
    parser.add_argument("--at-once", type=int, default=1, help="pages under way at once")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=VALUE,VALUE", help="see above")
    parser.add_argument("--no-rules", action="store_true", help="learn nothing about what in URLs chooses content")
    parser.add_argument("--ablate", nargs="?", const="", metavar="PARTS", help="see above")
    parser.add_argument("--quick", action="store_true", help="made-up webs are a quarter as large")
    parser.add_argument("--jobs", type=int, default=1, help="crawls at once")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--update", type=Path, metavar="FILE", help="put the figures of `aopic` into its tables")
    parser.add_argument("--list", action="store_true", help="print the names of all webs")
    return parser.parse_args()


def tasks(arguments: argparse.Namespace, chosen: Sequence[Entry]) -> list[Task]:
    traps = overridden(arguments.set)
    common = traps, arguments.checkpoint, not arguments.no_rules, arguments.at_once
    return [
        Task(entry, Conditions(policy, 0, *common), arguments.budget)
        for entry in chosen
        for policy in arguments.policies.split(",")
    ]


def without(parts: Sequence[str], todo: Sequence[Task]) -> list[Task]:
    """The same under the default order, without each of the parts in turn."""
    chosen = [part for part in ablation.PARTS if part.startswith(tuple(parts))]
    if not chosen:
        sys.exit(f"--ablate {','.join(parts)}: no part has such a name; there are {', '.join(ablation.PARTS)}")
    default = [task for task in todo if task.conditions.policy == "aopic"]
    return [replace(task, without=part, budget=task.budget or ablation.TIMES) for part in chosen for task in default]


def compare(todo: Sequence[Task], jobs: int, done: Report) -> None:
    """Print the table of what each part is good for, a row when all crawls without it are done."""
    recorded = list(dict.fromkeys(task.entry.name for task in todo if ":" not in task.entry.name))
    print(ablation.heading(recorded))
    found = outcomes(todo, jobs)
    for part, alike in groupby(todo, key=attrgetter("without")):
        crawls = [done.add(outcome, without=part) for _, outcome in zip(alike, found, strict=False)]
        print(ablation.row(part, crawls, recorded), flush=True)


def choose(choices: Sequence[str], todo: Sequence[Task], jobs: int, done: Report) -> None:
    """Print what each value does on each web, and what would be chosen without it."""
    given = [choice.partition("=")[::2] for choice in choices]
    settings = ["", *(f"{name}={value}" for name, values in given for value in values.split(","))]
    webs = list(dict.fromkeys(task.entry.name for task in todo))
    if len(webs) < 2:
        sys.exit("--choose needs two webs at least: see --only")
    tried = [replace(task, setting=setting) for setting in settings for task in todo]
    crawls: dict[str, dict[str, Outcome]] = {}
    for task, outcome in zip(tried, outcomes(tried, jobs), strict=True):
        name, _, value = task.setting.partition("=")
        named = f"{name.rpartition('.')[2]}={value}" if name else "as it is"
        crawls.setdefault(named, {})[outcome.web] = done.add(outcome, setting=named)
    print(crossvalidation.table(crawls))


class Report:
    """Writes what is known so far to a file, if one is wanted."""

    def __init__(self, path: Path | None, **given: object) -> None:
        self._path = path
        self._given = given
        self._crawls: list[dict[str, object]] = []

    def add(self, outcome: Outcome, **how: object) -> Outcome:
        self._crawls.append({**how, **figures(outcome)})
        if self._path:
            self._path.write_text(json.dumps({**self._given, "crawls": self._crawls}, indent=1))
        return outcome


def main() -> None:
    arguments = parse()
    every = entries(arguments.seed, arguments.webs, 0.25 if arguments.quick else 1.0, arguments.copies)
    named = arguments.only.split(",")
    chosen = [entry for entry in every if any(part in entry.name for part in named)]
    if "" in named and not arguments.list:
        chosen = [entry for entry in chosen if not entry.name.startswith(COPIES)]
    if not chosen:
        sys.exit(f"--only {arguments.only}: no web has such a name; --list prints them all")
    if arguments.list:
        print(*(entry.name for entry in chosen), sep="\n")
        return
    print(f"seed {arguments.seed}", *arguments.set)
    done = Report(arguments.json, seed=arguments.seed, set=arguments.set, quick=arguments.quick)
    todo = tasks(arguments, chosen)
    if arguments.ablate is not None:
        compare(without(arguments.ablate.split(","), todo), arguments.jobs, done)
        return
    if arguments.choose:
        default = [task for task in todo if task.conditions.policy == "aopic"]
        choose(arguments.choose, default, arguments.jobs, done)
        return
    head, row = (shares_header, shares_line) if arguments.shares else (header, line)
    print(head())
    for outcome in outcomes(todo, arguments.jobs):
        print(row(done.add(outcome)), flush=True)
        if arguments.update and outcome.policy == "aopic":
            update(arguments.update, [outcome])


if __name__ == "__main__":
    main()
