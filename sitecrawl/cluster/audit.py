"""What a crawl's keys on Redis promise one another (docs/design/cluster.md), checked: each fault by the key's name.

It reads in small pieces. While workers are at work each piece is of another moment, so there is nothing to be said of
sums; else a shard is added up by `shard_audit`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from redis import RedisError, ResponseError

from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.address import shown
from sitecrawl.cluster.connection import connect
from sitecrawl.cluster.facts import REPAIR, Facts, facts_of
from sitecrawl.cluster.records import A_TIME, FAR, Blob, Reading, is_tally, number_of, readable
from sitecrawl.cluster.shard_audit import ShardAudit
from sitecrawl.cluster.shards import Keys
from sitecrawl.cluster.survey import MOST_KEYS, Survey, literal

_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("crawl", "state", "urls", "hosts", "sections", "streams", "trust", "graph", "seedhosts", "run", "tallies"),
        "hash",
    ),
    **dict.fromkeys(("done:", "l:", "out:", "told", "wish"), "hash"),
    **dict.fromkeys(
        ("q:", "best:", "ready", "rest", "deep", "silent", "leases", "sessions", "starting", "heard"), "zset"
    ),
    **dict.fromkeys(("outs", "demoted"), "set"),
    "scope": "list",
    "duty": "string",
}
"""Of what type a key is, by what comes after the shard's beginning, or by how that begins."""
NUMBERS: Final = ("state", "streams", "trust", "graph", "seedhosts")
"""Hashes whose values are numbers."""
DEADLINES: Final = ("leases", "sessions", "starting", "silent")
"""Sorted sets whose scores are times."""


@contextmanager
def opened(params: Mapping[str, Any], crawl: str) -> Iterator[tuple[Any, Facts]]:
    """A client for the crawl called `crawl`, and what it was begun with.

    Raises `StorageError` if there is no such crawl, or Redis cannot be asked.
    """
    client: Any = connect(params)
    try:
        yield client, facts_of(client, crawl, shown(params))
    except RedisError as error:
        raise StorageError(f"Redis at {shown(params)} cannot be asked about the crawl: {error}") from error
    finally:
        client.close()


def audit(params: Mapping[str, Any], crawl: str) -> tuple[list[str], bool]:
    """The faults of the crawl called `crawl`, and whether workers are at work: then its sums were not checked.

    Raises `StorageError` if there is no such crawl, or Redis cannot be asked.
    """
    with opened(params, crawl) as (client, facts):
        if is_quiet(client, facts.keys):
            return [*unfinished(client, facts), *problems(client, facts)], False
        return list(spoilt(client, facts, range(facts.keys.shards))), True


def is_quiet(client: Any, keys: Keys) -> bool:
    """Whether no worker is believed to be alive."""
    now = int(1000 * time.time())
    return not any(_alive(client, keys.base(shard) + "sessions", now) for shard in range(keys.shards))


def _alive(client: Any, sessions: str, now: int) -> int:
    """How many workers are; none where the key is something else, for then none could work."""
    try:
        return int(client.zcount(sessions, now, now + FAR))
    except ResponseError:
        return 0


def problems(client: Any, facts: Facts) -> Iterator[str]:
    """All faults, in words. Raises `redis.RedisError` if Redis cannot be asked."""
    found = spoilt(client, facts, range(facts.keys.shards))
    first = next(found, None)
    if first is not None:  # what a shard promises can only be reckoned from what can be read
        yield first
        yield from found
        return
    yield from _run_faults(client, facts.keys.base(0))
    total = held = sent = undelivered = 0
    budget = 0
    for number in range(facts.keys.shards):
        survey = Survey(client, facts.keys, number, facts.fingerprints)
        yield from ShardAudit(client, survey, keeps_levels=facts.keeps_levels).problems()
        total += survey.count("total")
        held += survey.held
        sent += survey.count("sent") - survey.count("arrived")
        undelivered += in_outboxes(client, facts.keys, survey, number)
        budget += _budget(client, facts.keys, survey, number)
    if held != total:
        yield f"The credit of the crawl {facts.keys.crawl!r} is {held:,}, not {total:,}"
    if sent != undelivered:
        yield f"The credit in outboxes of the crawl {facts.keys.crawl!r} is {undelivered:,}, not {sent:,}"
    limit = _granted(client, facts.keys)
    if limit and budget != limit:
        yield f"max_pages of the crawl {facts.keys.crawl!r} is {limit:,}, and its parts add up to {budget:,}"


def _run_faults(client: Any, base: str) -> Iterator[str]:
    """What of the limits of the run cannot be read: no worker could begin."""
    for field, value in client.hgetall(base + "run").items():
        if field not in {b"limits", b"met"} and number_of(value) is None:
            yield f"{base}run: {readable(field)} is no number"
    for stream, packed in client.hscan_iter(base + "tallies", count=A_TIME):
        if not is_tally(packed):
            yield f"{base}tallies: that of {readable(stream)} cannot be read"


