"""Steps on a shard without an event loop, and an audit of all that a crawl's keys promise one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from sitecrawl.cluster.audit import problems
from sitecrawl.cluster.facts import facts_of
from sitecrawl.cluster.options import BRINGS, ClusterOptions, limits_of
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
        self.keys = Keys(self.options.crawl, self.options.shards)
        self.client.hsetnx(self.keys.base(0) + "crawl", "key", bytes(16).hex())
        open_crawl(client, self.options)
        self.packer = Packer(self.keys.shard_of, Clock(1000))
        self.seqs: dict[tuple[str, int], int] = {}
        self.traps = TrapOptions()
        self.account = 0
        """Of the limit of pages; 0 while there has been none."""
        self.level = 0

    def call(self, shard: int, step: str, session: str = "one", **args: Any) -> dict[bytes, Any]:
        common = {
            "session": session,
            "ms": 60_000,
            "channel": self.keys.channel,
            "shard": shard,
            "account": self.account,
            "level": self.level,
        }
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

    def limit(self, pages: int) -> None:
        """From now on so many pages may be fetched, in all; shard 0 is granted them."""
        self.account += 1
        for shard in range(self.options.shards):
            self.call(shard, "account", limited=1)
        self.call(0, "account", limited=1, grant=pages - self.fetched())

    def fetched(self) -> int:
        return sum(int(self.state(shard).get("fetched", 0)) for shard in range(self.options.shards))

    def carry(self, source: int, target: int, amount: int, session: str = "one") -> dict[str, Any] | None:
        """Put a part of what `source` may lend on its way: what `arrive` takes; None if it had nothing to spare."""
        stream = f"{session}.budget"
        seq = self.seqs[stream, source] = self.seqs.get((stream, source), 0) + 1
        answer = self.call(source, "budget", session, stream=stream, seq=seq, target=str(target), amount=amount)
        if not answer[b"blob"]:
            return None
        return {"stream": f"{source}/{stream}", "seq": seq, "blob": answer[b"blob"], "pages": []}

    def arrive(self, source: int, target: int, packed: dict[str, Any], session: str = "one") -> Any:
        """1 if `target` took it, 0 if it had. In any case it leaves the outbox."""
        taken = self._apply(target, packed, session)
        field = f"{session}.budget:{packed['seq']}:{target}"
        self.call(source, "renew", session, tokens=[], arrived=[field])
        return taken

    def budgets(self) -> int:
        """What may be lent, is lent, has been fetched, and is on its way: the limit."""
        total = 0
        for shard in range(self.options.shards):
            state, base = self.state(shard), self.keys.base(shard)
            total += int(sum(state.get(name, 0) for name in ("budget", "leased", "fetched")))
            for session in self.client.smembers(base + "outs"):
                blobs = map(unpack, self.client.hvals(f"{base}out:{session.decode()}"))
                total += sum(blob.get(b"budget", 0) for blob in blobs if blob.get(b"account") == self.account)
        return total

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
    faults = list(problems(steps.client, facts_of(steps.client, steps.keys.crawl, "the test's Redis")))
    assert not faults, faults
