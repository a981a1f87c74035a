"""What a crawl's partitions on Redis say, from outside."""

from __future__ import annotations

from typing import Any

from sitecrawl.cluster.keys import Keys
from sitecrawl.cluster.standing import Standing, Whole
from sitecrawl.frontier.contract import Figures

SHARDS = 4
"""Of the workers' crawls, see `fleet.Worker`."""


def totals(client: Any, *, crawl: str = "generic", shards: int = SHARDS) -> Figures:
    """The crawl's counts."""
    names = [f"{Keys(crawl, shards).base(number)}state" for number in range(shards)]
    return Whole([Standing(0, client.hget(name, "tally") or b"", 0, 0) for name in names]).figures()


def steps(client: Any) -> int:
    """Scripts that Redis has run since it was started: some ten a second, whatever else goes on."""
    found = client.info("commandstats")
    return sum(found[name]["calls"] for name in ("cmdstat_eval", "cmdstat_evalsha") if name in found)


def holders(client: Any, *, crawl: str = "generic", shards: int = SHARDS) -> list[str]:
    """The session that has each partition; empty where nobody has."""
    leases = [client.get(f"{Keys(crawl, shards).base(number)}lease") for number in range(shards)]
    return [lease.decode().partition(":")[2] if lease else "" for lease in leases]


def are_lent(client: Any, **crawl: Any) -> bool:
    """Whether somebody has any partition."""
    return any(holders(client, **crawl))
