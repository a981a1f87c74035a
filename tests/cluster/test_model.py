"""Any order of events: leases and fencing against a model that a child could follow."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import hypothesis.strategies as st
from cluster_helpers import Steps, audit, link, outcome, seed
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis_servers import server

from sitecrawl.cluster.parcel import Parcel

WORKERS = ("one", "two")
HOSTS = ("a.example", "b.example", "c.example")
URLS = tuple(f"http://{host}/{path}" for host in HOSTS for path in "123456")


class LeaseMachine(RuleBasedStateMachine):
    """The model: every URL is unknown, waiting, lent under one token, or done. A token belongs to one worker. Of a
    limit of pages no more is lent than is left."""

    redis: Any

    def __init__(self) -> None:
        super().__init__()
        self.waiting: set[str] = set()
        self.lent: dict[str, int] = {}
        self.done: set[str] = set()
        self.held: dict[tuple[int, int], tuple[str, list[Any]]] = {}
        """Leases that workers believe to have, by shard and token; and which of them are still good:"""
        self.good: set[tuple[int, int]] = set()
        self.released: set[tuple[int, int]] = set()
        self.sent: list[tuple[str, Parcel]] = []

    @initialize()
    def begin(self) -> None:
        self.redis.flushall()
        self.steps = Steps(self.redis, shards=2)
        self.pages = 0

    @precondition(lambda self: not self.pages)
    @rule(pages=st.integers(1, 8))
    def limit(self, pages: int) -> None:
        """From here on so many pages may be fetched, in all: what is lent ends, and waits again."""
        self.pages = pages
        self.steps.limit(pages)
        self.waiting |= self.lent.keys()
        self.lent.clear()
        self.good.clear()

    @precondition(lambda self: self.pages)
    @rule(
        worker=st.sampled_from(WORKERS), source=st.integers(0, 1), amount=st.integers(1, 4), times=st.integers(0, 2)
    )
    def carry(self, worker: str, source: int, amount: int, times: int) -> None:
        """A part of the limit goes to the other shard; or stays on its way, where it counts as well."""
        packed = self.steps.carry(source, 1 - source, amount, worker)
        if packed is None:
            return
        for number in range(times):
            assert self.steps.arrive(source, 1 - source, packed, worker) == (number == 0)

    @rule(url=st.sampled_from(URLS))
    def seeds(self, url: str) -> None:
        self.steps.add(seed(url))
        self._found(url)

    def _found(self, url: str) -> None:
        if url not in self.lent and url not in self.done:
            self.waiting.add(url)

    @rule(worker=st.sampled_from(WORKERS), shard=st.integers(0, 1), want=st.integers(1, 4))
    def lease(self, worker: str, shard: int, want: int) -> None:
        hosts = {self._host(place) for place in self.good - self.released}
        for lease in self.steps.lease(shard, worker, want):
            place = shard, lease[0]
            host = lease[1].decode()
            assert host not in hosts, "lent to two at a time"
            hosts.add(host)
            urls = [fields[1].decode() for fields in lease[6]]
            assert urls
            assert set(urls) <= self.waiting
            self.waiting -= set(urls)
            self.lent |= dict.fromkeys(urls, lease[0])
            self.held[place] = worker, lease
            self.good.add(place)

    def _host(self, place: tuple[int, int]) -> str:
        return str(self.held[place][1][1].decode())

    @precondition(lambda self: self.held)
    @rule(data=st.data(), leads_to=st.lists(st.sampled_from(URLS), max_size=4, unique=True))
    def acknowledge(self, data: st.DataObject, leads_to: list[str]) -> None:
        """A worker acknowledges a page, in time or late; what it links to is known if it was in time."""
        shard, token = place = data.draw(st.sampled_from(sorted(self.held)))
        worker, lease = self.held[place]
        fields = data.draw(st.sampled_from(lease[6]))
        url = fields[1].decode()
        links = [link(target) for target in leads_to if target != url]
        parcel = self.steps.parcel(shard, [outcome(lease, fields, *links)], worker)
        in_time = place in self.good and self.lent.get(url) == token
        assert self.steps.send(parcel, worker) == (1 if in_time else [1])
        if not in_time:
            return
        self.sent.append((worker, parcel))
        del self.lent[url]
        self.done.add(url)
        for target in links:
            if self.steps.keys.shard_of(target.host) == shard:
                self._found(target.url)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """A parcel is sent once more, for its answer was lost; then its links go on to the other shards."""
        worker, parcel = data.draw(st.sampled_from(self.sent))
        assert self.steps.send(parcel, worker) == 0
        if parcel is next(p for w, p in self.sent if (w, p.shard) == (worker, parcel.shard)):
            self.steps.forward(parcel, worker)  # a stream's parcels are forwarded in their order
            self.sent.remove((worker, parcel))
            for target in parcel.outcomes[0].links:
                self._found(target.url)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), keep=st.integers(0, 3))
    def release(self, data: st.DataObject, keep: int) -> None:
        """A host is given back, with what was not fetched of it."""
        shard, token = place = data.draw(st.sampled_from(sorted(self.held)))
        worker, lease = self.held[place]
        back = lease[6][keep:]
        self.steps.release(shard, lease, *(fields[0] for fields in back), session=worker)
        if place in self.good:
            for fields in back:
                if self.lent.get(fields[1].decode()) == token:
                    del self.lent[fields[1].decode()]
                    self.waiting.add(fields[1].decode())
            self.released.add(place)

    @precondition(lambda self: self.good)
    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        """Time passes a lease by, and some worker comes along."""
        shard, token = place = data.draw(st.sampled_from(sorted(self.good)))
        if self.redis.zscore(self.steps.keys.base(shard) + "leases", str(token)) is None:
            return  # all of it is acknowledged and given back
        self.steps.expire(shard, token)
        assert self.steps.lease(shard, "passer-by", 0) == []
        self.good.discard(place)
        back = {url for url, lent in self.lent.items() if lent == token and self._shard(url) == shard}
        for url in back:
            del self.lent[url]
        self.waiting |= back

    def _shard(self, url: str) -> int:
        return self.steps.keys.shard_of(url.split("/")[2])

    @rule(worker=st.sampled_from(WORKERS))
    def crash(self, worker: str) -> None:
        """A worker starts again: all that it was lent is given back at once."""
        for shard in range(2):
            self.steps.call(shard, "resign", worker, keep=[])
        for shard, token in [place for place in self.good if self.held[place][0] == worker]:
            self.good.discard((shard, token))
            back = {url for url, lent in self.lent.items() if lent == token and self._shard(url) == shard}
            for url in back:
                del self.lent[url]
            self.waiting |= back

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "steps"):
            return
        assert self.steps.waiting() == self.waiting
        assert self.steps.done() == len(self.done)
        if self.pages:
            assert self.steps.budgets() == self.pages
            assert not self.lent or len(self.done) + len(self.lent) <= self.pages
        audit(self.steps)


def test_any_order_of_events() -> None:
    """No URL is lost, doubled or lent twice, and no credit made, whatever workers do."""
    with server() as started, closing(started.client()) as client:
        LeaseMachine.redis = client
        run_state_machine_as_test(
            LeaseMachine,
            settings=settings(max_examples=40, stateful_step_count=30, suppress_health_check=list(HealthCheck)),
        )
