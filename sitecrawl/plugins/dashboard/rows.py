"""The tables of the page: the hosts with the most URLs waiting, what is held back, errors with examples.

Hosts are those in memory, which have URLs waiting. They are looked over once for all who look at the page, and not
again before so many times what that took has passed.
"""

from __future__ import annotations

import contextlib
import heapq
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl import configuration
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.refusals import summed_up
from sitecrawl.frontier.judge.held import HeldSets, explain, name_of
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.plugins.dashboard.figures import EXAMPLES, Meter

_SHOWN: Final = 25
"""Rows of a table."""
_SECONDS: Final = 2.0
_SHARE: Final = 250
"""Rows stand for so many times what they cost: at most 1 / 250 of a core goes into them."""
_HELD_LOOKED_AT: Final = 100
"""Rows of each queue that samples of what is held back are drawn from."""

_Row = dict[str, Any]
Rows = dict[str, list[_Row]]
"""`hosts`, `held`, `errors`."""
NO_ROWS: Final[Mapping[str, list[_Row]]] = {"hosts": [], "held": [], "errors": []}


class Tables:
    """The rows of what this process has."""

    def __init__(self, crawl: Crawl, meter: Meter) -> None:
        self._ours = crawl.ours
        self._refusals = crawl.refusals
        self._meter = meter
        self._politeness = configuration.politeness(crawl.crawler.settings)
        self._held = HeldSets(crawl.database, looked_at=_HELD_LOOKED_AT)
        self._found: Rows = dict(NO_ROWS)
        self._until = 0.0

    def now(self) -> Rows:
        """The last ones, or new ones where these are old."""
        begun = time.monotonic()
        if begun >= self._until:
            with contextlib.suppress(StorageError):  # the crawl is being stopped, and its files may be closed
                self._found = {"hosts": self._hosts(), "held": self._held_back(), "errors": self._errors()}
            end = time.monotonic()
            self._until = end + max(_SECONDS, _SHARE * (end - begun))
        return self._found

    def forget(self) -> None:
        """Something was done: what is known may be wrong."""
        self._until = 0.0

    def _hosts(self) -> list[_Row]:
        live = (host for host in self._ours.local.hosts.live() if host.queued or host.active)
        return [self._host_row(host) for host in heapq.nlargest(_SHOWN, live, key=lambda host: host.queued)]

    def _host_row(self, host: Host) -> _Row:
        wait = max(0.0, host.free_at - time.monotonic())
        return {
            "host": host.name,
            "waiting": host.queued,
            "known": host.known,
            "fetched": host.fetched,
            "good": host.good,
            "state": self._state(host, wait),
            "next": round(wait, 3) if host.queued else None,
            "failures": host.failures,
            "ip": host.ip,
            "demoted": host.trap.demoted,
            "reason": explain(host, self._ours.local.judge.fetches),
            "said_no": summed_up(self._refusals.run.of(host.name)),
        }

    def _state(self, host: Host, wait: float) -> str:
        if host.trap.demoted:
            return "blocked" if host.trap.reason == Reason.BLOCKED else "held back"
        if host.active:
            return "asking"
        if host.is_dead(self._politeness):
            return "silent" if host.fetched else "dead"
        if host.failures:
            return "failing"
        return "resting" if wait else "ready"

    def _held_back(self) -> list[_Row]:
        """Sections, and whole hosts, with samples as of the last checkpoint."""
        judge = self._ours.local.judge
        most = heapq.nlargest(_SHOWN, judge.demoted.values(), key=lambda unit: (unit[1] or unit[0]).queued)
        held = [self._held.read(host, section, judge.fetches) for host, section in most]
        return [
            {
                **one._asdict(),
                "name": name_of(one.host, one.shape),
                "fetched_urls": [sample._asdict() for sample in one.fetched_urls],
            }
            for one in held
        ]

    def _errors(self) -> list[_Row]:
        """Kinds of error with their last examples, the most frequent first."""
        ordered = sorted(self._meter.errors.items(), key=lambda pair: -pair[1].count)[:_SHOWN]
        keys = {example.referrer for _, error in ordered for example in error.examples}
        records = self._ours.local.urls.get_many(list(keys))
        return [
            {
                "kind": kind,
                "count": error.count,
                "examples": [
                    {"url": e.url, "at": e.at, "referrer": record.url if (record := records[e.referrer]) else None}
                    for e in reversed(error.examples)
                ],
            }
            for kind, error in ordered
        ]


def joined(parts: Sequence[Rows]) -> Rows:
    """The tables of several workers as one of each. A partition that moves just then is shown once."""
    units = {
        name: {(row.get("host"), row.get("shape")): row for part in parts for row in part[name]}
        for name in ("hosts", "held")
    }
    found = {name: heapq.nlargest(_SHOWN, rows.values(), key=_waiting) for name, rows in units.items()}
    counts: Counter[str] = Counter()
    examples: dict[str, list[_Row]] = {}
    for row in (row for part in parts for row in part["errors"]):
        counts[row["kind"]] += row["count"]
        examples.setdefault(row["kind"], []).extend(row["examples"])
    errors = [
        {"kind": kind, "count": count, "examples": examples[kind][:EXAMPLES]} for kind, count in counts.most_common()
    ]
    return {**found, "errors": errors}


def _waiting(row: _Row) -> float:
    waiting = row.get("waiting")
    return waiting if isinstance(waiting, int | float) else 0
