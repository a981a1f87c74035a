"""The parts of a worker by themselves: no Redis, no network."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import redis
from cluster_helpers import link
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.cluster.connection import is_transient
from sitecrawl.cluster.in_transit import InTransit, outbox_of
from sitecrawl.cluster.journal import Journal
from sitecrawl.cluster.leader import transfers
from sitecrawl.cluster.leased_hosts import LeasedHosts
from sitecrawl.cluster.parcel import Outcome, Packer, Parcel
from sitecrawl.cluster.seedqueue import fields_of
from sitecrawl.cluster.shards import unpack
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.hosts import PolitenessOptions
from sitecrawl.seen.clock import Clock
from sitecrawl.urls.fingerprint import HASH_NAME


class TestLambda:
    @given(st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 10**12), st.integers(0, 1000)), min_size=1))
    def test_transfers_level_and_make_nothing(self, shards: dict[int, tuple[int, int]]) -> None:
        """After them no shard is farther from its share than before, and none has given what it had not."""
        total, payees = (sum(one[n] for one in shards.values()) for n in (0, 1))
        after = {number: reserve for number, (reserve, _) in shards.items()}
        for source, target, amount in transfers(shards):
            assert amount > 0
            after[source] -= amount
            after[target] += amount
        assert min(after.values()) >= 0
        assert sum(after.values()) == total
        for number, (reserve, hosts) in shards.items():
            share = total * hosts // payees if payees else reserve
            assert abs(after[number] - share) <= abs(reserve - share)


def lease(token: int, host: bytes, *urls: str) -> list[object]:
    fields = [[bytes([n]) * 16, url.encode(), 1, b"", 100, 0, 0, b""] for n, url in enumerate(urls, 1)]
    return [token, host, 0, 0, 0, len(urls), fields]


class TestLeasedHosts:
    def test_one_request_at_a_time_and_a_pause(self) -> None:
        """A host's next URL is handed out when the one before is downloaded and the host has rested."""
        leased = LeasedHosts(PolitenessOptions(delay=1.0, delay_factor=0))
        leased.take(0, lease(1, b"a.example", "http://a.example/1", "http://a.example/2"), 10.0)
        first = leased.next(10.0)
        assert first is not None
        assert leased.next(20.0) is None
        leased.free(first, 20.0, 0.1)
        assert leased.next(20.5) is None
        assert leased.next_time() == 21.0
        assert leased.next(21.0) is not None

    def test_host_goes_back_when_all_is_downloaded(self) -> None:
        """It is given back with the pause that is left, once; its pages stay lent until they are acknowledged."""
        leased = LeasedHosts(PolitenessOptions(delay=1.0, delay_factor=0))
        leased.take(0, lease(7, b"a.example", "http://a.example/1"), 10.0)
        visit = leased.next(10.0)
        assert visit is not None
        leased.free(visit, 10.2, 0.2)
        leased.free(visit, 10.2, 0.2)
        (returned,) = leased.given_back
        assert returned.fields(10.7)[:3] == [7, "a.example", 500]
        leased.forget_if_over(returned.lease)
        assert (0, 7) in leased.leases
        leased.acknowledged(0, 7, visit.key)
        assert not leased.leases

    def test_a_host_that_has_answered_stays_one(self) -> None:
        """It may be lent again before Redis has heard of its answer, and then it must not be given up as silent."""
        leased = LeasedHosts(PolitenessOptions(delay_factor=0))
        first = leased.take(0, lease(1, b"a.example", "http://a.example/1"), 0.0)
        first.host.fetched += 1
        second = leased.take(0, lease(2, b"a.example", "http://a.example/2"), 1.0)
        for n in range(3):
            second.host.fail(bytes([n]), 1.0, leased.politeness)
        assert not leased.is_dead(second)

    def test_seats_of_an_address(self) -> None:
        """Hosts on one IP address share its seats."""
        leased = LeasedHosts(PolitenessOptions(delay_factor=0, per_ip=1))
        for token, host in enumerate((b"a.example", b"b.example"), 1):
            leased.take(0, lease(token, host, "http://x/"), 0.0)
            leased.host_named(host.decode()).ip = "192.0.2.1"
        first = leased.next(0.0)
        assert first is not None
        assert leased.next(1.0) is None
        leased.free(first, 1.0)
        assert leased.next(2.0) is not None


