"""Breaks the machine under running crawls: descriptors, memory, disk, clock, names, network, web server, process.

    python benchmarks/faults.py --count 100 --seed 7 --crawls 10

Spreads so many faults over so many crawls of a local web, each at a random moment, and resumes a crawl that ends for
one. In the end every page has to be stored, and once, `check-crawl` has to find nothing, and no crawl may have ended
with an exit code that no fault of it explains. A line says for each kind how many there were, how many of them ended
the crawl, the pages that were lost or stored twice in crawls with it, tracebacks in the log, and the seconds after a
fault until the next page was asked for, at the most. The exit code is 1 where something is wrong; tracebacks of
`MemoryError` are counted only.

Network and disk are broken where `unshare` may make namespaces; without, these two kinds are left out. The faults of
a crawl are those of tests/hostile, by `--seed` plus its number.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
HOSTILE = PROJECT / "tests" / "hostile"
sys.path[:0] = [
    str(path) for path in (HOSTILE, PROJECT / "tests/helpers", PROJECT / "tests/helpers/spiders", PROJECT)
]

from fault_cases import FAULTS, own_machine  # noqa: E402

HEAD = """| fault | how many | ended the crawl | pages lost | stored twice | tracebacks | went on after, at most |
|---|---|---|---|---|---|---|"""


def attack(seed: int, count: int, kinds: Sequence[str]) -> dict[str, Any]:
    """The `Result` of one crawl."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        words = [
            *own_machine(),
            sys.executable,
            str(HOSTILE / "fault_attack.py"),
            folder,
            str(seed),
            str(count),
            *kinds,
        ]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def rows(results: Sequence[dict[str, Any]]) -> None:
    print(HEAD)
    for kind in FAULTS:
        of = [result for result in results if result["records"].get(kind, {}).get("count")]
        records = [result["records"][kind] for result in of]
        count, ended, tracebacks = (
            sum(record[name] for record in records) for name in ("count", "ended", "tracebacks")
        )
        lost, twice = (sum(len(result[name]) for result in of) for name in ("lost", "twice"))
        longest = max((record["longest"] for record in records), default=0.0)
        print(f"| {kind} | {count} | {ended} | {lost} | {twice} | {tracebacks} | {longest:.1f} s |")


def failures(result: dict[str, Any]) -> list[str]:
    named = [
        f"seed {result['seed']}: {what}" for kind in ("problems", "wrong", "tracebacks") for what in result[kind]
    ]
    return [*named, *(f"seed {result['seed']}: {url} {how}" for how in ("lost", "twice") for url in result[how])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="faults in all")
    parser.add_argument("--crawls", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--kinds", nargs="*", default=[], choices=list(FAULTS), metavar="KIND", help=", ".join(FAULTS)
    )
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    results = []
    for number in range(arguments.crawls):
        share = arguments.count // arguments.crawls + (number < arguments.count % arguments.crawls)
        results.append(attack(arguments.seed + number, share, arguments.kinds))
        print("\n".join(failures(results[-1])), file=sys.stderr, flush=True)
    rows(results)
    wants = {
        name: sum(result["wants"].get(name, 0) for result in results)
        for result in results
        for name in result["wants"]
    }
    print(f"{sum(result['pages'] for result in results):,} pages; {wants}")
    sys.exit(any(map(failures, results)))


if __name__ == "__main__":
    main()
