from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from sitecrawl.urls.fingerprint import BY_SITE


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of a crawl over all workers; 0 for no limit. All but `max_pages` are limits of a run."""

    max_pages: int = 0
    """URLs, as `SITECRAWL_MAX_PAGES`; the others as Scrapy's `CLOSESPIDER_*` of that name."""
    timeout: float = 0.0
    itemcount: int = 0
    pagecount: int = 0
    errorcount: int = 0
    timeout_no_item: float = 0.0
    pagecount_no_item: int = 0

    @property
    def of_run(self) -> dict[str, float]:
        """The `CLOSESPIDER_*` limits that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value and name != "max_pages"}

    def __str__(self) -> str:
        """The limits that are set, by the names of their settings."""
        named = {closing(name).upper(): value for name, value in self.of_run.items()}
        if self.max_pages:
            named = {"SITECRAWL_MAX_PAGES": self.max_pages, **named}
        return ", ".join(f"{name}={value}" for name, value in named.items()) or "no limits"


def closing(name: str) -> str:
    """Scrapy's finish reason for the limit of that name."""
    return f"closespider_{name}"


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
    """Which part of hosts' names decides their partition (`urls.fingerprint.SPLITS`); fixed when the crawl begins."""
    lease_seconds: float = 30.0
    """Silence of a worker, in seconds, after which its partitions go to others."""
    order: str = "aopic"
    unsafe: bool = False
    """Take a Redis that may lose the crawl: without persistence, or with eviction."""
    replicas: int = 0
    """Replicas that must have a write before it counts; not on a Redis Cluster."""
    max_depth: int = 0
    """Links from a seed, at most; 0 for no limit. Fixed when the crawl begins."""
    limits: CrawlLimits = CrawlLimits()
    cache: int = 65_536
    """Fingerprints in the cache of the worker's seen set (CLOCK)."""
    seeds_key: str = ""
    """Redis list, set or sorted set with further seeds, as scrapy-redis has it; empty for none."""
    watch: bool = False
    """Stay when nothing is left to do."""
