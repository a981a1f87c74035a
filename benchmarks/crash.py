"""Kills crawls of a local web at random moments, and counts what that costs: here, in Scrapy and in scrapy-redis.

    python benchmarks/crash.py --kills 100
    python benchmarks/crash.py --kills 12 --peers

Every crawler follows all links of the same web, which a process of its own serves and counts. It is killed with
SIGKILL so many times and started again with the same command. Most kills come at a random moment of its work, a
tenth while it starts; a crawl that ends before its moment is not counted as killed. At last it may end. A line says
how many pages were never stored, how many are stored more than once, and how many were asked for again after a kill:
in all, in the mean, and at the most.

Of our crawl, `check-crawl` then has to say that it is sound. The exit code is 1 if it does not, or if a page was
lost, stored twice, or more than a checkpoint of pages was fetched again after a kill.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

PROJECT = Path(__file__).resolve().parent.parent
HELPERS = PROJECT / "tests" / "helpers"
sys.path[:0] = [str(HELPERS), str(PROJECT)]

from killing import CONCURRENCY, Crawler, Losses, ScrapyRedis, Sitecrawl, Stock, redis_server, survive, web_of  # noqa: E402

from sitecrawl.crawl.checkpoints import PAGES_PER_CHECKPOINT  # noqa: E402
from sitecrawl.plugins.checking.crawl import check  # noqa: E402

HEAD = """| crawler | pages of the web | kills | URLs lost | stored twice | asked for again | mean a kill | at most |
|---|---|---|---|---|---|---|---|"""


def attack(crawler: Crawler, arguments: argparse.Namespace) -> Losses:
    """Kill and resume, on a web of its own; prints a line."""
    begun = time.monotonic()
    with web_of(arguments.pages, arguments.latency) as web:
        losses = survive(crawler, web, arguments.kills, Random(arguments.seed), arguments.longest)
    again = losses.again
    print(
        f"| {losses.crawler} | {losses.pages:,} | {losses.kills} | {losses.lost:,} | {losses.twice:,} "
        f"| {sum(again):,} | {sum(again) / max(losses.kills, 1):.1f} | {max(again, default=0):,} |",
        flush=True,
    )
    if losses.error:
        print(f"{losses.crawler} did not end: {losses.error}", file=sys.stderr)
    print(f"{losses.crawler}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return losses


def is_sound(losses: Losses, job: Path) -> bool:
    report = check(job)
    for problem in report.problems:
        print(problem, file=sys.stderr)
    bound = PAGES_PER_CHECKPOINT + CONCURRENCY
    whole = not (losses.lost or losses.twice or losses.error)
    return whole and report.is_sound and max(losses.again, default=0) <= bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pages", type=int, default=6_000)
    parser.add_argument("--latency", type=float, default=0.008, help="seconds that the web takes for a page")
    parser.add_argument("--longest", type=float, default=1.6, help="seconds of work between two kills, at the most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", action="store_true", help="also Scrapy with JOBDIR, and scrapy-redis")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        print(HEAD, flush=True)
        places = [Path(folder) / name for name in ("ours", "stock", "redis")]
        for place in places:
            place.mkdir()
        # All pages say the same, so the site would dry up before all were stored.
        ours = Sitecrawl(places[0], {"SITECRAWL_HOLD_TRAPS": False})
        sound = is_sound(attack(ours, arguments), ours.job)
        if arguments.peers:
            attack(Stock(places[1]), arguments)
            with redis_server() as socket:
                attack(ScrapyRedis(places[2], socket), arguments)
    sys.exit(not sound)


if __name__ == "__main__":
    main()
