"""What a crawl's partitions on Redis say, from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from sitecrawl.cluster.entries import unpack_entry
from sitecrawl.cluster.snapshots import unpack_part
from sitecrawl.cluster.standing import Standing, Whole
from sitecrawl.cluster.steps import Keys
from sitecrawl.frontier.contract import Figures
from sitecrawl.frontier.moving import NO_FACTS, Facts, Row

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


def replayed(
    entries: Iterable[bytes], parts: Iterable[bytes] = (), *, fingerprint: Callable[[str], bytes]
) -> tuple[Facts, list[Row]]:
    """What the parts of a snapshot come to, and then the entries of a log."""
    facts, held = NO_FACTS, dict[tuple[str, bytes], bytes | None]()
    pieces = chain((unpack_part(part, fingerprint) for part in parts), map(unpack_entry, entries))
    for facts, rows in pieces:  # noqa: B007 - the last ones hold
        held.update(((family, key), value) for family, key, value in rows)
    return facts, [(*place, value) for place, value in held.items() if value is not None]
