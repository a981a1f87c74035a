"""How fresh a crawl keeps its copies: by what was observed of each page, against a fixed interval for all.

    python benchmarks/recrawl.py --pages 2000 --days 60 --budget 500

A simulated site with a simulated clock: pages change at random, at rates between several times a day and hardly ever
(log-uniform), and are asked for by sitecrawl's own schedule and store (`sitecrawl.plugins.recrawl`, in a RocksDB), or
all in turn. Importance follows a power law. Every policy has the same budget of requests; what comes after the first
third of the time, in which the rates are learnt, is reported apart.

What is printed, for each policy: requests a day; *freshness*, the share of pages, weighed by importance and not,
whose copy is what the site has, averaged over the time; and for how many hours on average a copy had been stale when
it was renewed.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp
from pathlib import Path
from random import Random

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.plugins.recrawl.schedule import DAY, RecrawlOptions, Visits
from sitecrawl.plugins.recrawl.store import RevisitStore

FASTEST, SLOWEST = 8.0, 0.004
"""Changes a day."""


@dataclass
class Page:
    """One page of the simulated site. Times in seconds since the beginning."""

    rate: float
    """Changes a second."""
    importance: float
    """In that of the average page."""
    next_change: float
    version: int = 0
    fetched: int = 0
    """The version of our copy."""
    stale_since: float = 0.0


@dataclass
class Result:
    policy: str
    requests: int = 0
    days: float = 0.0
    fresh: float = 0.0
    weighed: float = 0.0
    age: float = 0.0
    """Hours."""
    later: tuple[float, float] = field(default=(0.0, 0.0))
    """Both kinds of freshness after the first third."""


def site(pages: int, seed: int) -> list[Page]:
    random = Random(seed)
    shares = [(n + 1) ** -0.8 for n in range(pages)]
    random.shuffle(shares)
    mean = sum(shares) / pages
    found = []
    for share in shares:
        rate = FASTEST * (SLOWEST / FASTEST) ** random.random() / DAY
        found.append(Page(rate, share / mean, random.expovariate(rate)))
    return found


class Simulation:
    """The site's clock, and what a visit finds."""

    def __init__(self, pages: list[Page], seed: int, days: float) -> None:
        self.pages = pages
        self.end = days * DAY
        self._random = Random(seed + 1)
        self._changes = [(page.next_change, number) for number, page in enumerate(pages)]
        heapq.heapify(self._changes)
        self._stale = self._weighed = 0.0
        self._weight = sum(page.importance for page in pages)
        self._last = 0.0
        self._sums = [0.0, 0.0]
        self._third: tuple[float, float] | None = None
        self._ages = [0.0, 0]

    def advance(self, now: float) -> None:
        while self._changes and self._changes[0][0] <= now:
            at, number = heapq.heappop(self._changes)
            self._integrate(at)
            page = self.pages[number]
            if page.fetched == page.version:
                page.stale_since = at
                self._stale += 1
                self._weighed += page.importance
            page.version += 1
            heapq.heappush(self._changes, (at + self._random.expovariate(page.rate), number))
        self._integrate(now)

    def _integrate(self, now: float) -> None:
        if self._third is None and now > self.end / 3:
            self._add(self.end / 3 - self._last)
            self._last = self.end / 3
            self._third = (self._sums[0], self._sums[1])
        self._add(now - self._last)
        self._last = now

    def _add(self, seconds: float) -> None:
        self._sums[0] += seconds * (1 - self._stale / len(self.pages))
        self._sums[1] += seconds * (1 - self._weighed / self._weight)

    def visit(self, number: int, now: float) -> bytes:
        """The digest of what the page is now."""
        page = self.pages[number]
        if page.fetched != page.version:
            self._ages[0] += now - page.stale_since
            self._ages[1] += 1
            self._stale -= 1
            self._weighed -= page.importance
            page.fetched = page.version
        return page.version.to_bytes(8, "big")

    def result(self, policy: str, requests: int) -> Result:
        self.advance(self.end)
        first = self._third or (0.0, 0.0)
        rest = self.end * 2 / 3
        return Result(
            policy,
            requests,
            self.end / DAY,
            self._sums[0] / self.end,
            self._sums[1] / self.end,
            self._ages[0] / max(self._ages[1], 1) / 3600,
            ((self._sums[0] - first[0]) / rest, (self._sums[1] - first[1]) / rest),
        )


