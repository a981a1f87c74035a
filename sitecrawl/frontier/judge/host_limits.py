"""`max_pages` of a host: when as many of its URLs have been fetched, what is left of it is held back.

It waits and is counted, as what a person has blocked; a crawl that is resumed with a greater number sets it free.
What its pages are made of is fetched still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sitecrawl.frontier.judge.trap_judge import TrapJudge
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.host_terms import TermsByHost
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.frontier.urls.visit import Visit


class HostLimits:
    """`in_flight` are the visits under way, `host_key` gives the key of the host of one."""

    def __init__(
        self,
        terms: TermsByHost,
        judge: TrapJudge,
        in_flight: Mapping[bytes, Visit],
        host_key: Callable[[bytes], bytes],
    ) -> None:
        self._terms = terms
        self._judge = judge
        self._in_flight = in_flight
        self._host_key = host_key

    def look(self, host: Host) -> bool:
        """Hold `host` back, or set it free; returns whether that is news. To be called when its limit, or what was
        fetched of it, has changed.
        """
        limit = self._terms.of(host.name).max_pages
        is_full = 0 < limit <= host.fetched
        if is_full == host.trap.is_full or (is_full and host.trap.is_blocked):
            return False
        if is_full:
            self._judge.hold(host, None, Reason.FULL)
        else:
            self._judge.release(host, None)
        return True

    def is_filling(self, host: Host) -> bool:
        """Whether no more URLs of `host` are wanted, if those in flight are fetched."""
        limit = self._terms.of(host.name).max_pages
        if not 0 < limit <= host.fetched + len(self._in_flight):
            return False
        pages = [key for key, visit in self._in_flight.items() if not visit.is_requisite]
        return limit <= host.fetched + sum(self._host_key(key) == host.key for key in pages)
