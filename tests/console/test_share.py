"""The one summary of many workers."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from sitecrawl.console.summary import Share, Summary, _reason_of, summary_of
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.crawldir.outcomes import CauseCount, HostRefusals
from sitecrawl.frontier.contract import Figures, HeldBack
from sitecrawl.frontier.urls.trap_state import Reason

STATS = {
    "downloader/response_status_count/200": 3,
    "downloader/response_bytes": 500,
    "start_time": object(),
    "cluster/lost_pages": 2,
}


def share(reason: str = "finished", *, pages: int = 3, others: int = 0, **told: Any) -> Share:
    """One that has gone over the line."""
    said = Summary("finished", 2.0, Traffic.read(STATS), **told)
    one = Share.of(said, STATS, reason=reason, pages=pages, others=others, max_pages=6)
    return Share(**json.loads(json.dumps(asdict(one))))


def test_sums() -> None:
    """What each has counted is added up, and what both know is said once."""
    about: dict[str, Any] = {
        "hosts": Counter({"a:80": 2}),
        "facts": ["a is slow"],
        "causes": [CauseCount("no answer", 1, "b")],
        "certificates": [CauseCount("expired", 2, "c")],
        "refusals": [HostRefusals("d", "challenge", 2, "somebody")],
        "resting": 1,
    }
    told = summary_of({"worker-1": share(**about), "worker-2": share(**about)}, Figures(fetched=6))
    assert (told.traffic.responses, told.traffic.received, told.seconds) == (6, 1000, 2.0)
    assert told.hosts == {"a:80": 4}
    assert list(told.facts) == ["a is slow"]
    assert list(told.causes) == [CauseCount("no answer", 2, "b")]
    assert list(told.certificates) == [CauseCount("expired", 4, "c")]
    assert list(told.refusals) == [HostRefusals("d", "challenge", 4, "somebody")]
    assert told.resting == 2
    assert any(line.split()[:2] == ["lost", "4"] for line in told.lines())


def test_what_spiders_say() -> None:
    """Once, if it is the same; otherwise each says which part it is of."""
    one, other = share(report=[("harvest", "90%")]), share(report=[("harvest", "80%")])
    assert list(summary_of({"worker-1": one, "worker-2": one}, Figures(fetched=6)).report) == [("harvest", "90%")]
    assert list(summary_of({"worker-1": one, "worker-2": other}, Figures(fetched=6)).report) == [
        ("harvest", "worker-1: 90%"),
        ("harvest", "worker-2: 80%"),
    ]


def test_why_it_ended() -> None:
    """What went wrong with one counts; of crawls that ended by themselves, what is left of the whole."""
    odd = {"worker-1": share("finished"), "worker-2": share("shutdown"), "worker-3": share("storage_error")}
    assert _reason_of([*odd.values()]) == "storage_error"
    both = {"worker-1": share("finished"), "worker-2": share("max_pages")}
    assert "max_pages is reached, and 4 URLs wait" in summary_of(both, Figures(fetched=6, queued=4)).ending
    assert summary_of(both, Figures(fetched=5)).ending == "finished: nothing is left to fetch"


def test_a_limit_that_stops_what_holds_something_back() -> None:
    """All workers end for what one process would end for: the limit, though something is held back, too."""
    both = {"worker-1": share("held_back"), "worker-2": share("max_pages")}
    held = HeldBack(Counter({Reason.GROWS: 4}), Counter({Reason.GROWS: 1}))
    assert [summary_of(both, Figures(fetched=fetched, queued=9, held=held)).reason for fetched in (6, 5)] == [
        "max_pages",
        "held_back",
    ]
    assert summary_of({"worker-1": share("shutdown")}, Figures(fetched=6, queued=9, held=held)).reason == "shutdown"


def test_no_page() -> None:
    """It is so if none of the workers has one, whatever each of them knows of the others."""
    nothing = {"worker-1": share(pages=0, others=1), "worker-2": share(pages=0, others=2)}
    assert not summary_of(nothing, Figures(fetched=3)).has_pages_fetched
    assert summary_of(nothing, Figures(fetched=4)).has_pages_fetched, "a worker's that has not come back"
    assert summary_of({**nothing, "worker-2": share(pages=1)}, Figures(fetched=3)).has_pages_fetched
