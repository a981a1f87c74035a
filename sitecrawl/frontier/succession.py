"""A frontier that goes on where another was, over the same database, when partitions have come or gone.

What is on disk it finds there. What is not is taken over: URLs in flight, how soon each host may be asked, which have
failed of late, what others have told of good pages and credit, whether more pages are wanted, and the filter of the
URL-seen test, which takes long to fill. Not so requests that are in memory only: `before` must have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.tiered import SeenSet
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.tables import UrlTable
from sitecrawl.frontier.urls.visit import Visit


def succeed(before: DiskFrontier, after: DiskFrontier, now: float) -> list[Visit]:
    """Let `after` take over at `now` on its clock. Returns the visits whose URLs it has not: they are others' now."""
    for host in list(before.hosts.live()):
        if (heir := after.hosts.get(host.key)) is not None:
            _take_over(host, heir)
            after.hosts.changed(heir)
    after.judge.elsewhere = before.judge.elsewhere
    ours, its = before.link_credit.ledger, after.link_credit.ledger
    its.comes_back, its.elsewhere = ours.comes_back, ours.elsewhere
    after.dispatcher.page_limit.others_want_more = before.dispatcher.page_limit.others_want_more
    lost = [visit for visit in before.in_flight.values() if not _goes_on(visit, after, now)]
    after.dispatcher.place(after.hosts.live())
    return lost


def _take_over(host: Host, heir: Host) -> None:
    heir.failures, heir.failing, heir.silent = host.failures, host.failing, host.silent
    heir.answers = host.answers
    heir.free_at, heir.asked_until, heir.ip = host.free_at, host.asked_until, host.ip


def _goes_on(visit: Visit, after: DiskFrontier, now: float) -> bool:
    record = after.urls.get(visit.key)
    if record is None:
        return False
    after.in_flight[visit.key] = visit
    if visit.host is not None:
        host = after.url_states.host_of(record)
        free_at = host.free_at
        visit.host = host
        after.dispatcher.workbench.start(host, now, visit)
        host.free_at = free_at  # it was asked when the visit began
    return True


class SeenBefore:
    """Keeps the seen set of a frontier that is succeeded, for URLs that have `come` as well (a `SeenKeeper`).

    What has gone stays in the filter: the exact set has the last word.
    """

    def __init__(self, before: SeenSet, come: Iterable[bytes], cache: int) -> None:
        self._before = before
        self._come = come
        self._cache = cache

    def open(self, database: Database, urls: UrlTable, serial: int) -> SeenSet:
        before = self._before
        seen = SeenSet(Clock(self._cache), before.bloom, urls)
        seen.stats = before.stats
        urls.lookups = before.exact.lookups
        seen.fill(chain(before.stop_filling(), self._come))
        return seen

    def save(self, database: Database, seen: SeenSet, serial: int) -> None:
        """Nothing is kept: a frontier that has no predecessor fills its filter again."""
        seen.stop_filling()