class TestParcels:
    def test_credit_is_shared_out_by_weight(self) -> None:
        """Nine tenths of a page's credit, a nofollow link a tenth of another; links to one URL are added up."""
        pages = [
            Outcome(b"1" * 16, 1, "a.example", state=1, credit=1000, links=[link("http://a.example/x")]),
            Outcome(
                b"2" * 16,
                2,
                "a.example",
                state=1,
                credit=1100,
                links=[link("http://a.example/x"), link("http://a.example/y", weight=1)],
            ),
        ]
        packed = Packer(lambda host: 0, Clock(10)).pack(Parcel(0, "s", 1, pages))
        ((host, entries),) = packed["links"]
        assert host == "a.example"
        assert [entry[1] for entry in entries] == [900 + 900, 90]

    def test_other_shards_get_blobs(self) -> None:
        """What is for another shard is packed for it, and the credit in it is said."""
        page = Outcome(b"1" * 16, 1, "a.example", state=1, credit=1000, links=[link("http://b.example/x")])
        packed = Packer(lambda host: int(host == "b.example"), Clock(10)).pack(Parcel(0, "s", 1, [page]))
        assert packed["links"] == []
        assert packed["sent"] == 900
        blob = unpack(packed["out"]["1"])
        assert blob[b"arrived"] == 900
        assert blob[b"links"][0][0] == b"b.example"
        assert packed["pages"][0][9] == [("b.example", 10)]

    def test_outbox_is_forwarded_in_order(self) -> None:
        """Of one stream the lower numbers go first, as numbers."""
        fields = {b"w.1:10:3": b"c", b"w.1:9:3": b"b", b"w.0:11:2": b"a"}
        assert [(target, one.blob) for target, one in outbox_of(5, "w", fields)] == [(2, b"a"), (3, b"b"), (3, b"c")]

    def test_taken_parcel_goes_on(self) -> None:
        """When the parcel's shard has it, its blobs are forwarded under its number, and leave the outbox at last."""
        packer = Packer(lambda host: int(host == "b.example"), Clock(10))
        traffic = InTransit(packer, "w")
        page = Outcome(b"1" * 16, 1, "a.example", state=1, credit=1000, links=[link("http://b.example/x")])
        parcel = Parcel(0, "w.1", 4, [page])
        traffic.parcels[0].append(parcel)
        packer.pack(parcel)
        traffic.taken(parcel)
        (forward,) = traffic.forwards[1]
        assert forward.parcel()["stream"] == "0/w.1"
        traffic.has_arrived(1, forward)
        assert traffic.arrived == {(0, "w"): ["w.1:4:1"]}
        traffic.trimmed((0, "w"), ["w.1:4:1"])
        assert not traffic


def test_journal(tmp_path: Path) -> None:
    """What was not taken is there after a restart, in order, under the same name; what was taken is not."""
    pages = [Outcome(b"%16d" % n, n, "a.example", links=[link("http://a.example/x", score=0.5)]) for n in range(3)]
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        journal = Journal(database)
        session = journal.session
        parcels = [Parcel(n, "s", n + 1, [page]) for n, page in enumerate(pages)]
        for parcel in parcels:
            journal.add(parcel)
        journal.flush(batch := database.batch())
        database.write(batch)
        journal.taken(parcels[1])
        journal.flush(batch := database.batch())
        database.write(batch)
    with closing(Database(tmp_path / "db", hash_name=HASH_NAME)) as database:
        journal = Journal(database)
        assert journal.session == session
        assert journal.load() == [parcels[0], parcels[2]]
        assert len(journal) == 2


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (" http://a.example/ \n", {"url": "http://a.example/"}),
        ('{"url": "http://a.example/", "meta": {"n": 1}}', {"url": "http://a.example/", "meta": {"n": 1}}),
        ('{"url": 7}', {}),
        ('{"meta": {}}', {}),
        ("{broken", {}),
        ("[1]", {"url": "[1]"}),
    ],
)
def test_pushed_seed(text: str, fields: dict[str, object]) -> None:
    """A URL, or scrapy-redis' JSON; of anything else nothing is made."""
    assert fields_of(text) == fields


@pytest.mark.parametrize(
    ("error", "goes"),
    [
        (redis.ConnectionError("gone"), True),
        (redis.TimeoutError("slow"), True),
        (redis.ResponseError("@user_script: 25: -OOM command not allowed when used memory > 'maxmemory'."), True),
        (redis.ResponseError("MISCONF Redis is configured to save RDB snapshots"), True),
        (redis.ReadOnlyError("You can't write against a read only replica"), True),
        (redis.ResponseError("@user_script: 12: attempt to index a nil value"), False),
        (redis.AuthenticationError("invalid username-password pair"), False),
    ],
)
def test_what_is_waited_for(error: Exception, goes: bool) -> None:
    """A Redis that is away, full or loading is waited for; a wrong password or a broken script is not."""
    assert is_transient(error) is goes
