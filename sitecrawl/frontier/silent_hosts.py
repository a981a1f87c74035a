"""Hosts that have answered before and have ceased to: what waits for them stays, for later or for the next run."""

from __future__ import annotations

from math import inf

from sitecrawl.frontier.hosts import Host


class SilentHosts:
    """By their keys. Each is asked again at its `free_at`, on the frontier's clock."""

    def __init__(self) -> None:
        self._hosts: dict[bytes, Host] = {}
        self._first = inf
        """When the first of them is due, or before."""

    def add(self, host: Host) -> None:
        self._hosts[host.key] = host
        self._first = min(self._first, host.free_at)

    def due(self, now: float) -> list[Host]:
        """Take out those that may be asked again."""
        if now < self._first:
            return []
        due = [host for host in self._hosts.values() if host.free_at <= now]
        for host in due:
            del self._hosts[host.key]
        self._first = min((host.free_at for host in self._hosts.values()), default=inf)
        return due

    def heard(self, host: Host, now: float) -> None:
        """The host has answered after all: if it was silent, it is due."""
        if host.key in self._hosts:
            host.free_at = self._first = now

    @property
    def queued(self) -> int:
        """URLs that wait for them."""
        return sum(host.queued for host in self._hosts.values())

    def __contains__(self, key: object) -> bool:
        return key in self._hosts
