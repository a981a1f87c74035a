"""Replays generated sites through the real frontier, without a network: do all good pages come in, and does it end?

    python benchmarks/sites.py
    python benchmarks/sites.py --only wiki,blog --quick

Each site is crawled alone, from its home page, until the frontier ends or the budget is spent. A line a site says
how many good pages came in, after how many fetches 99% and all of them were, and what was held back to the end.
`--quick` makes the sites a twentieth as large. The exit code is 1 if a good page in a hundred was missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from generated import Page, Site, sites
from replaying import COMMIT_EVERY, Replayed, replayed

from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.judge.held import explain
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import sha1
from sitecrawl.page.shingles import shingles
from sitecrawl.page.simhash import simhash

ROOT = "http://site.example"
ENOUGH = 0.99
"""The share of good pages that a crawl must bring in."""
THRIFTY = 1.5
"""Fetches a good page that it may need where there are only good ones."""


@dataclass
class Outcome:
    """How the crawl of one site went."""

    site: Site
    wanted: int
    fetched: int = 0
    good: set[str] = field(default_factory=set)
    at_enough: int | None = None
    """Fetches when `ENOUGH` of the good pages were in."""
    at_last: int = 0
    """Fetches when the last good page came in."""
    ended: bool = False
    left: int = 0
    demoted: list[str] = field(default_factory=list)

    def count(self, path: str) -> None:
        self.fetched += 1
        page = self.site.good(path)
        if page is not None and page not in self.good:
            self.good.add(page)
            self.at_last = self.fetched
            if self.at_enough is None and len(self.good) >= ENOUGH * self.wanted:
                self.at_enough = self.fetched

    @property
    def faults(self) -> list[str]:
        found = []
        if len(self.good) < ENOUGH * self.wanted:
            found.append("good pages missed")
        if self.site.only_good and self.fetched > THRIFTY * self.wanted:
            found.append("too many fetches")
        if not self.ended:
            found.append("not ended")
        return found


def crawl(site: Site, directory: Path) -> Outcome:
    """Fetch the pages of `site` in the frontier's order."""
    outcome = Outcome(site, site.wanted())
    budget = 3 * outcome.wanted + 50_000
    with replayed(directory, order_named("aopic"), FrontierOptions()) as replay:
        frontier = replay.frontier
        frontier.add([replay.found(f"{ROOT}/")], depth=0)
        while outcome.fetched < budget and (visit := frontier.next()) is not None:
            fetch(replay, visit, site.page(visit.url[len(ROOT) :]))
            outcome.count(visit.url[len(ROOT) :])
            if outcome.fetched % COMMIT_EVERY == 0:
                replay.commit()
        outcome.ended, outcome.left = frontier.is_finished(), frontier.figures.waiting
        outcome.demoted = held_back(frontier)
    return outcome


def fetch(replay: Replayed, visit: Visit, page: Page) -> None:
    """What the crawl does with a response; `Crawl.weigh` decides alike whether a page is good."""
    frontier = replay.frontier
    frontier.downloaded(visit, 0.0)
    good = page.status == 200
    if good:
        frontier.expand(visit, [replay.found(ROOT + link.path, nofollow=link.nofollow) for link in page.links])
        body = f"{page.text} {page.links}".encode()
        verdict = frontier.contents.judge(
            visit, sha1(body), title=page.title, text_hash=simhash(page.text), sample=shingles(page.text)
        )
        good = verdict == Verdict.NEW and not page.noindex
    frontier.done(visit, UrlState.FETCHED, status=page.status, good=good)


def held_back(frontier: DiskFrontier) -> list[str]:
    """What is demoted, and why."""
    return [
        f"{host.name if section is None else section.shape}: {explain(section or host, frontier.judge.fetches)}"
        for host, section in frontier.judge.demoted.values()
    ]


def report(outcome: Outcome) -> None:
    enough = "never" if outcome.at_enough is None else f"{outcome.at_enough:,}"
    end = f"ended, {outcome.left:,} left" if outcome.ended else "budget spent"
    verdict = ", ".join(outcome.faults).upper() or "ok"
    share = len(outcome.good) / outcome.wanted
    print(
        f"{outcome.site.name:26} good {len(outcome.good):,}/{outcome.wanted:,} ({share:.1%})  "
        f"fetched {outcome.fetched:,}  99% at {enough}, last at {outcome.at_last:,}  ({end})  {verdict}"
    )
    for line in outcome.demoted:
        print(f"{'':26} {line}")
    sys.stdout.flush()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="the sites whose names contain one of these, separated by commas")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    chosen = arguments.only.split(",")
    faults = 0
    with tempfile.TemporaryDirectory(prefix="sites-") as directory:
        for number, site in enumerate(sites(0.05 if arguments.quick else 1.0)):
            if any(part in site.name for part in chosen):
                outcome = crawl(site, Path(directory) / str(number))
                report(outcome)
                faults += bool(outcome.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
