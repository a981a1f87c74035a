"""Damages the files of crawls in every phase, and sees whether each is mended and ends complete.

    python benchmarks/damage.py --count 1000
    python benchmarks/damage.py --minutes 30 --seed 7
    python benchmarks/damage.py --first 500 --count 500
    python benchmarks/damage.py --seed 7 --crawls kept --only 189

A crawl of a small local site is made in each phase: young (all in the log), half done, paused, finished, with many
WARC files, recrawled. Each attack takes a copy of one and damages one or two of its files at random: a bit flips, the
end is cut or lengthened, a block is zero, a file is empty or gone, two change places. Then it reads, starts, checks,
repairs and resumes the crawl: `tests/hostile/attack.py` says what has to hold. A line tells of every attack that
succeeds, with its number: `--only` makes that one again. The exit code is 1 if one does.

No two crawls are the same: times, ports and the order of answers are in their files. So `--crawls` keeps them in a
directory, and takes them from there when it is named again: then the same number damages the same bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "hostile"), str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from attack import Outcome, attack  # noqa: E402
from victims import PHASES, range_in  # noqa: E402

HEAD = """| phase | attacks | noticed by the check | named, not mended | faults |
|---|---|---|---|---|"""


def main() -> int:
    arguments = parsed()
    phases = arguments.phases.split(",") if arguments.phases else list(PHASES)
    with (
        tempfile.TemporaryDirectory(prefix="damage") as folder,
        range_in(Path(folder) / "range", arguments.crawls) as at,
    ):
        for phase in phases:
            at.begin(phase)
        outcomes = list(told(arguments, lambda number, seed: attack(at, phases[number % len(phases)], seed)))
    print(HEAD)
    for phase in phases:
        print(row(phase, [outcome for outcome in outcomes if outcome.phase == phase]))
    print(row("all", outcomes))
    return int(any(outcome.faults for outcome in outcomes))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000, help="how many attacks (default: 1000)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so long, whatever the count")
    parser.add_argument("--seed", default="1", help="decides what is done (default: 1)")
    parser.add_argument("--phases", help=f"only these, separated by commas (default: {','.join(PHASES)})")
    parser.add_argument("--first", type=int, default=0, help="the number of the first attack (default: 0)")
    parser.add_argument("--crawls", type=Path, help="where the crawls are kept, or are from an earlier call")
    parser.add_argument("--only", type=int, nargs="+", help="the attacks of these numbers alone")
    return parser.parse_args()


def told(arguments: argparse.Namespace, attacked: Callable[[int, str], Any]) -> Iterator[Any]:
    """The outcomes, one after the other; what succeeds and what cannot be mended is told as it comes."""
    ends = time.monotonic() + arguments.minutes * 60
    for number in arguments.only or range(arguments.first, arguments.first + arguments.count):
        if time.monotonic() > ends:
            return
        outcome = attacked(number, f"{arguments.seed} {number}")
        if outcome.faults:
            print(f"attack {number}: {outcome}", flush=True)
        elif outcome.named:
            print(f"attack {number} is named: {outcome}{outcome.named[0]}", flush=True)
        yield outcome


def row(phase: str, outcomes: Sequence[Outcome]) -> str:
    counted = Counter[str]()
    for outcome in outcomes:
        counted["noticed"] += outcome.was_noticed
        counted["named"] += bool(outcome.named)
        counted["faults"] += bool(outcome.faults)
    return f"| {phase} | {len(outcomes):,} | {counted['noticed']} | {counted['named']} | {counted['faults']} |"


if __name__ == "__main__":
    sys.exit(main())
