"""What a crawl's keys on Redis promise one another (docs/design/cluster.md), checked: each fault by the key's name.

It reads in small pieces, in memory that does not grow with the crawl. While workers are at work each piece is of
another moment, so there is nothing to be said of sums.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgpack
from redis import RedisError

from sitecrawl.base.display import one_line
from sitecrawl.base.errors import StorageError
from sitecrawl.cluster.connection import connect, shown
from sitecrawl.cluster.options import WRAP
from sitecrawl.cluster.shards import Keys, unpack
from sitecrawl.pagestore.lookup import host_of

_A_TIME: Final = 500
_KEY_BYTES: Final = 16
_DONE_BYTES: Final = 7
_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("crawl", "state", "urls", "hosts", "sections", "streams", "trust", "graph", "seedhosts", "run", "tallies"),
        "hash",
    ),
    **dict.fromkeys(("done:", "l:", "out:", "told", "wish"), "hash"),
    **dict.fromkeys(("q:", "best:", "ready", "rest", "silent", "leases", "sessions", "starting", "heard"), "zset"),
    **dict.fromkeys(("outs", "demoted"), "set"),
    "scope": "list",
    "duty": "string",
}
"""Of what type a key is, by what comes after the shard's beginning, or by how that begins."""
_RECORDS: Final = {"urls": 14, "hosts": 16, "sections": 10}
"""How many values a record has, at least."""
_URL, _SECTION, _CREDIT, _MARK, _TOKEN = 0, 1, 4, 5, 12
_PAYEES, _OWN, _DIVIDEND_MARK, _REST = 5, 6, 7, 8


def audit(params: Mapping[str, Any], crawl: str) -> tuple[list[str], bool]:
    """The faults of the crawl called `crawl`, and whether workers are at work: then its sums were not checked.

    Raises `StorageError` if there is no such crawl, or Redis cannot be asked.
    """
    client: Any = connect(params)
    try:
        shards = client.hget(Keys(crawl, 1).base(0) + "crawl", "shards")
        if shards is None or not shards.isdigit():
            raise StorageError(
                f"There is no crawl {crawl!r} on Redis at {shown(params)}: SITECRAWL_CLUSTER_CRAWL names it"
            )
        keys = Keys(crawl, int(shards))
        if is_quiet(client, keys):
            return list(problems(client, keys)), False
        return list(spoilt(client, keys, range(keys.shards))), True
    except RedisError as error:
        raise StorageError(f"Redis at {shown(params)} cannot be asked about the crawl: {error}") from error
    finally:
        client.close()


def is_quiet(client: Any, keys: Keys) -> bool:
    """Whether no worker is believed to be alive."""
    now = int(1000 * time.time())
    return not any(client.zcount(keys.base(shard) + "sessions", now, "+inf") for shard in range(keys.shards))


def problems(client: Any, keys: Keys) -> Iterator[str]:
    """All faults, in words. Raises `redis.RedisError` if Redis cannot be asked."""
    found = spoilt(client, keys, range(keys.shards))
    first = next(found, None)
    if first is not None:  # what a shard promises can only be reckoned from what can be read
        yield first
        yield from found
        return
    total = held = 0
    for number in range(keys.shards):
        shard = _Shard(client, keys.base(number))
        yield from shard.problems()
        total += shard.count("total")
        held += shard.held()
    if held != total:
        yield f"The credit of the crawl {keys.crawl!r} is {held:,}, not {total:,}"


def spoilt(client: Any, keys: Keys, shards: Iterable[int]) -> Iterator[str]:
    """Keys of these shards that are not of their type, and records that cannot be read."""
    for base in map(keys.base, shards):
        wrong = set()
        for name in client.scan_iter(_literal(base) + "*", count=10_000):
            suffix = name[len(base.encode()) :].decode(errors="replace")
            wanted, kind = _type_of(suffix), client.type(name).decode()
            if wanted is None:
                yield f"{_shown(name)}: no such key is the crawl's"
            elif kind not in (wanted, "none"):  # none: it is gone by now
                wrong.add(suffix)
                yield f"{_shown(name)} is a {kind}, not a {wanted}"
        for family in _RECORDS.keys() - wrong:
            yield from _unreadable(client, base, family)


def _unreadable(client: Any, base: str, family: str) -> Iterator[str]:
    for field, packed in client.hscan_iter(base + family, count=_A_TIME):
        if not _is_record(packed, _RECORDS[family]):
            yield f"{base}{family}: the record of {_shown(field)} cannot be read"


def _is_record(packed: bytes, size: int) -> bool:
    try:
        record = unpack(packed)
    except (ValueError, msgpack.UnpackException):
        return False
    return isinstance(record, list) and len(record) >= size


def _type_of(suffix: str) -> str | None:
    exact = _TYPES.get(suffix)
    if exact is not None:
        return exact
    head, colon, _ = suffix.partition(":")
    return _TYPES.get(head + colon)


def _shown(name: bytes) -> str:
    return one_line(name.decode(errors="backslashreplace"))


def _literal(text: str) -> str:
    """`text` as a pattern that matches it alone."""
    return "".join(f"\\{letter}" if letter in "*?[]\\^{}" else letter for letter in text)


