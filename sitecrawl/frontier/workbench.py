"""Which host may be asked now: the hosts with work, those that politeness allows first.

Two heaps, as in Mercator and BUbiNG: hosts that may be asked now, by the rank of their best URL, and hosts that
must rest, by the time at which their rest ends. A host is in at most one of them, through one ticket: an entry with
an older ticket is void, and is dropped when it surfaces.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict

from sitecrawl.frontier.hosts import Host, PolitenessOptions

_Entry = tuple[bytes, int, Host]


class Workbench:
    """Hosts with waiting URLs. Times are on the caller's clock, in seconds."""

    def __init__(self, options: PolitenessOptions) -> None:
        self._options = options
        self._ready: list[_Entry] = []
        self._resting: list[tuple[float, int, Host]] = []
        self._tickets = 0
        self._busy_ips: Counter[str] = Counter()
        self._behind_ip: defaultdict[str, list[Host]] = defaultdict(list)

    def place(self, host: Host, now: float) -> None:
        """Put `host` where it belongs: call it whenever its queue or its politeness state has changed."""
        self._tickets += 1
        host.ticket = self._tickets
        if host.active >= self._options.per_host:
            return
        if host.free_at > now:
            heapq.heappush(self._resting, (host.free_at, host.ticket, host))
            return
        entry = host.queue.peek()
        if entry is not None:
            heapq.heappush(self._ready, (entry, host.ticket, host))

    def best(self, now: float) -> Host | None:
        """The host whose best URL comes first among those that may be asked now; it stays on the workbench."""
        self._wake(now)
        while self._ready:
            _, ticket, host = self._ready[0]
            if ticket == host.ticket and not self._is_behind_ip(host):
                return host
            heapq.heappop(self._ready)
        return None

    def next_time(self) -> float | None:
        """When the next resting host may be asked; None if none rests."""
        while self._resting and self._resting[0][1] != self._resting[0][2].ticket:
            heapq.heappop(self._resting)
        return self._resting[0][0] if self._resting else None

    def start(self, host: Host, now: float) -> None:
        """A request to `host` begins."""
        host.start(now, self._options)
        if host.ip is not None:
            self._busy_ips[host.ip] += 1
        self.place(host, now)

    def finish(self, host: Host, now: float, seconds: float, *, ip: str | None) -> None:
        """A request to `host`, which took `seconds` and was counted for the address `ip`, has ended."""
        host.finish(now, seconds, self._options)
        self.place(host, now)
        if ip is not None:
            self._free_ip(ip, now)

    def _wake(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            _, ticket, host = heapq.heappop(self._resting)
            if ticket == host.ticket:
                self.place(host, now)

    def _is_behind_ip(self, host: Host) -> bool:
        """Whether `host` must wait for its IP address; if so, it is set aside until that is free."""
        ip, limit = host.ip, self._options.per_ip
        if ip is None or limit == 0 or self._busy_ips[ip] < limit:
            return False
        self._behind_ip[ip].append(host)
        return True

    def _free_ip(self, ip: str, now: float) -> None:
        self._busy_ips[ip] -= 1
        if self._busy_ips[ip] <= 0:
            del self._busy_ips[ip]
        for host in self._behind_ip.pop(ip, ()):
            self.place(host, now)
