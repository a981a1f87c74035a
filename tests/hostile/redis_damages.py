"""What may happen to a crawl's keys on Redis: they are gone, of another type, cut, or hold something else."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final


def spoil(client: Any, random: Random) -> str:
    """Do something to one key, or to one thing in it; says what."""
    names = sorted(client.scan_iter("sitecrawl:*", count=10_000))
    families = sorted({_family(name) for name in names})
    family = random.choice(families)  # else the many queues would take most of what comes
    name = random.choice([name for name in names if _family(name) == family])
    what = random.choice(sorted(SPOILS))
    return f"{what} {name!r} {SPOILS[what](client, name, random)}"


def _family(name: bytes) -> bytes:
    return name.partition(b"}:")[2].partition(b":")[0]


def _delete(client: Any, name: bytes, random: Random) -> str:
    client.delete(name)
    return ""


def _retype(client: Any, name: bytes, random: Random) -> str:
    is_text = client.type(name) == b"string"
    client.delete(name)
    client.rpush(name, "x") if is_text else client.set(name, random.randbytes(8))
    return ""


def _take_out(client: Any, name: bytes, random: Random) -> str:
    """One field, member or element is gone."""
    kind, one = client.type(name), _one_of(client, name, random)
    {b"hash": client.hdel, b"zset": client.zrem, b"set": client.srem}.get(kind, lambda *_: client.delete(name))(
        name, one
    )
    return repr(one)


def _cut(client: Any, name: bytes, random: Random) -> str:
    return _change(client, name, random, lambda value: value[: random.randrange(max(1, len(value)))])


def _scramble(client: Any, name: bytes, random: Random) -> str:
    """Some bytes in a row are others."""

    def scrambled(value: bytes) -> bytes:
        if not value:
            return random.randbytes(4)
        at, length = random.randrange(len(value)), random.randint(1, 8)
        return value[:at] + random.randbytes(length) + value[at + length :]

    return _change(client, name, random, scrambled)


def _change(client: Any, name: bytes, random: Random, change: Callable[[bytes], bytes]) -> str:
    """A value becomes another; of what has only names, a name."""
    kind, one = client.type(name), _one_of(client, name, random)
    if kind == b"hash":
        client.hset(name, one, change(client.hget(name, one)))
    elif kind == b"zset":
        score = client.zscore(name, one)
        client.zrem(name, one)
        client.zadd(name, {change(one): score})
    elif kind == b"set":
        client.srem(name, one)
        client.sadd(name, change(one))
    elif kind == b"list":
        client.lset(name, 0, change(one))
    else:
        client.set(name, change(one))
    return repr(one)


def _one_of(client: Any, name: bytes, random: Random) -> bytes:
    kind = client.type(name)
    if kind == b"hash":
        return random.choice(sorted(client.hkeys(name)))
    if kind == b"zset":
        return random.choice(sorted(client.zrange(name, 0, -1)))
    if kind == b"set":
        return random.choice(sorted(client.smembers(name)))
    found: bytes = client.lindex(name, 0) if kind == b"list" else client.get(name)
    return found


SPOILS: Final[dict[str, Callable[[Any, bytes, Random], str]]] = {
    "delete": _delete,
    "retype": _retype,
    "take out of": _take_out,
    "cut": _cut,
    "scramble": _scramble,
}