def _budget(client: Any, keys: Keys, survey: Survey, number: int) -> int:
    """What the shard `number` has of `max_pages`: it may lend so many, has lent or fetched them, or sent them on."""
    sent = (blob.budget for blob in _on_their_way(client, keys, survey, number))
    return survey.count("budget") + survey.leased + survey.count("fetched") + sum(sent)


def _granted(client: Any, keys: Keys) -> int:
    """The limit of pages that all shards keep to; 0 if there is none, or it has only begun to be said."""
    account, limit = (int(number_of(one) or 0) for one in client.hmget(keys.base(0) + "run", "account", "max_pages"))
    states = [client.hmget(keys.base(shard) + "state", "account", "granted") for shard in range(keys.shards)]
    accounts = {int(number_of(state[0]) or 0) for state in states}
    return max(0, limit) if accounts == {account} == {int(number_of(states[0][1]) or 0)} else 0


def in_outboxes(client: Any, keys: Keys, survey: Survey, number: int) -> int:
    """The credit that has left the shard `number` and reached no other."""
    return sum(blob.credit for blob in _on_their_way(client, keys, survey, number))


def _on_their_way(client: Any, keys: Keys, survey: Survey, number: int) -> Iterator[Blob]:
    for _, field, blob in survey.outbox():
        if blob is not None and not has_arrived(client, keys, number, field):
            yield blob


def has_arrived(client: Any, keys: Keys, number: int, field: bytes) -> bool:
    """Whether what the outbox of the shard `number` has under this field has been taken where it was to go."""
    stream, seq, target = field.decode().rsplit(":", 2)
    return int(client.hget(keys.base(int(target)) + "streams", f"{number}/{stream}") or 0) >= int(seq)


def spoilt(client: Any, facts: Facts, shards: Iterable[int]) -> Iterator[str]:
    """Keys of these shards that are not of their type, and what in them cannot be read."""
    for shard in shards:
        yield from _spoilt(client, facts, shard)


def _spoilt(client: Any, facts: Facts, shard: int) -> Iterator[str]:
    base, wrong = facts.keys.base(shard), set()
    for name, wanted, kind in strangers(client, base):
        wrong.add(name[len(base) :].decode(errors="replace"))
        told = f"is a {kind}, not a {wanted}" if wanted else "is no key of the crawl"
        yield f"{readable(name)} {told}"
    if "crawl" not in wrong:
        yield from (
            f"{base}crawl: {readable(one)} is not as other shards have it" for one in facts.strange(client, shard)
        )
    reading = Reading(facts.keys, shard, facts.fingerprints)
    readers = {"urls": reading.url, "hosts": reading.host, "sections": reading.section}
    for family in readers.keys() - wrong:
        for field, packed in client.hscan_iter(base + family, count=A_TIME):
            if readers[family](field, packed) is None:
                yield f"{base}{family}: the record of {readable(field)} cannot be read"
    for family in set(NUMBERS) - wrong:
        for field, value in client.hscan_iter(base + family, count=A_TIME):
            if number_of(value) is None:
                yield f"{base}{family}: {readable(field)} is no number"
    for family in set(DEADLINES) - wrong:
        yield from (f"{base}{family}: {readable(one)} never ends" for one in endless(client, base + family))


def strangers(client: Any, base: str) -> Iterator[tuple[bytes, str | None, str]]:
    """Keys that are not of their type: the type that they ought to have, None for no key of a crawl, and have."""
    for name in client.scan_iter(literal(base) + "*", count=MOST_KEYS):
        wanted, kind = _type_of(name[len(base) :].decode(errors="replace")), client.type(name).decode()
        if kind not in (wanted, "none"):  # none: it is gone by now
            yield name, wanted, kind


def endless(client: Any, key: str) -> list[bytes]:
    """Members whose time is further ahead than any that a worker notes down."""
    found: list[bytes] = client.zrangebyscore(key, int(1000 * time.time()) + FAR, "+inf")
    return found


def unfinished(client: Any, facts: Facts) -> Iterator[str]:
    """Shards on which a repair has begun and not ended: they must not be of another type."""
    for base in map(facts.keys.base, range(facts.keys.shards)):
        if client.type(base + "crawl") == b"hash" and client.hexists(base + "crawl", REPAIR):
            yield f"{base}crawl: a repair has begun, and has not ended"


def _type_of(suffix: str) -> str | None:
    exact = _TYPES.get(suffix)
    if exact is not None:
        return exact
    head, colon, _ = suffix.partition(":")
    return _TYPES.get(head + colon)
