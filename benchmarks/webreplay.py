"""Crawls a web through the real frontier, without a network, in the order of one policy; or through those of many
workers, each with a part of the sites, in turns: a page each. All of these make their checkpoints, and hear of one
another, when each has had its pages.
"""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from copied import Copies
from oracle import foresee
from order_cluster import neighbourhood
from outcome import Outcome
from replaying import Replayed, replayed
from webs import Page, Web

from sitecrawl.frontier.contract import Asked
from sitecrawl.frontier.forms.duplicates import Verdict
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.order import Order, order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.urls.url import Canonicalizer

POLICIES: Final = ("aopic", "published", "bfs", "dfs", "oracle")
_WORKERS: Final = "cluster-"
"""Before the number of workers, in place of a policy: theirs is `aopic`."""
CHECKPOINT_EVERY: Final = 10
"""Fetches. Credit for known URLs arrives with a checkpoint, and a crawl makes one a second: so many pages, or fewer,
a polite one gets of a site in that time. With 500 between them the recorded DokuWiki took 966 fetches for 90% of its
content, with 25 to 100 the 684 that it took live, and with 10 it takes 661."""
_COUNT_EVERY: Final = 500
"""Fetches between two looks at what is in memory."""
MAX_REDIRECTS: Final = 20
"""One after the other, as the crawl's own limit."""
REDIRECT_PRIORITY: Final = 2
"""Scrapy's `REDIRECT_PRIORITY_ADJUST`: where a redirect leads comes first."""
_REQUEST: Final = b"\x80"
"""Stands for what a redirected request has beside its URL."""
_KEPT_LINKS: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a web is crawled."""

    policy: str
    """One of `POLICIES`, or `cluster-4` for four workers."""
    budget: int
    """Fetches."""
    traps: TrapOptions = field(default_factory=TrapOptions)
    checkpoint_every: int = CHECKPOINT_EVERY
    """Fetches between two checkpoints, of each worker."""
    learn_rules: bool = True
    """Whether the frontier learns what in URLs chooses no content."""
    at_once: int = 1
    """Pages that are under way at once: so many are chosen before the first of them is read."""


def crawl(web: Web, conditions: Conditions, directory: Path) -> Outcome:
    """Fetch from `web` until the frontier ends, or the budget is spent. `directory` must not exist."""
    outcome = Outcome(web.name, web.place, conditions.policy, web.contents())
    if conditions.policy == "oracle":
        return foresee(web, outcome, conditions.budget)
    memory = resident()
    if conditions.policy.startswith(_WORKERS):
        _share(web, conditions, outcome, directory)
    else:
        _crawl_alone(web, conditions, outcome, directory)
    outcome.grown = resident() - memory
    return outcome


def _crawl_alone(web: Web, conditions: Conditions, outcome: Outcome, directory: Path) -> None:
    order, options = _frontier_of(conditions)
    with replayed(directory, order, options) as replay:
        _Crawl(web, replay, outcome).run(conditions)
        outcome.ended, outcome.left = replay.frontier.is_finished(), replay.frontier.figures.waiting


def _share(web: Web, conditions: Conditions, outcome: Outcome, directory: Path) -> None:
    order, options = _frontier_of(replace(conditions, policy="aopic"))
    territories = [[number] for number in range(int(conditions.policy.removeprefix(_WORKERS)))]
    with neighbourhood(directory, order, options, territories) as crowd:
        workers = [
            _Crawl(web, Replayed(one.frontier, one.database, crowd.fingerprints, Canonicalizer()), outcome)
            for one in crowd.neighbours
        ]
        begun = time.process_time()
        workers[0].begin()
        crowd.exchange()
        while outcome.fetched < conditions.budget and not outcome.ended:
            before = outcome.fetched
            for _ in range(conditions.checkpoint_every):
                for worker in workers:
                    if outcome.fetched < conditions.budget:
                        worker.step()
            outcome.ended = not crowd.exchange() and outcome.fetched == before
        outcome.seconds = time.process_time() - begun - sum(worker.aside for worker in workers)
        outcome.left = sum(one.frontier.figures.waiting for one in crowd.neighbours)


def _frontier_of(conditions: Conditions) -> tuple[Order, FrontierOptions]:
    if conditions.policy == "published":
        options = FrontierOptions(traps=replace(conditions.traps, hold=False))
        return order_named("aopic-published"), options
    return order_named(conditions.policy), FrontierOptions(traps=conditions.traps, learn_rules=conditions.learn_rules)


class _Crawl:
    """Does with a page what the crawl does with a response; `Fetch.is_good` decides alike what is good."""

    def __init__(self, web: Web, replay: Replayed, outcome: Outcome) -> None:
        self._web = web
        self._replay = replay
        self._frontier = replay.frontier
        self._outcome = outcome
        self._under_way: deque[Visit] = deque()
        self._hops: dict[str, int] = {}
        """Redirects that led to a URL, one after the other."""
        self._found = lru_cache(_KEPT_LINKS)(self._link)
        self.aside = 0.0
        """Seconds for what is no part of a crawl."""

    def _link(self, url: str, nofollow: bool) -> object | None:  # noqa: FBT001 - a key of the cache
        return self._replay.found(url, nofollow=nofollow) if self._web.admits(url) else None

    def run(self, conditions: Conditions) -> None:
        outcome = self._outcome
        begun = time.process_time()
        self.begin()
        while outcome.fetched < conditions.budget and self.step(conditions.at_once):
            if outcome.fetched % conditions.checkpoint_every == 0:
                self._replay.commit()
            if outcome.fetched % _COUNT_EVERY == 0:
                self._count()
        outcome.seconds = time.process_time() - begun - self.aside
        self._count()

    def begin(self) -> None:
        seeds = self._web.seeds if isinstance(self._web, Copies) else [self._web.seed]
        self._frontier.add([self._replay.found(seed) for seed in seeds], depth=0)

    def step(self, at_once: int = 1) -> bool:
        """Fetch the next page, if there is one, while `at_once` are under way."""
        while len(self._under_way) < at_once and (visit := self._frontier.next()) is not None:
            self._under_way.append(visit)
            self._frontier.downloaded(visit, 0.0)
        if not self._under_way:
            return False
        visit = self._under_way.popleft()
        page = self._page(visit.url)
        self._finish(visit, page)
        self._outcome.count(page)
        return True

    def _page(self, url: str) -> Page:
        begun = time.thread_time()
        page = self._web.page(url)
        _ = page.sha1, page.text_hash, page.sample  # a crawl takes them when it parses the page
        self.aside += time.thread_time() - begun
        return page

    def _finish(self, visit: Visit, page: Page) -> None:
        good = False
        if 200 <= page.status < 300:
            self._expand(visit, page)
            verdict = self._frontier.contents.judge(
                visit, page.sha1, title=page.title, text_hash=page.text_hash, sample=page.sample
            )
            repeats = verdict is not Verdict.NEW and not visit.again
            good = not repeats and not page.noindex
        elif page.location:
            good = self._redirect(visit, page.location)
        self._frontier.done(visit, UrlState.FETCHED, status=page.status, good=good)

    def _expand(self, visit: Visit, page: Page) -> None:
        found = [self._found(link.url, page.nofollow or link.nofollow) for link in page.links]
        self._frontier.expand(visit, [link for link in found if link is not None])  # type: ignore[misc]

    def _redirect(self, visit: Visit, target: str) -> bool:
        """Whether it leads to a new URL."""
        hops = self._hops.pop(visit.url, 0) + 1
        if hops > MAX_REDIRECTS or not self._web.admits(target):
            return False
        found = replace(self._replay.found(target), priority=visit.priority + REDIRECT_PRIORITY)
        asked = Asked(request=_REQUEST)
        added = self._frontier.add([found], depth=visit.depth, referrer=visit.key, asked=asked)
        if added:
            self._hops[target] = hops
        return bool(added)

    def _count(self) -> None:
        begun = time.thread_time()
        live = list(self._frontier.hosts.live())
        self._outcome.hosts = max(self._outcome.hosts, len(live))
        self._outcome.sections = max(self._outcome.sections, sum(len(host.sections) for host in live))
        self.aside += time.thread_time() - begun


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
