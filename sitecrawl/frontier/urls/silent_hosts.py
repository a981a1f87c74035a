"""Hosts that do not answer any more: what waits for them fails if they never have, and else stays for later, or for
the next run. Where levels are kept, none waits for it: a host may be down for days.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf
from typing import Final

from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import Host, PolitenessOptions
from sitecrawl.frontier.urls.order import goes_last, level_of
from sitecrawl.frontier.urls.record import RANK_BYTES, Flag
from sitecrawl.frontier.urls.url_states import UrlStates

TOLD: Final = Flag.AWAITED | Flag.VOLATILE
"""Of URLs of which someone wants to be told that they fail."""
_GIVEN_UP_AT_ONCE = 500
"""URLs of a dead host that are given up in one go: there may be millions, and the other hosts do not wait."""
_GIVE_UP_PAUSE = 0.1
"""Seconds until the next go."""


class SilentHosts:
    """Those that have answered before. Each is asked again at its `free_at`, on the frontier's clock."""

    def __init__(self, states: UrlStates, counts: Counts, politeness: PolitenessOptions) -> None:
        self._states = states
        self._counts = counts
        self._politeness = politeness
        self._hosts: dict[bytes, Host] = {}
        """By their keys."""
        self._levels: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
        """By host, the levels of what has been taken from the queues of one that is not among them yet."""
        self._first = inf
        """When the first of them is due, or before."""

    def give_up(self, host: Host, now: float, given_up: list[bytes]) -> bytes | None:
        """Take from a dead host's queues what waits there. The keys of what fails are added to `given_up`.

        What someone wants to be told of does not fail like that: returns the entry of the first such URL.
        """
        left = _GIVEN_UP_AT_ONCE
        before = b""
        for section in host.sections.values():
            while (entry := section.queue.pop()) is not None:
                if entry == before:  # a queue that was rewound has some twice
                    continue
                before = entry
                if (record := self._states.waiting(entry)) is not None:
                    if record.flags & TOLD:
                        return entry
                    if not host.has_answered:
                        self._states.give_up(entry[RANK_BYTES:], record, host)
                        given_up.append(entry[RANK_BYTES:])
                    elif host.put_off is None and not goes_last(entry):
                        self._levels[host.key][level_of(entry)] += 1
                left -= 1
                if left == 0:
                    host.free_at = now + _GIVE_UP_PAUSE
                    return None
        levels = self._levels.pop(host.key, Counter())
        is_all_under_way = not host.has_answered and host.queued == sum(1 for _ in self._states.under_way(host))
        if host.queued and not is_all_under_way:  # that comes back, and fails like the rest
            host.free_at = now + self._politeness.revival
            self._add(host, levels)
        return None

    def _add(self, host: Host, levels: Counter[int]) -> None:
        if host.put_off is None:
            levels.update(level_of(one.rank) for one in self._states.under_way(host) if not goes_last(one.rank))
            self._counts.put_off(host, levels)
        self._hosts[host.key] = host
        self._first = min(self._first, host.free_at)

    def due(self, now: float) -> list[Host]:
        """Take out those that may be asked again."""
        if now < self._first:
            return []
        due = [host for host in self._hosts.values() if host.free_at <= now]
        for host in due:
            del self._hosts[host.key]
            self._counts.take_up(host)
        self._first = min((host.free_at for host in self._hosts.values()), default=inf)
        return due

    def heard(self, host: Host, now: float) -> None:
        """The host has answered after all: silent, it is due; about to be so, it has its URLs back."""
        if self._levels.pop(host.key, None) is not None:
            self._states.rewind(host)
        if host.key in self._hosts:
            host.free_at = self._first = now

    def hurry(self, now: float) -> None:
        """All of them are due."""
        for host in self._hosts.values():
            host.free_at = self._first = now

    @property
    def queued(self) -> int:
        """URLs that wait for them."""
        return sum(host.queued for host in self._hosts.values()) if self._hosts else 0

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, key: object) -> bool:
        return key in self._hosts
