"""What a crawl on Redis was begun with: each shard has all of it, so one that has lost it can have it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sitecrawl.base.errors import FormatMismatch, StorageError
from sitecrawl.cluster.shards import FORMAT, Keys
from sitecrawl.cluster.survey import MOST_KEYS, literal
from sitecrawl.urls.fingerprint import HASH_NAME, KEY_SIZE, Fingerprinter

REPAIR: Final = b"repair"
"""A field of `crawl` while the crawl is repaired: no step does anything then (`shard.lua`)."""
_FIELDS: Final = (b"format", b"spider", b"hash", b"shards", b"buckets", b"order", b"max_depth", b"hold", b"key")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a crawl, as most of its shards have them."""

    keys: Keys
    fields: Mapping[bytes, bytes]

    @property
    def fingerprints(self) -> Fingerprinter:
        return Fingerprinter(bytes.fromhex(self.fields[b"key"].decode()))

    @property
    def buckets(self) -> int:
        return int(self.fields[b"buckets"])

    @property
    def keeps_levels(self) -> bool:
        """Whether no URL is lent before all of the levels above are done."""
        return int(self.fields[b"max_depth"]) > 0 and self.fields[b"order"] != b"dfs"

    def strange(self, client: Any, shard: int) -> Iterator[bytes]:
        """Fields of a shard that are not as most have them."""
        found = _all_of(client, self.keys.base(shard) + "crawl")
        yield from (field for field in _FIELDS if found.get(field) != self.fields[field])
        yield from found.keys() - {*_FIELDS, REPAIR}

    def restore(self, client: Any) -> None:
        """Let every shard have them."""
        for shard in range(self.keys.shards):
            key, strange = self.keys.base(shard) + "crawl", list(self.strange(client, shard))
            if strange and not _all_of(client, key):
                client.delete(key)  # of another type
            if strange:
                client.hset(key, mapping=self.fields)
            if strangers := set(strange) - set(_FIELDS):
                client.hdel(key, *strangers)


def facts_of(client: Any, crawl: str, where: str) -> Facts:
    """The facts of `crawl` on the Redis at `where`.

    Raises `StorageError` if there is no such crawl, or nobody can say what it was begun with; `FormatMismatch` for
    one of another version.
    """
    begins, ends = f"sitecrawl:{{{crawl}.", "}:crawl"
    names = client.scan_iter(f"{literal(begins)}*{literal(ends)}", count=MOST_KEYS)
    numbers = {name[len(begins) : -len(ends)].decode(errors="replace"): name for name in names}
    found = {int(number): _all_of(client, name) for number, name in numbers.items() if number.isdigit()}
    if not found:
        raise StorageError(f"There is no crawl {crawl!r} on Redis at {where}: SITECRAWL_CLUSTER_CRAWL names it")
    fields = {name: _most(found.values(), name) for name in _FIELDS}
    if not fields[b"shards"]:
        fields[b"shards"] = str(1 + max(found)).encode()
    lost = sorted(name.decode() for name, value in fields.items() if not _is_fact(name, value))
    if lost:
        raise StorageError(
            f"No shard of the crawl {crawl!r} on Redis at {where} says any more what it was begun with "
            f"({', '.join(lost)}): restore sitecrawl:{{{crawl}.0}}:crawl from a copy"
        )
    if (fields[b"format"], fields[b"hash"]) != (FORMAT.encode(), HASH_NAME.encode()):
        raise FormatMismatch(f"The crawl {crawl!r} on Redis at {where} is another version's: use that")
    return Facts(Keys(crawl, int(fields[b"shards"])), fields)


def _most(found: Iterable[Mapping[bytes, bytes]], field: bytes) -> bytes:
    """What most shards say; nothing if none says anything."""
    values = Counter(facts[field] for facts in found if field in facts and _is_fact(field, facts[field]))
    return values.most_common(1)[0][0] if values else b""


def _is_fact(field: bytes, value: bytes) -> bool:
    if field in {b"shards", b"buckets"}:
        return value.isdigit() and int(value) > 0
    if field == b"max_depth":
        return value.isdigit()
    if field == b"key":
        return len(value) == 2 * KEY_SIZE and all(letter in b"0123456789abcdef" for letter in value)
    if field == b"hold":
        return value in {b"0", b"1"}
    return value.isascii() and value.decode().isprintable() and (bool(value) or field == b"spider")


def _all_of(client: Any, key: str | bytes) -> dict[bytes, bytes]:
    """The fields of a hash; none if it is something else."""
    found: dict[bytes, bytes] = client.hgetall(key) if client.type(key) == b"hash" else {}
    return found
