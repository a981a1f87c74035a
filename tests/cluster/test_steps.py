"""The steps on Redis: leases, fencing, parcels that count once, credit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster_helpers import Steps, audit, link, outcome, seed
from redis_servers import Server

from sitecrawl.base.errors import OptionError
from sitecrawl.cluster.in_transit import outbox_of
from sitecrawl.cluster.parcel import Outcome
from sitecrawl.cluster.shards import pack, unpack
from sitecrawl.frontier.record import UrlState
from sitecrawl.frontier.trap_state import Reason

REQUEST = pack({"method": "POST"})


@pytest.fixture
def steps(redis: Server) -> Iterator[Steps]:
    with redis.client() as client:
        yield Steps(client, shards=3)


def two_hosts(steps: Steps) -> tuple[str, str]:
    """Hosts on two shards."""
    hosts = [f"h{n}.example" for n in range(20)]
    first = hosts[0]
    return first, next(h for h in hosts if steps.keys.shard_of(h) != steps.keys.shard_of(first))


def hold(steps: Steps, base: str, host: str) -> None:
    """Hold a host back as a trap, as the judge does."""
    record = unpack(steps.client.hget(base + "hosts", host))
    record[-1][1], record[-1][3] = 1, int(Reason.GROWS)
    steps.client.hset(base + "hosts", host, pack(record))
    steps.client.sadd(base + "demoted", host)
    steps.client.hincrby(base + "state", "demoted", 1)
    steps.client.zrem(base + "ready", host)


class TestLease:
    def test_host_is_lent_to_one_worker_at_a_time(self, steps: Steps) -> None:
        """While a host is lent, no other worker gets any of its URLs."""
        steps.add(*(seed(f"http://a.example/{n}") for n in range(20)))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        assert steps.lease(shard, "two") == []
        steps.release(shard, lease)
        assert len(steps.lease(shard, "two")) == 1
        audit(steps)

    def test_pause_is_kept_for_all(self, steps: Steps) -> None:
        """A host that was given back with a pause is lent to nobody before that is over."""
        steps.add(*(seed(f"http://a.example/{n}") for n in range(5)))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        steps.release(shard, lease, pause=60_000)
        answer = steps.call(shard, "lease", "two", want=5, hosts=5, span=1000, most=5)
        assert answer[b"leases"] == []
        assert 59_000 < answer[b"shard"][b"rest"] <= 60_000

    def test_probed_section_leaves_nothing_behind(self, steps: Steps) -> None:
        """A section whose last URL went as a probe of its host is not offered when that host is set free."""
        steps.add(seed("http://a.example/x/1"))
        shard = steps.keys.shard_of("a.example")
        base = steps.keys.base(shard)
        hold(steps, base, "a.example")
        (lease,) = steps.lease(shard)
        steps.release(shard, lease)
        assert steps.send(steps.parcel(shard, [outcome(lease, lease[6][0], state=UrlState.EXCLUDED)])) == 1
        audit(steps)

    def test_unfetched_urls_wait_again(self, steps: Steps) -> None:
        """URLs that a worker gives back can be lent again, with their credit."""
        steps.add(seed("http://a.example/1"), seed("http://a.example/2"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        steps.release(shard, lease, *(url[0] for url in lease[6]))
        assert steps.waiting() == {"http://a.example/1", "http://a.example/2"}
        audit(steps)

    def test_most_credit_comes_first(self, steps: Steps) -> None:
        """Inside a section the URL with the most credit is lent first, also if the credit came later."""
        steps.add(seed("http://a.example/x/seed"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        page = outcome(lease, lease[6][0], *(link(f"http://a.example/y/p{n}") for n in "abc"))
        assert steps.send(steps.parcel(shard, [page])) == 1
        steps.release(shard, lease)
        steps.add(seed("http://a.example/x/other"))
        (lease,) = steps.lease(shard, want=1)
        assert lease[6][0][1] == b"http://a.example/x/other"
        known = outcome(lease, lease[6][0], link("http://a.example/y/pc"))
        steps.send(steps.parcel(shard, [known]))
        steps.release(shard, lease)
        (lease,) = steps.lease(shard, want=1)
        assert lease[6][0][1] == b"http://a.example/y/pc"
        audit(steps)


class TestFencing:
    def test_expired_lease_goes_to_another_worker(self, steps: Steps) -> None:
        """When a lease is over its URLs are lent again; the late worker's page counts for nothing."""
        steps.add(seed("http://a.example/"))
        shard = steps.keys.shard_of("a.example")
        (old,) = steps.lease(shard)
        steps.expire(shard, old[0])
        (new,) = steps.lease(shard, "two")
        late = steps.parcel(shard, [outcome(old, old[6][0], link("http://a.example/late"))])
        assert steps.send(late) == [1]
        assert "fetched" not in steps.state(shard)
        assert steps.send(steps.parcel(shard, [outcome(new, new[6][0])], "two"), "two") == 1
        assert steps.waiting() == set()
        audit(steps)

    def test_rest_of_a_parcel_with_a_stale_page_is_taken(self, steps: Steps) -> None:
        """The pages whose leases hold are acknowledged under the same number, once the stale one is out."""
        shard = steps.keys.shard_of("a.example")
        other = next(f"b{n}.example" for n in range(99) if steps.keys.shard_of(f"b{n}.example") == shard)
        steps.add(seed("http://a.example/"), seed(f"http://{other}/"))
        stale, good = sorted(steps.lease(shard), key=lambda lease: lease[1])
        steps.expire(shard, stale[0])
        steps.lease(shard, "two")
        pages = [outcome(stale, stale[6][0]), outcome(good, good[6][0], link("http://a.example/n"))]
        parcel = steps.parcel(shard, pages)
        assert steps.send(parcel) == [1]
        assert parcel.drop([1]) == pages[:1]
        assert steps.send(parcel) == 1
        assert steps.waiting() == {"http://a.example/n"}
        assert steps.state(shard)["fetched"] == 1
        audit(steps)

    def test_renewed_lease_is_over_for_who_lost_it(self, steps: Steps) -> None:
        """Renewing tells a worker which of its leases are gone."""
        steps.add(seed("http://a.example/"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        assert steps.call(shard, "renew", tokens=[lease[0]], arrived=[])[b"over"] == []
        steps.expire(shard, lease[0])
        steps.lease(shard, "two")
        assert steps.call(shard, "renew", tokens=[lease[0]], arrived=[])[b"over"] == [lease[0]]

    def test_resigned_leases_come_back_at_once(self, steps: Steps) -> None:
        """A worker that has lost its memory gives back what it was lent, and only that."""
        steps.add(seed("http://a.example/"), seed("http://b.example/"))
        for shard in range(3):
            steps.lease(shard, want=1)
        for shard in range(3):
            steps.call(shard, "resign", keep=[])
        assert len(steps.waiting()) == 2
        audit(steps)


class TestParcels:
    def test_repeated_parcel_changes_nothing(self, steps: Steps) -> None:
        """A parcel whose answer was lost is sent again: neither pages nor credit count twice."""
        here, there = two_hosts(steps)
        steps.add(seed(f"http://{here}/"))
        shard = steps.keys.shard_of(here)
        (lease,) = steps.lease(shard)
        page = outcome(lease, lease[6][0], link(f"http://{here}/a"), link(f"http://{there}/b"))
        parcel = steps.parcel(shard, [page])
        assert [steps.send(parcel), steps.send(parcel)] == [1, 0]
        audit(steps)
        for _ in range(2):
            steps.forward(parcel)
        assert steps.waiting() == {f"http://{here}/a", f"http://{there}/b"}
        audit(steps)

    def test_links_survive_their_worker(self, steps: Steps) -> None:
        """A worker dies between acknowledging a page and forwarding its links: the outbox has them."""
        here, there = two_hosts(steps)
        steps.add(seed(f"http://{here}/"))
        shard = steps.keys.shard_of(here)
        (lease,) = steps.lease(shard)
        parcel = steps.parcel(shard, [outcome(lease, lease[6][0], link(f"http://{there}/b"))])
        steps.send(parcel)
        assert steps.waiting() == set()
        base = steps.keys.base(shard)
        assert steps.call(shard, "lease", "two", want=1, hosts=1, span=1, most=1)[b"ends"] == 0
        steps.client.zadd(base + "sessions", {"one": 0})
        assert steps.call(shard, "lease", "two", want=1, hosts=1, span=1, most=1)[b"orphans"] == [b"one"]
        for target, forward in outbox_of(shard, "one", steps.client.hgetall(base + "out:one")):
            steps._apply(target, forward.parcel(), "two")
        steps.forward(parcel)  # the dead worker was only slow
        assert steps.waiting() == {f"http://{there}/b"}
        audit(steps)

    def test_pages_of_a_parcel_that_link_to_each_other(self, steps: Steps) -> None:
        """Credit for a page that is done in the same parcel is not lost."""
        steps.add(seed("http://a.example/x/1"), seed("http://a.example/x/2"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        one, two = lease[6]
        pages = [outcome(lease, one, link(two[1].decode())), outcome(lease, two, link(one[1].decode()))]
        steps.send(steps.parcel(shard, pages))
        audit(steps)

    def test_put_back_url_waits_with_its_request(self, steps: Steps) -> None:
        """A retry goes back into the queue with all that it needs."""
        steps.add(seed("http://a.example/"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        again = outcome(lease, lease[6][0], state=0)
        again.request, again.flags = REQUEST, 2
        steps.send(steps.parcel(shard, [again]))
        steps.release(shard, lease)
        audit(steps)
        (lease,) = steps.lease(shard)
        assert lease[6][0][5:] == [2, 1, REQUEST]

    def test_known_link_travels_without_its_url(self, steps: Steps) -> None:
        """What the worker's cache knows is sent as a fingerprint."""
        steps.add(seed("http://a.example/"))
        shard = steps.keys.shard_of("a.example")
        (lease,) = steps.lease(shard)
        steps.packer.taken(parcel := steps.parcel(shard, [Outcome(links=[link("http://a.example/k")])]))
        steps.packer.pack(parcel)
        steps.packer.taken(parcel)
        packed = steps.packer.pack(steps.parcel(shard, [outcome(lease, lease[6][0], link("http://a.example/k"))]))
        assert [len(entry) for _, entries in packed["links"] for entry in entries] == [2]


class TestOpening:
    def test_other_options_are_refused(self, steps: Steps) -> None:
        """A worker that would cut the URL space otherwise is refused before it does harm."""
        with pytest.raises(OptionError, match="shards"):
            Steps(steps.client, shards=4)
