"""`max_pages` over all workers: parts of it that partitions have, give, and are granted."""

from __future__ import annotations

from collections import Counter

import msgpack
import pytest

from sitecrawl.cluster.entries import Bundle
from sitecrawl.cluster.holdings import Held
from sitecrawl.cluster.page_limit import PageLimit
from sitecrawl.cluster.run import Run
from sitecrawl.cluster.standing import OfWorker, Standing, Tally, Whole
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.record import UrlState

ACCOUNT = 3


def whole(*tallies: Tally) -> Whole:
    return Whole([Standing(1, tally.pack(), 0, 0) for tally in tallies])


class Worker:
    """One with so many partitions, of each of which nothing is known."""

    def __init__(self, max_pages: int, partitions: int = 3) -> None:
        self.now = 1000.0
        self.in_flight = Counter[int]()
        self.held = {number: Held(number, 1, 0) for number in range(partitions)}
        self.run = Run("", ACCOUNT, max_pages)
        self.limit = PageLimit(self.run, self.held, self.in_flight.__getitem__, lambda: self.now)
        for held in self.held.values():
            held.counts.turn(ACCOUNT)

    def tallies(self) -> list[Tally]:
        return [one.tally_of(OfWorker("w")) for one in self.held.values()]

    def rooms(self) -> list[int]:
        return [one.counts.room for one in self.held.values()]

    def owed(self) -> int:
        return sum(one.counts.allowance.owed for one in self.held.values())

    def change(self, max_pages: int) -> None:
        """Another limit holds."""
        self.run.account, self.run.max_pages = self.run.account + 1, max_pages
        self.limit.turn()

    def fetch(self, partition: int) -> bool:
        """Whether one more page of it may be fetched, which it is then."""
        held = self.held[partition]
        self.in_flight[partition] += 1
        if admits := self.limit.admits(held):
            held.asked_at = self.now
            held.counts.states[UrlState.FETCHED] += 1
        self.in_flight[partition] -= 1
        return admits

    def begin(self) -> None:
        """The limit is granted, and all hear of it."""
        self.share()
        self.share()

    def share(self) -> dict[int, dict[int, int]]:
        """What each gives to which."""
        self.limit.hear(whole(*self.tallies()))
        self.limit.share(self.limit.short)
        return {number: given for number in self.held if (given := dict(self.limit.gifts(number)))}


def test_without_a_limit() -> None:
    """Nothing is counted, and nobody is short."""
    worker = Worker(0)
    assert worker.fetch(1)
    assert worker.share() == {}


def test_the_first_is_granted_all_once() -> None:
    """What has been fetched under other limits is taken off; then it is as it is."""
    worker = Worker(10)
    worker.held[2].counts = PartCounts((0, 4, 0, 0, 7), allowance=(ACCOUNT, 4, 0, 0))
    for _ in range(2):
        worker.share()
        assert worker.rooms() == [6, 0, 0]


def test_nothing_is_granted_before_all_have_turned() -> None:
    """Whoever works under another limit may fetch one page more."""
    worker = Worker(10)
    worker.limit.hear(whole(*worker.tallies()[:2], Tally(account=ACCOUNT - 1)))
    assert worker.rooms() == [0, 0, 0]


def test_nothing_is_fetched_before_redis_has_the_grant() -> None:
    """Whoever was granted the limit may be killed before anybody hears of it."""
    worker = Worker(10)
    worker.share()
    assert not worker.fetch(0)
    worker.share()
    assert worker.fetch(0)


def test_another_limit() -> None:
    """What is in flight has a place in it, what was about to be given under the last one has none."""
    worker = Worker(9)
    worker.begin()
    assert worker.fetch(0)
    assert not worker.fetch(1)
    worker.limit.hear(whole(*worker.tallies()))
    worker.limit.share(worker.limit.short)
    worker.in_flight[0] = 2
    worker.change(5)
    assert worker.rooms() == [2, 0, 0]
    assert not worker.fetch(0)
    assert worker.share() == {}
    assert worker.rooms() == [4, 0, 0]
    worker.in_flight[0] = 0
    worker.share()
    assert [worker.fetch(0) for _ in range(5)] == [True] * 4 + [False]


