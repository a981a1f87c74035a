"""The figures of the summary, for programs."""

from __future__ import annotations

from typing import Any

from sitecrawl.crawl.runtime import Runtime
from sitecrawl.crawl.traffic import Traffic


def figures_of(runtime: Runtime, traffic: Traffic, seconds: float) -> dict[str, Any]:
    """Of the run, which has lasted so many `seconds`; and in `crawl` of the crawl, over all runs. Counts are of URLs
    unless their name says something else.
    """
    counts = runtime.frontier.figures
    return {
        "seconds": round(seconds, 3),
        "responses": traffic.responses,
        "errors": traffic.errors,
        "received_bytes": traffic.received,
        "duplicate_links": traffic.duplicates,
        "robots_txt": traffic.forbidden,
        "statuses": {str(status): number for status, number in sorted(traffic.statuses.items())},
        "failures": dict(traffic.failures.most_common()),
        "refusals": dict(traffic.refusals),
        "crawl": {
            "fetched": counts.fetched,
            "failed": counts.failed,
            "waiting": counts.queued,
            "held_back": counts.held_back,
            "other_forms": counts.joined,
            "silent": counts.silent,
        },
    }
