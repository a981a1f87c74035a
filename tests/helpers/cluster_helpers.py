"""Steps on a shard without an event loop, and an audit of all that a crawl's keys promise one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from sitecrawl.cluster.options import BRINGS, WRAP, ClusterOptions, limits_of
from sitecrawl.cluster.parcel import Outcome, Packer, Parcel, ParcelLink
from sitecrawl.cluster.shards import Keys, open_crawl, pack, script, unpack
from sitecrawl.frontier.options import TrapOptions
from sitecrawl.seen.clock import Clock
from sitecrawl.urls.fingerprint import Fingerprinter

KEY = Fingerprinter(bytes(16))


def link(url: str, *, depth: int = 1, weight: int = 10, flags: int = 0, **rest: Any) -> ParcelLink:
    return ParcelLink(KEY.url(url), url, url.split("/")[2], depth, weight, flags=flags, **rest)


def seed(url: str) -> ParcelLink:
    return link(url, depth=0, weight=0, flags=BRINGS)


class Steps:
    """A crawl on `client`, step by step."""

    def __init__(self, client: redis.Redis | redis.RedisCluster, **options: Any) -> None:
        self.client: Any = client
        crawl = options.pop("crawl", "test")
        # A crawl of real workers has its spider's name.
        self.options = ClusterOptions({}, crawl, spider="" if crawl == "test" else crawl, **options)
        open_crawl(client, self.options)
        self.keys = Keys(self.options.crawl, self.options.shards)
        self.packer = Packer(self.keys.shard_of, Clock(1000))
        self.seqs: dict[tuple[str, int], int] = {}
        self.traps = TrapOptions()

    def call(self, shard: int, step: str, session: str = "one", **args: Any) -> dict[bytes, Any]:
        common = {"session": session, "ms": 60_000, "channel": self.keys.channel, "shard": shard}
        text, _ = script(step, self.traps)
        return unpack(self.client.eval(text, 1, self.keys.base(shard), pack({**common, **args})))

    def parcel(self, shard: int, outcomes: Sequence[Outcome], session: str = "one") -> Parcel:
        seq = self.seqs[session, shard] = self.seqs.get((session, shard), 0) + 1
        return Parcel(shard, session, seq, list(outcomes))

    def send(self, parcel: Parcel, session: str = "one") -> Any:
        """1 if it was taken, 0 if it had been, or the numbers of its stale pages."""
        return self._apply(parcel.shard, self.packer.pack(parcel), session)

    def _apply(self, shard: int, packed: dict[str, Any], session: str) -> Any:
        return self.call(shard, "apply", session, parcels=[packed], **limits_of(self.options))[b"answers"][0]

    def forward(self, parcel: Parcel, session: str = "one") -> None:
        """What the parcel has for other shards goes there, and out of the outbox."""
        for target, blob in self.packer.pack(parcel)["out"].items():
            packed = {"stream": f"{parcel.shard}/{parcel.stream}", "seq": parcel.seq, "blob": blob, "pages": []}
            self._apply(int(target), packed, session)
            field = f"{parcel.stream}:{parcel.seq}:{target}"
            self.call(parcel.shard, "renew", session, tokens=[], arrived=[field])

    def add(self, *links: ParcelLink, session: str = "one") -> None:
        for one in links:
            shard = self.keys.shard_of(one.host)
            assert self.send(self.parcel(shard, [Outcome(links=[one])], session), session) == 1

    def lease(self, shard: int, session: str = "one", want: int = 10, **args: Any) -> list[list[Any]]:
        """Leases: token, host, failures, crawl delay, fetched, queued, urls."""
        given = {"want": want, "hosts": want, "span": 1000, "most": 10, **args}
        found: list[list[Any]] = self.call(shard, "lease", session, **given)[b"leases"]
        return found

    def release(self, shard: int, lease: list[Any], *keys: bytes, pause: int = 0, session: str = "one") -> None:
        self.call(
            shard, "release", session, hosts=[[lease[0], lease[1], pause, 0, 0, 1, 0, list(keys)]], revival=1000
        )

    def expire(self, shard: int, token: int) -> None:
        """Let the time of a lease be over."""
        self.client.zadd(self.keys.base(shard) + "leases", {str(token): 0})

    def state(self, shard: int) -> dict[str, float]:
        found = self.client.hgetall(self.keys.base(shard) + "state")
        return {name.decode(): float(value) for name, value in found.items()}

    def waiting(self) -> set[str]:
        return {
            record[0].decode()
            for shard in range(self.options.shards)
            for record in map(unpack, self.client.hvals(self.keys.base(shard) + "urls"))
            if not record[12]
        }

    def done(self) -> int:
        pattern = f"sitecrawl:{{{self.options.crawl}.*}}:done:*"
        return sum(self.client.hlen(key) for key in self.client.scan_iter(pattern, count=10_000))


def outcome(lease: list[Any], url: list[Any], *links: ParcelLink, state: int = 1, good: bool = True) -> Outcome:
    """A lent URL has been fetched."""
    return Outcome(url[0], lease[0], lease[1].decode(), state, 200, good, url[4], flags=url[5], links=list(links))


def audit(steps: Steps) -> None:
    """Every count is that of the records, every URL is in one place, and no credit was made or lost."""
    total = held = 0
    for shard in range(steps.options.shards):
        base, state = steps.keys.base(shard), steps.state(shard)
        client = steps.client
        urls = {key: unpack(value) for key, value in client.hgetall(base + "urls").items()}
        hosts = {name: unpack(value) for name, value in client.hgetall(base + "hosts").items()}
        queued: dict[bytes, bytes] = {}
        for key in client.scan_iter(base.replace("{", "\\{") + "q:*", count=10_000):
            section = key[len(base.encode()) + 2 :]
            for member in client.zrange(key, 0, -1):
                assert member not in queued
                queued[member] = section.partition(b"\0")[0]
        lent: dict[bytes, int] = {}
        for token in client.zrange(base + "leases", 0, -1):
            fields = client.hgetall(base + "l:" + token.decode())
            for field, credit in fields.items():
                if len(field) == 16:
                    assert field not in lent
                    lent[field] = int(credit)
                    assert urls[field][12] == int(token)
        assert queued.keys() | lent.keys() == urls.keys()
        assert not queued.keys() & lent.keys()
        assert state.get("waiting", 0) == len(queued)
        assert state.get("leased", 0) == len(lent)
        assert state.get("lent", 0) == sum(lent.values())
        assert state.get("known", 0) == len(urls) + sum(state.get(n, 0) for n in ("fetched", "failed", "excluded"))
        total += int(state.get("total", 0))
        held += int(state.get("reserve", 0)) + sum(lent.values())
        held += int(state.get("sent", 0)) - int(state.get("arrived", 0))
        dividend = int(state.get("dividend", 0))
        for name, host in hosts.items():
            payees, own, mark, rest = (int(host[n]) for n in (5, 6, 7, 8))
            waits = [urls[key] for key, at in queued.items() if at == name]
            assert payees == len(waits)
            if payees:
                share, rest = divmod((dividend - mark) % WRAP + rest, payees)
                own += share
            held += rest + sum(int(url[4]) + (own - int(url[5])) % WRAP for url in waits)
        held += sum(int(urls[key][4]) for key in lent)
    assert held == total
