from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sitecrawl.base.hashing import BY_SITE


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
    split: str = BY_SITE
    """Which part of hosts' names decides their partition (`base.hashing.SPLITS`); fixed when the crawl begins."""
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
