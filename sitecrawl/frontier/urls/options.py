"""What a crawl may ask of its frontier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ENOUGH: Final = 50
"""Fetches, links or looks of which a figure is taken at the least, and over which it is averaged."""
MATTERS: Final = 0.1
"""The share of a whole from which on a part of it matters: good pages of fetches, new words of a text."""
RARE: Final = 0.02
"""One in fifty: good pages of what is hardly ever good, fetches that test a rule, tests that a rule may fail."""
FAIR_TRY: Final = 600
"""Fetches of a host that are a fair try, at least: of what it has to say, and of what grows without end."""


@dataclass(frozen=True, slots=True)
class TrapOptions:
    """How the judge decides: see `sitecrawl.frontier.judge.trap_judge`. `benchmarks/order.py` shows the effect."""

    hold: bool = True
    """Whether anything is held back at all."""
    min_fetches: int = ENOUGH
    """Fetches of a unit before it can be demoted, and of one that is before it can be set free."""
    high: float = 0.8
    """Novelty above which a unit grows like a trap; below it, one that is demoted is set free."""
    host_size: float = 1500.0
    """URLs that any host may have, however little trusted; those that wait count twice."""
    trusted_share: float = 3.0
    """And so many times as many as all others had good pages, times the odds of trust: its share to all others'."""
    least_budget: int = FAIR_TRY
    """Fetches that all sections of a seed's host together have at least which give good pages and grow without end,
    before anything else that waits goes first."""
    last_budget: int = 5000
    """Fetches that all sections of a seed's site together have at least which grow without end, whatever they give,
    before a crawl that has nothing else left ends without them.
    """
    allowance: int = FAIR_TRY
    """Fetches of all together that grows without end on sites that no seed names, when nothing else is left. Of a
    small crawl less: see `sitecrawl.frontier.judge.last_stage`."""
    allowance_share: float = RARE
    """The share of all fetches that go to these, besides."""
    flow_period: int = 10
    """After so many fetches trust flows on by a round, and demoted hosts are compared with it; on a large graph,
    where that costs more, more rarely.
    """


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """What the frontier may hand out."""

    max_depth: int = 0
    """URLs farther than so many links from a seed are not queued; 0 for no limit."""
    max_pages: int = 0
    """Hand out no more once so many URLs have been fetched; 0 for no limit."""
    one_by_one: bool = False
    """No URL is handed out while another is in flight, or before one that the order puts first: in orders whose ranks
    rule over all hosts."""
    lambda_policy: str = "hosts"
    """How the lambda page pays out: see `sitecrawl.frontier.credit.policies`."""
    traps: TrapOptions = field(default_factory=TrapOptions)
    learn_rules: bool = True
    """Learn from pages that repeat others what in their URLs chooses no content, and fetch one form of each: see
    `sitecrawl.frontier.forms`. Only where sections can be held back: in an order by credit without a depth limit."""
    repeats: bool = False
    """Whether a page that has been fetched waits again at once: the crawl ends with a limit only."""
    requisites: bool = False
    """Whether what pages are made of comes in, too."""
