"""Crawls a web through the real frontier, without a network, in the order of one policy."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from oracle import foresee
from order import Published
from outcome import Outcome
from replaying import Replayed, replayed
from webs import Page, Web

from sitecrawl.frontier.duplicates import Verdict
from sitecrawl.frontier.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.order import Order, order_named
from sitecrawl.frontier.record import Flag, UrlState
from sitecrawl.frontier.visit import Visit

POLICIES: Final = ("aopic", "published", "bfs", "dfs", "oracle")
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
    """One of `POLICIES`."""
    budget: int
    """Fetches."""
    traps: TrapOptions = field(default_factory=TrapOptions)
    checkpoint_every: int = CHECKPOINT_EVERY
    """Fetches between two checkpoints."""
    learn_rules: bool = True
    """Whether the frontier learns what in URLs chooses no content."""


def crawl(web: Web, conditions: Conditions, directory: Path) -> Outcome:
    """Fetch from `web` until the frontier ends, or the budget is spent. `directory` must not exist."""
    outcome = Outcome(web.name, web.place, conditions.policy, web.contents())
    if conditions.policy == "oracle":
        return foresee(web, outcome, conditions.budget)
    memory = resident()
    order, options = _frontier_of(conditions)
    with replayed(directory, order, options) as replay:
        _Crawl(web, replay, outcome).run(conditions)
        outcome.ended, outcome.left = replay.frontier.is_finished(), replay.frontier.waiting
    outcome.grown = resident() - memory
    return outcome


def _frontier_of(conditions: Conditions) -> tuple[Order, FrontierOptions]:
    if conditions.policy == "published":
        return Published(), FrontierOptions(lambda_policy="pages", traps=replace(conditions.traps, hold=False))
    return order_named(conditions.policy), FrontierOptions(traps=conditions.traps, learn_rules=conditions.learn_rules)


class _Crawl:
    """Does with a page what the crawl does with a response; `Fetch.is_good` decides alike what is good."""

    def __init__(self, web: Web, replay: Replayed, outcome: Outcome) -> None:
        self._web = web
        self._replay = replay
        self._frontier = replay.frontier
        self._outcome = outcome
        self._hops: dict[str, int] = {}
        """Redirects that led to a URL, one after the other."""
        self._found = lru_cache(_KEPT_LINKS)(self._link)
        self._aside = 0.0
        """Seconds for what is no part of a crawl."""

    def _link(self, url: str, nofollow: bool) -> object | None:  # noqa: FBT001 - a key of the cache
        return self._replay.found(url, nofollow=nofollow) if self._web.admits(url) else None

    def run(self, conditions: Conditions) -> None:
        frontier, outcome = self._frontier, self._outcome
        begun = time.process_time()
        frontier.add([self._replay.found(self._web.seed)], depth=0)
        while outcome.fetched < conditions.budget and (visit := frontier.next()) is not None:
            page = self._page(visit.url)
            self._finish(visit, page)
            outcome.count(page)
            if outcome.fetched % conditions.checkpoint_every == 0:
                self._replay.commit()
            if outcome.fetched % _COUNT_EVERY == 0:
                self._count()
        outcome.seconds = time.process_time() - begun - self._aside
        self._count()

    def _page(self, url: str) -> Page:
        begun = time.thread_time()
        page = self._web.page(url)
        _ = page.sha1, page.text_hash  # a crawl takes them when it parses the page
        self._aside += time.thread_time() - begun
        return page

    def _finish(self, visit: Visit, page: Page) -> None:
        self._frontier.downloaded(visit, 0.0)
        good = False
        if 200 <= page.status < 300:
            self._expand(visit, page)
            verdict = self._frontier.judge_content(visit, page.sha1, title=page.title, text_hash=page.text_hash)
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
        added = self._frontier.add_request(
            self._replay.found(target),
            depth=visit.depth,
            priority=visit.priority + REDIRECT_PRIORITY,
            flags=Flag.NONE,
            request=_REQUEST,
            referrer=visit.key,
        )
        if added:
            self._hops[target] = hops
        return added

    def _count(self) -> None:
        begun = time.thread_time()
        live = list(self._frontier.hosts.live())
        self._outcome.hosts = max(self._outcome.hosts, len(live))
        self._outcome.sections = max(self._outcome.sections, sum(len(host.sections) for host in live))
        self._aside += time.thread_time() - begun


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
