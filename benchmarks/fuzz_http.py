"""Attacks the HTTP client over real sockets: good responses in every form, bad ones, and what has no end.

    python benchmarks/fuzz_http.py --minutes 10 --seed 7

Prints how many cases there were and how they ended, failures, the most memory that the process had, and the longest
time for which the client's loop was stopped: by the clock, which others on the machine make longer, and of its own
work. The cases are those of tests/hostile, which tries the first of them. A failure is a good response that did not
come as it was sent, an exception that is not the client's own, more bytes than its limits allow, or no end. It exits
with 1 if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

PROJECT = Path(__file__).parent.parent
sys.path[:0] = [str(PROJECT / "tests" / "hostile"), str(PROJECT)]

from http_attack import Attack  # noqa: E402
from http_cases import Case, cases  # noqa: E402


def for_minutes(minutes: float, seed: int) -> Iterator[Case]:
    end = time.monotonic() + 60 * minutes
    return takewhile(lambda _: time.monotonic() < end, cases(seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    attack = Attack()
    asyncio.run(attack.run(for_minutes(arguments.minutes, arguments.seed)))
    for outcome, number in sorted(attack.outcomes.items()):
        print(f"{number:>10,}  {outcome}")
    print("\n".join(attack.failures[:20]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{attack.outcomes.total():,} cases, {len(attack.failures)} failures, at most {peak} MB, "
        f"loop stopped for {attack.longest_stop:.3f} s at most, {attack.longest_work:.3f} s of them its own work"
    )
    sys.exit(bool(attack.failures))


if __name__ == "__main__":
    main()
