"""Options of a worker, and how a Redis is named: by its URL (docs/scaling.md), as commands and settings have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from sitecrawl.base.errors import OptionError

SCHEMES: Final = ("redis://", "rediss://", "unix://", "redis+sentinel://", "rediss+sentinel://")
_BY_SENTINELS: Final = "+sentinel"
_PORT: Final = 26379
_FOR_SENTINELS: Final = "sentinel_"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Options of a worker of a crawl on Redis."""

    MOST_SHARDS: ClassVar[int] = 1024

    redis: Mapping[str, Any]
    """Arguments of the client: `url`, or `host`, `port`, ..."""
    crawl: str
    """The crawl's name: workers with the same name work on the same crawl. Without braces, whitespace and control
    characters: it is a part of the keys' hash tags."""
    spider: str = ""
    """Spider of the waiting requests; workers of another spider are refused."""
    shards: int = 16
    """Partitions of the web; fixed when the crawl begins."""
    lease_seconds: float = 30.0
    """Silence of a worker, in seconds, after which its partitions go to others."""
    order: str = "aopic"
    unsafe: bool = False
    """Take a Redis that may lose the crawl: without persistence, or with eviction."""
    replicas: int = 0
    """Replicas that must have a write before it counts; not on a Redis Cluster."""
    max_depth: int = 0
    """Links from a seed, at most; 0 for no limit. Fixed when the crawl begins."""
    max_pages: int = 0
    """URLs that all workers together may fetch, over all runs; 0 for no limit."""
    cache: int = 65_536
    """Fingerprints in the cache of the worker's seen set (CLOCK)."""
    seeds_key: str = ""
    """Redis list, set or sorted set with further seeds, as scrapy-redis has it; empty for none."""
    watch: bool = False
    """Stay when nothing is left to do."""


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """The master of `service`, whichever it is."""

    sentinels: tuple[tuple[str, int], ...]
    """Hosts and ports; any of them may be away."""
    service: str
    master: Mapping[str, Any]
    """Arguments of the connections to the master: `db`, `username`, `ssl_ca_certs`, ..."""
    asking: Mapping[str, Any]
    """Arguments of the connections to the sentinels."""


def sentinels_of(url: str) -> SentinelAddress | None:
    """None where `url` names no sentinels. Raises `OptionError` for one that does so wrongly."""
    scheme, _, rest = url.partition("://")
    if not scheme.endswith(_BY_SENTINELS):
        return None
    from redis.connection import parse_url  # noqa: PLC0415 - it takes long to import, and most crawls need none

    try:
        parts = urlsplit(f"//{rest}")
        user, _, hosts = parts.netloc.rpartition("@")
        service, _, db = parts.path.strip("/").partition("/")
        nodes = tuple(_node(host) for host in hosts.split(","))
        plain = scheme.removesuffix(_BY_SENTINELS)
        one = f"{plain}://{user}{'@' if user else ''}{nodes[0][0]}/{int(db or 0)}?{parts.query}"
        given = parse_url(one)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise OptionError(f"{shown({'url': url})} is no URL of sentinels: {error}") from error
    if not service:
        raise OptionError(f"{shown({'url': url})} names no service: {scheme}://HOST:PORT,HOST:PORT/SERVICE/DB")
    for name in ("host", "port", "connection_class"):
        given.pop(name, None)
    master = {name: value for name, value in given.items() if not name.startswith(_FOR_SENTINELS)}
    tls = {"ssl": True} if plain == "rediss" else {}
    asking = {name: value for name, value in master.items() if name.startswith("ssl_")}
    asking |= {name.removeprefix(_FOR_SENTINELS): value for name, value in given.items() if name not in master}
    return SentinelAddress(nodes, service, {**master, **tls}, {**asking, **tls})


def _node(text: str) -> tuple[str, int]:
    """Raises `ValueError`."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("a host is missing")
    return parts.hostname, parts.port or _PORT


def shown(params: Mapping[str, Any]) -> str:
    """Which Redis it is, for a message: without a password, wherever that stands."""
    url = str(params.get("url", ""))
    if not url:
        return f"{params.get('host', 'localhost')}:{params.get('port', 6379)}"
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("?")
    if "@" in query and "@" not in place:  # it may be a password that has the question mark
        place = "..."
    return f"{scheme}://{place.rpartition('@')[2]}"
