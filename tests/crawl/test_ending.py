"""How a crawl says that it has ended: complete where it is, and what is left where it is not."""

from __future__ import annotations

from collections import Counter

import pytest

from sitecrawl.crawl.ending import ending, finish_reason, stats_of
from sitecrawl.frontier.contract import Figures, HeldBack
from sitecrawl.frontier.urls.trap_state import Reason

GROWS = HeldBack(Counter({Reason.GROWS: 1200}), Counter({Reason.GROWS: 3}))
ONE = HeldBack(Counter({Reason.GROWS: 1}), Counter({Reason.GROWS: 1}))
ALL = HeldBack(
    Counter({Reason.GROWS: 1200, Reason.WORTHLESS: 30, Reason.BLOCKED: 4, Reason.DRY: 60}),
    Counter({Reason.GROWS: 3, Reason.WORTHLESS: 1, Reason.BLOCKED: 2, Reason.DRY: 1}),
)
SOMEWHERE = HeldBack(Counter({Reason.NONE: 70}))
"""As of a cluster, whose sets Redis knows."""


@pytest.mark.parametrize(
    ("left", "reason", "words"),
    [
        (Figures(), "finished", "finished: nothing is left to fetch"),
                (
            Figures(queued=2, joined=2),
            "finished",
            "finished: nothing is left to fetch (2 URLs that wait are other forms of pages that were fetched)",
        ),
        (
            Figures(queued=1200, held=GROWS),
            "held_back",
            ("ended with 1,200 known URLs not fetched: 1,200 held back in 3 sets that grow without end "
            "(scrapy frontier --demoted lists them)"),
        ),
        (
            Figures(queued=1, held=ONE),
            "held_back",
            ("ended with 1 known URL not fetched: 1 held back in 1 set that grows without end "
            "(scrapy frontier --demoted lists it)"),
        ),
        (
            Figures(queued=1321, held=ALL, joined=7, silent=20, silent_hosts=2, failed=5),
            "held_back",
            ("ended with 1,319 known URLs not fetched: 1,200 held back in 3 sets that grow without end, "
            "30 held back in 1 set with hardly a page worth having, 4 blocked by hand in 2 sets, "
            "60 held back in 1 set that grows with nothing new to say (scrapy frontier --demoted lists them), "
            "20 of 2 hosts that ceased to answer, 5 failed "
            "(7 URLs that wait are other forms of pages that were fetched)"),
        ),
        (
            Figures(queued=20, silent=20, silent_hosts=1),
            "hosts_silent",
            "ended with 20 known URLs not fetched: 20 of 1 host that ceased to answer",
        ),
        (
            Figures(queued=75, held=SOMEWHERE, silent=5),
            "held_back",
            ("ended with 75 known URLs not fetched: 70 held back as traps "
            "(scrapy frontier --demoted lists them), 5 of hosts that ceased to answer"),
        ),
        (
            Figures(failed=5),
            "finished",
            "ended with 5 known URLs not fetched: 5 failed",
        ),
        (
            Figures(queued=352, is_full=True, held=GROWS),
            "max_pages",
            "stopped: max_pages is reached, and 352 URLs wait (resume with a larger max_pages to fetch them)",
        ),
        (Figures(is_full=True), "finished", "finished: nothing is left to fetch"),
    ],
)  # fmt: skip
def test_what_is_left(left: Figures, reason: str, words: str) -> None:
    """The finish reason is "finished", and the words say so, only of a crawl that waits for nothing."""
    assert finish_reason(left) == reason
    assert ending(reason, left) == words


def test_a_depth_limit_is_named() -> None:
    """What is farther was not left out by chance."""
    assert finish_reason(Figures()) == "finished"
    assert ending("finished", Figures(), 4) == "finished: nothing is left to fetch up to max_depth=4"


def test_what_is_only_another_form_is_read() -> None:
    """A limit that only other forms of pages are beyond has stopped nothing."""
    assert finish_reason(Figures(queued=3, joined=3, is_full=True)) == "finished"


def test_statistics() -> None:
    """Each kind of what is left has its number; what there is none of is left out."""
    assert dict(stats_of(Figures())) == {}
    left = Figures(queued=1321, held=ALL, joined=7, silent=20)
    assert dict(stats_of(left)) == {
        "frontier/waiting": 1321,
        "frontier/held": 1294,
        "frontier/joined": 7,
        "frontier/silent": 20,
    }