def fixed(simulation: Simulation, budget: float) -> Result:
    """All pages in turn."""
    requests, step = 0, DAY / budget
    while (now := requests * step) < simulation.end:
        simulation.advance(now)
        simulation.visit(requests % len(simulation.pages), now)
        requests += 1
    return simulation.result("fixed", requests)


def adaptive(simulation: Simulation, budget: float, folder: Path, *, important: bool) -> Result:
    """sitecrawl's: `important` if credit flows to the pages by their importance, and not to all alike."""
    database = Database(folder / "db", hash_name=HASH_NAME)
    store = RevisitStore(database, RecrawlOptions(budget=budget, min_interval=600.0, max_interval=30 * DAY))
    pages, weight = simulation.pages, sum(page.importance for page in simulation.pages)

    def importance(number: int) -> float:
        return pages[number].importance / weight if important else 1 / len(pages)

    requests = 0
    for number, now in first_visits(pages, budget):
        simulation.advance(now)
        digest = simulation.visit(number, now)
        requests += 1
        store.plan(number.to_bytes(16, "big"), Visits(now, digest=digest), importance(number), now)
    clock = now
    while (at := store.next_time()) is not None and at < simulation.end:
        clock = max(clock, at)
        simulation.advance(clock)
        due = store.take(clock, 100)
        clock += 0 if due else DAY / budget
        for key, record in due:
            number = int.from_bytes(key, "big")
            requests += 1
            after = record.after(clock, digest=simulation.visit(number, clock))
            store.plan(key, after, importance(number), clock)
        if requests % 50 == 0:
            batch = database.batch()
            store.prepare(batch)
            database.write(batch)
            store.committed()
    database.close()
    return simulation.result("credit and change rate" if important else "change rate alone", requests)


def first_visits(pages: list[Page], budget: float) -> Iterator[tuple[int, float]]:
    """The crawl itself, ten times as fast as the budget for coming back."""
    return ((number, number * DAY / budget / 10) for number in range(len(pages)))


def best_possible(pages: list[Page], budget: float) -> tuple[float, float]:
    """Freshness of the optimal intervals, if all rates were known and never learnt; weighed, for weighed."""

    def at(price: float) -> tuple[float, float, float]:
        spent = fresh = weighed = 0.0
        for page in pages:
            target = price * page.rate / page.importance
            if target >= 1:
                continue
            low, high = 0.0, 64.0
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if 1 - exp(-middle) * (1 + middle) < target else (low, middle)
            spent += page.rate / high
            share = (1 - exp(-high)) / high
            fresh += share
            weighed += share * page.importance
        return spent, fresh / len(pages), weighed / sum(page.importance for page in pages)

    low, high = 1e-3, 1e12
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if at(middle)[0] > budget / DAY else (low, middle)
    return at(high)[1:]


def compare(pages: int, days: float, budget: float, seed: int) -> list[Result]:
    def fresh() -> Simulation:
        return Simulation(site(pages, seed), seed, days)

    results = [fixed(fresh(), budget)]
    for important in (False, True):
        with tempfile.TemporaryDirectory(prefix="recrawl") as folder:
            results.append(adaptive(fresh(), budget, Path(folder), important=important))
    return results


def table(results: list[Result], best: tuple[float, float], write: Callable[[str], None] = print) -> None:
    write("| policy | requests a day | fresh | by importance | the same after the first third | hours stale |")
    write("|---|---|---|---|---|---|")
    for r in results:
        later = f"{r.later[0]:.3f}, {r.later[1]:.3f}"
        figures = f"{r.requests / r.days:.0f} | {r.fresh:.3f} | {r.weighed:.3f} | {later} | {r.age:.0f}"
        write(f"| {r.policy} | {figures} |")
    write(f"| the optimum, all rates known | | | | {best[0]:.3f}, {best[1]:.3f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--days", type=float, default=60)
    parser.add_argument("--budget", type=float, default=500, help="requests a day")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a small site: shows that it works, and no figures")
    options = parser.parse_args()
    pages, days, budget = (200, 40.0, 100.0) if options.quick else (options.pages, options.days, options.budget)
    table(compare(pages, days, budget, options.seed), best_possible(site(pages, options.seed), budget))


if __name__ == "__main__":
    main()
