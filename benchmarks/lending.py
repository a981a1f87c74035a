"""How much of what workers could fetch is lost as one has nothing left to fetch while others have.

    python benchmarks/lending.py

A model, without chance and clock: sites of equal or of different sizes lie in partitions as their names' hashes say,
and each worker fetches a page in a tick, from one of the sites in its partitions (`benchmarks/cluster.py` has no such
limit: its workers share a core). Partitions are shared by number alone, or also lent to who has nothing left
(`cluster.standing.lender`, `cluster.lending`): then one partition moves in so many ticks. *Lost* is the part of all
workers' ticks, until the last page, in which they fetched nothing; *moved* are the partitions that were lent.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PROJECT)]

from sitecrawl.cluster.standing import lender  # noqa: E402
from sitecrawl.frontier.urls.territory import Territory  # noqa: E402
from sitecrawl.urls.fingerprint import Fingerprinter  # noqa: E402

TICKS = 100
"""Between two loans: as many pages as a worker fetches in a second or two."""
CRAWLS = 50
"""Crawls of other sites, of which the mean is taken."""


def lost(sizes: Sequence[int], partitions: int, workers: int, crawl: int, *, lends: bool) -> tuple[float, int]:
    """The part of the ticks that is lost, and the partitions that were lent."""
    region = Fingerprinter(bytes(16)).region
    left = [0] * partitions
    for site, size in enumerate(sizes):
        left[Territory(partitions, {}).partition(region(f"site{site}-{crawl}.example"))] += size
    holder = [f"{partition * workers // partitions}" for partition in range(partitions)]
    names = [f"{worker}" for worker in range(workers)]
    tick = moved = 0
    while any(left):
        tick += 1
        for name in names:
            waiting = [partition for partition in range(partitions) if holder[partition] == name and left[partition]]
            if waiting:
                left[waiting[tick % len(waiting)]] -= 1
        if lends and tick % TICKS == 0:
            busy = Counter(name for name, pages in zip(holder, left, strict=True) if pages)
            if giver := lender(busy, names):
                given = max(one for one in range(partitions) if holder[one] == giver and left[one])
                holder[given] = min(names, key=lambda name: busy[name])
                moved += 1
    return 1 - sum(sizes) / (workers * tick), moved


def main() -> None:
    print("| sites | workers, partitions | lost by number | lost if lent | moved |\n|---|---|---|---|---|")
    crawls = {
        "12, equal": [1_000] * 12,
        "12, 200 to 2,400 pages": [200 * (1 + site) for site in range(12)],
        "100, equal": [120] * 100,
    }
    for what, sizes in crawls.items():
        for workers, partitions in ((2, 16), (4, 16), (4, 64)):
            cells = []
            for lends in (False, True):
                found = [lost(sizes, partitions, workers, crawl, lends=lends) for crawl in range(CRAWLS)]
                cells.append([sum(values) / CRAWLS for values in zip(*found, strict=True)])
            (by_number, _), (if_lent, moved) = cells
            print(f"| {what} | {workers}, {partitions} | {by_number:.1%} | {if_lent:.1%} | {moved:.1f} |", flush=True)


if __name__ == "__main__":
    main()
