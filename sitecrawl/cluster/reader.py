"""Reading a crawl on Redis from outside: what waits, what is held back, what is important.

It answers as `sitecrawl.frontier.reader.FrontierReader` does, while the crawl runs, and reads in small pieces: Redis
never waits for it. It sees each piece at another moment, so sums may be a little off. Redis has no text of URLs that
are done: those come from the workers' page stores, where `directory` is given.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Self, cast

from redis import RedisError

from sitecrawl.base.batches import batches
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.address import shown
from sitecrawl.cluster.connection import connect
from sitecrawl.cluster.shards import Keys, unpack
from sitecrawl.frontier.held import HeldSet, Unit, held_set, unit_of
from sitecrawl.frontier.hosts import Host
from sitecrawl.frontier.reader import KnownRule, KnownUrl, Site
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.sections import SAMPLES, Section
from sitecrawl.frontier.trap_state import TrapState
from sitecrawl.pagestore import Capture
from sitecrawl.pagestore.lookup import host_of
from sitecrawl.pagestore.workers import open_pages
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import site_of

_A_TIME: Final = 500
_FACTS: Final = frozenset({b"key", b"shards", b"buckets"})
"""What has to be known of a crawl before it can be read."""
_DONE = struct.Struct(">BHf")
_URL, _DEPTH, _HISTORY = 0, 2, 6
_TRAP = ("novelty", "demoted", "since", "reason", "tried", "cost", "limit")


class ClusterReader:
    """Reads the crawl called `crawl`. Raises `StorageError` if there is none, or Redis cannot be reached."""

    def __init__(self, params: Mapping[str, Any], crawl: str, directory: Path | None = None) -> None:
        self._client: Any = connect(params)
        self._directory = directory
        try:
            facts: Any = self._client.hgetall(Keys(crawl, 1).base(0) + "crawl")
        except RedisError as error:
            self._client.close()
            raise StorageError(f"Redis at {shown(params)} does not let the crawl be read: {error}") from error
        if not facts.keys() >= _FACTS:  # a worker that begins a crawl writes them one by one
            self._client.close()
            raise StorageError(f"There is no crawl {crawl!r} on this Redis: name it with SITECRAWL_CLUSTER_CRAWL")
        self._keys = Keys(crawl, int(facts[b"shards"]))
        self._buckets = int(facts[b"buckets"])
        self._fingerprints = Fingerprinter(bytes.fromhex(facts[b"key"].decode()))
        self._spent = sum(self._state(shard, "spent") for shard in range(self._keys.shards)) or 1.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._client.close()
        if isinstance(error, RedisError):
            raise StorageError(f"Redis does not answer: {error}") from error

    def _state(self, shard: int, name: str) -> float:
        return float(self._client.hget(self._keys.base(shard) + "state", name) or 0)

    # What waits

    def units(self, host: str | None = None, *, demoted: bool = False) -> Iterator[Unit]:
        """Hosts with URLs waiting, the most first, each followed by those of its sections that have some.

        As `FrontierReader.units`.
        """
        for found, section, fetches in self._units(host, demoted=demoted):
            yield unit_of(found, section or found, fetches)

    def held(self, host: str | None = None) -> Iterator[HeldSet]:
        """As `FrontierReader.held`, but for the URLs that were fetched, which Redis does not know by section."""
        for found, section, fetches in self._units(host, demoted=True):
            base = self._keys.base(self._keys.shard_of(found.name))
            sections = [section] if section is not None else list(self._sections(base, found.name))
            waiting = chain.from_iterable(self._queue(base, one.key) for one in sections)
            yield held_set(found, section, fetches, [], [url.url for url in islice(waiting, SAMPLES)])

    def _units(self, host: str | None, *, demoted: bool) -> Iterator[tuple[Host, Section | None, int]]:
        """Hosts, sections, and how many URLs their shard has fetched."""
        for name in self._hosts(host):
            base = self._keys.base(self._keys.shard_of(name))
            fetches = int(self._state(self._keys.shard_of(name), "fetches"))
            found = _host(name, unpack(self._client.hget(base + "hosts", name)))
            if found.trap.demoted or not demoted:
                yield found, None, fetches
            if found.trap.demoted and demoted:
                continue
            for section in sorted(self._sections(base, name), key=lambda one: one.queued, reverse=True):
                if section.queued and (section.trap.demoted or not demoted):
                    yield found, section, fetches

    def _hosts(self, name: str | None) -> list[str]:
        if name is not None:
            if not self._client.hexists(self._keys.base(self._keys.shard_of(name)) + "hosts", name):
                raise StorageError(f"The crawl knows no host {name}")
            return [name]
        found: list[tuple[int, str]] = []
        for shard in range(self._keys.shards):
            for key, packed in self._client.hscan_iter(self._keys.base(shard) + "hosts", count=_A_TIME):
                queued = int(unpack(packed)[1])
                if queued:
                    found.append((-queued, key.decode()))
        return [host for _, host in sorted(found)]

    def _sections(self, base: str, name: str) -> Iterator[Section]:
        """Those of a host that have URLs waiting, or are held back."""
        ids = set(self._client.zrange(f"{base}best:{name}", 0, -1))
        prefix = name.encode() + b"\0"
        held = [key for key in self._client.smembers(f"{base}demoted") if key.startswith(prefix)]
        for key in dict.fromkeys([*(prefix + part for part in ids), *held]):
            packed = self._client.hget(f"{base}sections", key)
            if packed is not None:
                yield _section(key, unpack(packed))

    def rules(self, host: str | None = None) -> Iterator[KnownRule]:
        """None: workers learn nothing of URLs yet."""
        yield from ()

    def waiting(self, host: str | None = None, *, demoted: bool = False) -> Iterator[KnownUrl]:
        """The URLs that wait, host by host, and in their order inside of each section."""
        for name in self._hosts(host):
            base = self._keys.base(self._keys.shard_of(name))
            whole = bool(_host(name, unpack(self._client.hget(base + "hosts", name))).trap.demoted)
            for section in self._sections(base, name):
                if whole or section.trap.demoted or not demoted:
                    yield from self._queue(base, section.key)

    def _queue(self, base: str, section: bytes) -> Iterator[KnownUrl]:
        start, queue = 0, base.encode() + b"q:" + section
        while keys := self._client.zrevrange(queue, start, start + _A_TIME - 1):
            for packed in self._client.hmget(base + "urls", keys):
                if packed is not None:
                    yield self._queued(unpack(packed))
            start += _A_TIME

    def _queued(self, record: list[Any]) -> KnownUrl:
        importance = record[_HISTORY] / self._spent
        return KnownUrl(importance, record[_DEPTH], 0, UrlState.QUEUED.name.lower(), record[_URL].decode())

    # Importance

    def top_urls(self, limit: int) -> list[KnownUrl]:
        """The `limit` most important URLs, the greatest first."""
        return heapq.nlargest(limit, (url for _, url in self._known()), key=lambda url: (url.importance, -url.depth))

    def top_sites(self, limit: int) -> list[Site]:
        """The `limit` sites whose URLs are the most important together, the greatest first."""
        sums: dict[str, list[float]] = {}
        for host, url in self._known():
            site = sums.setdefault(site_of(host), [0.0, 0, 0])
            site[0] += url.importance
            site[1] += url.state == UrlState.FETCHED.name.lower()
            site[2] += 1
        top = heapq.nlargest(limit, sums.items(), key=lambda item: item[1])
        return [Site(share, int(pages), int(known), name) for name, (share, pages, known) in top]

    def _known(self) -> Iterator[tuple[str, KnownUrl]]:
        """Hosts and URLs: those that wait, and those in the page stores."""
        for shard in range(self._keys.shards):
            for _, packed in self._client.hscan_iter(self._keys.base(shard) + "urls", count=_A_TIME):
                url = self._queued(unpack(packed))
                yield host_of(url.url), url
        if self._directory is None:
            return
        with open_pages(self._directory) as pages:
            captures = (
                one for one in pages.pages() if one.method == "GET" and one.kind in {"page", "redirect", "error"}
            )
            for chunk in batches(captures, _A_TIME):
                yield from self._done(chunk)

    def _done(self, captures: Iterable[Capture]) -> Iterator[tuple[str, KnownUrl]]:
        pipeline, asked = self._client.pipeline(transaction=False), list(captures)
        for capture in asked:
            key = self._fingerprints.url(capture.url_key)
            pipeline.hget(self._keys.done(self._keys.shard_of(capture.host), key, self._buckets), key)
        for capture, packed in zip(asked, pipeline.execute(), strict=True):
            if packed is not None:
                state, status, history = _DONE.unpack(packed)
                name = UrlState(state).name.lower()
                yield capture.host, KnownUrl(history / self._spent, capture.depth or 0, status, name, capture.url)


def _trap(numbers: list[Any]) -> TrapState:
    trap = TrapState()
    for name, value in zip(_TRAP, numbers, strict=True):
        setattr(trap, name, bool(value) if name == "demoted" else value)
    return trap


def _host(name: str, values: list[Any]) -> Host:
    host = Host(name.encode(), name)
    host.known, host.queued, host.fetched, host.good = values[:4]
    host.trap = _trap(values[15])
    return host


def _section(key: bytes, values: list[Any]) -> Section:
    section = Section(key, values[9].decode(), cast("Any", None))  # its queue is in Redis
    section.known, section.own, section.fetched, section.good, section.queued, section.trap_like = values[:6]
    section.trap = _trap(values[8])
    return section
