"""Settings of a shared crawl: on a cluster, or by several processes on one machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scrapy.settings import BaseSettings

from sitecrawl.base import declared
from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.base.expressions import expression
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.crawl.configuration import secret
from sitecrawl.crawl.directories import only_looks
from sitecrawl.frontier.urls.order import order_named


def process_name() -> str:
    """Name of this process among workers."""
    return f"{socket.gethostname()}-{os.getpid()}"


def workers(settings: BaseSettings) -> tuple[int, bool]:
    """Number of processes that share the crawl, and whether it was `auto`. Raises `OptionError`."""
    given = str(declared.WORKERS.read(settings))
    if given == "auto":
        _check_frontier(settings)
        return min(_usable_cores(), ClusterOptions.MOST_SHARDS), True
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= ClusterOptions.MOST_SHARDS:
        raise OptionError(
            f"SITECRAWL_WORKERS is {given!r}, and has to be auto, for one each core, or a whole number from 1 to "
            f"{ClusterOptions.MOST_SHARDS}"
        )
    if int(given) > 1:
        _check_frontier(settings)
    return int(given), False


def _check_frontier(settings: BaseSettings) -> None:
    if declared.FRONTIER.read(settings):
        raise OptionError(
            "Workers share sitecrawl's own frontier alone: leave out SITECRAWL_FRONTIER, or SITECRAWL_WORKERS and "
            "SITECRAWL_CLUSTER"
        )


def cluster(settings: BaseSettings, spider: str) -> ClusterOptions | None:
    """This process' part in a crawl on Redis; None if it crawls alone. Raises `OptionError`."""
    params = None if only_looks() else redis_of(settings)
    if params is None:
        return None
    _check_frontier(settings)
    order_named(declared.ORDER.read(settings))
    return ClusterOptions(
        redis=params,
        crawl=shared_name(settings, spider),
        spider=spider,
        shards=declared.CLUSTER_SHARDS.read(settings),
        lease_seconds=declared.LEASE_SECONDS.read(settings),
        order=declared.ORDER.read(settings),
        unsafe=declared.CLUSTER_UNSAFE.read(settings),
        replicas=declared.CLUSTER_REPLICAS.read(settings),
        max_depth=settings.getint("DEPTH_LIMIT"),
        max_pages=declared.MAX_PAGES.read(settings),
        cache=declared.SEEN_CACHE.read(settings),
        seeds_key=_seeds_key(settings, spider),
        watch=declared.CLUSTER_WATCH.read(settings),
    )


def shared_name(settings: BaseSettings, spider: str) -> str:
    """Name of the crawl on Redis. Raises `OptionError`."""
    name: str = declared.CLUSTER_CRAWL.read(settings) or spider
    if _NO_NAME.search(name) or len(name) > _LONGEST_NAME:
        raise OptionError(
            f"A crawl on Redis is named by up to {_LONGEST_NAME} characters without braces and spaces, and not "
            f"{name[:_LONGEST_NAME]!r}: set SITECRAWL_CLUSTER_CRAWL"
        )
    return name


_NO_NAME: Final = expression(r"[{}\s\x00-\x1f\x7f]")
"""Characters not allowed in names: braces would move the hash tag, and so the shards of a Redis Cluster; the rest
cannot be typed."""
_LONGEST_NAME: Final = 200
_REDIS: Final = {"REDIS_URL": "url", "REDIS_HOST": "host", "REDIS_PORT": "port", "REDIS_DB": "db"}


def redis_of(settings: BaseSettings) -> dict[str, Any] | None:
    """Client arguments for the Redis of SITECRAWL_CLUSTER and scrapy-redis' settings; None without.

    Raises `OptionError`.
    """
    named = secret(settings, "SITECRAWL_CLUSTER")
    if named in {"", "0", "False", "false"}:
        return None
    params = _redis_params(settings)
    if "://" in named:
        params["url"] = named
    elif named not in {"1", "True", "true"}:
        raise OptionError(f"SITECRAWL_CLUSTER is {named!r}, and has to be a URL of a Redis, or True for REDIS_URL")
    return params


def _redis_params(settings: BaseSettings) -> dict[str, Any]:
    """Client arguments by scrapy-redis' settings."""
    given = {name: secret(settings, setting) for setting, name in _REDIS.items()}
    return {**settings.getdict("REDIS_PARAMS"), **{name: value for name, value in given.items() if value}}


def _seeds_key(settings: BaseSettings, spider: str) -> str:
    """Key of the seed queue on Redis, as in scrapy-redis."""
    return (settings.get("REDIS_START_URLS_KEY") or "%(name)s:start_urls") % {"name": spider}


def waiting_seeds(settings: BaseSettings, spider: str) -> str:
    """Hint which setting to set if seeds wait on the Redis of scrapy-redis' settings and the crawl is not shared;
    else empty.
    """
    params, key = _redis_params(settings), _seeds_key(settings, spider)
    if not params:
        return ""
    from redis import RedisError  # noqa: PLC0415 - it takes long to import

    from sitecrawl.cluster.address import shown  # noqa: PLC0415 - beside it
    from sitecrawl.cluster.connection import connect  # noqa: PLC0415 - which imports it

    try:
        with connect(params) as client:
            waits = bool(client.exists(key))
    except (RedisError, OptionError, StorageError):
        return ""
    return (
        f"Seeds wait in {key} on Redis at {shown(params)}, and this crawl is not shared: set SITECRAWL_CLUSTER=True, "
        "and every worker that is started so takes them; or -a seeds=... for a crawl of its own"
    ) * waits


_STDOUT: Final = ("-", "stdout:")


def check_feeds(settings: BaseSettings) -> None:
    """Raises `OptionError` for what many workers cannot write."""
    if any(str(uri) in _STDOUT for uri in settings.getdict("FEEDS")):
        raise OptionError(
            "Many workers cannot write their items to stdout, one through the other: name a file, of which each "
            "worker writes one of its own, or use SITECRAWL_WORKERS=1"
        )


def name_own_feeds(settings: BaseSettings) -> None:
    """Let the feeds be those of this worker: `items.jsonl` becomes `items-worker-2.jsonl`."""
    if feeds := settings.getdict("FEEDS"):
        own = {own_file(str(uri), settings): options for uri, options in feeds.items()}
        settings.set("FEEDS", own, settings.getpriority("FEEDS") or 0)


def own_file(uri: str, settings: BaseSettings) -> str:
    """That of this worker: its name stands before the endings."""
    worker = Path(settings["JOBDIR"]).name
    folder, slash, name = uri.rpartition("/")
    stem, dot, endings = name.partition(".")
    return f"{folder}{slash}{stem}-{worker}{dot}{endings}"


_ROOT = Path("/")


def _usable_cores(root: Path = _ROOT) -> int:
    """Number of cores by processor affinity and control groups' limits, whichever is less, rounded down; at least 1.
    `root` is the folder of `proc` and `sys`.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([float(cores), *_limits(root)])))


def _limits(root: Path) -> Iterator[float]:
    """Yield the limit, in cores, of each control group of this process (man 7 cgroups: cpu.max of version 2,
    cpu.cfs_* of version 1). In a container the path may be the host's; then only the topmost group is visible.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.lstrip("/")
        while group.is_relative_to(top):
            if controllers:
                quota = [_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")]
            else:
                quota = _text(group / "cpu.max").split()
            if len(quota) == 2 and all(part.strip().isdigit() for part in quota) and int(quota[1]):
                yield int(quota[0]) / int(quota[1])
            group = group.parent


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
