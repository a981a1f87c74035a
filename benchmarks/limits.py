"""Small clusters with `max_pages` under random kills, pauses and a Redis that is held up: do all end, none above it?

    python benchmarks/limits.py --runs 100 --seed 1

Every run is a crawl of a made-up web by two workers or three. The limit and what happens to them come from its seed:
workers are killed and started again, or killed for good (and started again only when the others have ended), stopped
for less or more than their leases last, and Redis is held up. A line for each run, and the figures. The exit code is
1 if a crawl did not end, stored more than the limit, or less although there is more.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "helpers"), str(PROJECT)]

from fleet import web_of  # noqa: E402
from limited import Result, attack  # noqa: E402
from redis_servers import server  # noqa: E402


def figures(results: list[Result]) -> str:
    ended = sum(result.ended for result in results)
    over = [result.fetched - result.limit for result in results if result.is_over]
    short = sum(result.ended and result.is_short for result in results)
    failed = sum(any(result.codes) for result in results)
    longest = max((result.seconds for result in results if result.ended), default=0.0)
    faults = sum(len(result.faults) for result in results)
    return (
        f"{len(results)} runs, {faults} faults: {ended} ended ({longest:.1f} s after the last fault, at most), "
        f"{len(over)} above the limit (by {max(over, default=0)} at most), {short} ended short of it, "
        f"{failed} with an exit code that is not 0"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--faults", type=int, default=5, help="of a run, at most")
    parser.add_argument("--workers", type=int, default=3, help="of a run, at most")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--limits", type=int, nargs=2, default=(20, 200), metavar=("LEAST", "MOST"))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    results = []
    with server() as started, web_of(arguments.pages) as web:
        for number in range(arguments.runs):
            with tempfile.TemporaryDirectory(prefix="limits-") as name:
                seed = arguments.seed + number
                drawn = {"faults": arguments.faults, "limits": tuple(arguments.limits)}
                results.append(attack(arguments.workers, Path(name), started, web.url(0), seed, **drawn))
            print(results[-1], flush=True)
    print(figures(results))
    sys.exit(any(not r.ended or r.is_over or r.is_short or any(r.codes) for r in results))


if __name__ == "__main__":
    main()