class _Shard:
    """One shard of which everything can be read."""

    def __init__(self, client: Any, base: str) -> None:
        self._client = client
        self._base = base
        self._state: dict[bytes, bytes] = client.hgetall(base + "state")
        self._urls = self._waiting = self._leased = 0
        self._credit = 0
        """Of the URLs that wait, what came to those that are lent since they were, and what hosts have left over."""
        self._lent = 0

    def count(self, name: str) -> int:
        return int(float(self._state.get(name.encode(), 0)))

    def problems(self) -> Iterator[str]:
        yield from self._of_urls()
        yield from self._of_leases()
        paid = self._add_hosts()
        if paid != self._waiting:
            yield f"{self._base}hosts: {paid:,} URLs are to be paid, and {self._waiting:,} wait"
        queued = sum(map(self._client.zcard, self._client.scan_iter(_literal(self._base) + "q:*", count=10_000)))
        if queued != self._waiting:
            yield f"{self._base}q:*: {queued:,} entries for {self._waiting:,} URLs that wait"
        done = sum(self.count(name) for name in ("fetched", "failed", "excluded"))
        promised = {"waiting": self._waiting, "leased": self._leased, "lent": self._lent, "known": self._urls + done}
        for name, number in promised.items():
            if self.count(name) != number:
                yield f"{self._base}state: {name} is {self.count(name):,}, not {number:,}"
        yield from self._of_done()

    def held(self) -> int:
        """All credit of the shard; to be asked after `problems`."""
        own = self.count("reserve") + self.count("sent") - self.count("arrived")
        return own + self._credit + self._lent

    def _of_urls(self) -> Iterator[str]:
        """A URL that waits is in the queue of its section, once, and its host's; one that is lent is in no queue."""
        urls = self._client.hscan_iter(self._base + "urls", count=_A_TIME)
        while chunk := [(key, unpack(packed)) for key, packed in islice(urls, _A_TIME)]:
            hosts = [host_of(record[_URL].decode(errors="replace")) for _, record in chunk]
            with self._client.pipeline(transaction=False) as pipeline:
                for (key, record), host in zip(chunk, hosts, strict=True):
                    queue = f"{self._base}q:{host}".encode() + b"\0" + _bytes(record[_SECTION])
                    pipeline.zscore(queue, key)
                scores = pipeline.execute()
            records = self._records(dict.fromkeys(hosts))
            for (key, record), host, score in zip(chunk, hosts, scores, strict=True):
                yield from self._of_url(key, record, records.get(host), is_queued=score is not None)

    def _of_url(self, key: bytes, record: list[Any], host: list[Any] | None, *, is_queued: bool) -> Iterator[str]:
        self._urls += 1
        url = _shown(record[_URL])
        if len(key) != _KEY_BYTES:
            yield f"{self._base}urls: {_shown(key)} is no fingerprint"
        if host is None:
            yield f"{self._base}hosts: there is no host for {url}"
        if is_queued == bool(record[_TOKEN]):
            yield f"{self._base}urls: {url} is {'lent, and waits' if is_queued else 'neither lent, nor waits'}"
        self._credit += int(record[_CREDIT])
        if not record[_TOKEN]:
            self._waiting += 1
            if host is not None:
                self._credit += (self._share(host)[0] - int(record[_MARK])) % WRAP

    def _of_leases(self) -> Iterator[str]:
        """What is lent has its token in its record."""
        for token in self._client.zrange(self._base + "leases", 0, -1):
            lease = self._client.hgetall(self._base + "l:" + token.decode())
            lent = {field: int(credit) for field, credit in lease.items() if len(field) == _KEY_BYTES}
            records = dict(
                zip(lent, self._client.hmget(self._base + "urls", list(lent)) if lent else [], strict=True)
            )
            for key, packed in records.items():
                self._leased += 1
                self._lent += lent[key]
                if packed is None or unpack(packed)[_TOKEN] != int(token):
                    yield f"{self._base}l:{token.decode()}: {_shown(key)} is not lent by its record"

    def _of_done(self) -> Iterator[str]:
        """A URL that is done has a record of its own size."""
        for name in self._client.scan_iter(_literal(self._base) + "done:*", count=10_000):
            for field, value in self._client.hscan_iter(name, count=_A_TIME):
                if len(field) != _KEY_BYTES or len(value) != _DONE_BYTES:
                    yield f"{_shown(name)}: {_shown(field)} cannot be read"

    def _add_hosts(self) -> int:
        """What hosts have left over goes to the credit. Returns how many URLs they are to pay."""
        paid = 0
        for _, packed in self._client.hscan_iter(self._base + "hosts", count=_A_TIME):
            host = unpack(packed)
            paid += int(host[_PAYEES])
            self._credit += self._share(host)[1]
        return paid

    def _records(self, hosts: Iterable[str]) -> dict[str, list[Any] | None]:
        names = list(hosts)
        found = self._client.hmget(self._base + "hosts", names) if names else []
        return {name: None if packed is None else unpack(packed) for name, packed in zip(names, found, strict=True)}

    def _share(self, host: list[Any]) -> tuple[int, int]:
        """What each waiting URL of a host has got from the lambda page up to now, and what is left over."""
        payees, own, mark, rest = (int(host[at]) for at in (_PAYEES, _OWN, _DIVIDEND_MARK, _REST))
        if not payees:
            return own, rest
        share, rest = divmod((self.count("dividend") - mark) % WRAP + rest, payees)
        return own + share, rest


def _bytes(value: bytes | str) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