def test_a_limit_below_what_is_in_flight() -> None:
    """Nothing more is handed out until as much has come to nothing as is too much; then exactly the rest is."""
    worker = Worker(9)
    worker.begin()
    worker.held[1].counts.states[UrlState.FETCHED] = 2
    worker.in_flight.update({0: 2, 1: 3})
    worker.change(5)
    worker.begin()
    assert worker.owed() == 2
    worker.in_flight[1] = 2
    assert not worker.fetch(1)
    assert worker.share() == {1: {0: 1}}
    worker.limit.receive(worker.held[0], Bundle((), worker.run.account, 1))
    worker.in_flight[0] = 0
    worker.share()
    assert worker.owed() == 0
    assert worker.share() == {}
    assert worker.rooms() == [1, 2, 0]


@pytest.mark.parametrize(
    "first", [Tally(account=ACCOUNT, granted=ACCOUNT - 1), Tally(account=ACCOUNT + 1, granted=9)]
)
def test_another_limit_opens_nothing(first: Tally) -> None:
    """What Redis says of the first partition has to be of this very limit."""
    worker = Worker(9)
    del worker.held[0]
    worker.held[1].counts.allowance.pages = 3
    worker.limit.hear(whole(first, *worker.tallies()))
    assert not worker.fetch(1)


def test_no_more_is_fetched_than_may_be() -> None:
    """What is in flight counts, and what comes of it but a page gives back its place."""
    worker = Worker(2)
    worker.begin()
    worker.in_flight[0] = 2
    assert not worker.fetch(0)
    assert worker.held[0].short
    worker.in_flight[0] = 1
    assert worker.fetch(0)
    assert not worker.held[0].short


def test_who_is_short_is_given_what_others_have_no_use_for() -> None:
    """In fair parts; nothing of it is made or lost."""
    worker = Worker(9)
    worker.begin()
    assert not worker.fetch(1)
    assert not worker.fetch(2)
    given = worker.share()
    assert given == {0: {1: 4, 2: 5}}
    assert sum(worker.rooms()) + sum(given[0].values()) == 9


def test_who_fetches_keeps_a_half() -> None:
    """It may want it soon; what was fetched is no room."""
    worker = Worker(9)
    worker.begin()
    assert worker.fetch(0)
    assert not worker.fetch(1)
    assert worker.share() == {0: {1: 4}}


def test_a_gift_on_its_way_is_not_given_twice() -> None:
    """Until it should have arrived."""
    worker = Worker(9)
    worker.begin()
    assert worker.fetch(0)
    assert not worker.fetch(1)
    assert worker.share() == {0: {1: 4}}
    assert worker.share() == {}
    worker.now += 1
    assert worker.share() == {0: {1: 2}}


def test_what_has_come_is_not_given_on_at_once() -> None:
    """Though others are short, too: it was for a URL that waits."""
    worker = Worker(9)
    worker.begin()
    assert not worker.fetch(2)
    worker.held[0].counts.allowance.pages = 0
    worker.limit.receive(worker.held[1], Bundle((), ACCOUNT, 1))
    assert worker.share() == {}
    worker.now += 3
    assert worker.share() == {}  # the worker was busy with something else all the time
    worker.limit.asked(worker.now - 3)  # and looked for URLs as long: what rested when it began had no turn
    assert worker.share() == {}
    worker.limit.asked(worker.now)
    assert worker.share() == {1: {2: 1}}


@pytest.mark.parametrize(("account", "room"), [(ACCOUNT, 5), (ACCOUNT - 1, 0)])
def test_what_arrives(account: int, room: int) -> None:
    """A part of another limit is void."""
    worker = Worker(9)
    held = worker.held[1]
    held.short = True
    worker.limit.receive(held, Bundle((), account, 5))
    assert held.counts.room == room
    assert held.short == (room == 0)


def test_what_others_have_found() -> None:
    """A worker's good pages count once, however many partitions it has, and a worker's own not at all."""
    before, one, two = OfWorker("one", good=2), OfWorker("one", good=5), OfWorker("two", good=7)
    found = whole(Tally(one), Tally(before), Tally(two), Tally())
    assert [found.good_beside(session) for session in ("one", "two", "three")] == [7, 5, 12]


def test_what_flows_elsewhere() -> None:
    """The credit of all other workers, as each has told last; nothing of one whose tally lacks it."""
    one, two = OfWorker("one", spent=2.0, total=1.0), OfWorker("two", spent=5.0, total=3.0)
    found = whole(Tally(one), Tally(one), Tally(two), Tally())
    assert [found.flow_beside(session) for session in ("one", "three")] == [(5.0, 3.0), (7.0, 4.0)]
    worker, *rest = msgpack.unpackb(Tally(two).pack())
    assert Tally.unpack(msgpack.packb([worker[:-2], *rest])).worker == OfWorker("two")
