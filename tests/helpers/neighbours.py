"""Many frontiers that share one crawl in one process: each has partitions of the web, and what leads elsewhere is
carried from one to the other at every checkpoint. Nothing is fetched.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from database_files import database_at, put_away
from frontiers import Heard, PlainSeen

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.cluster.entries import Bundle
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.credit.ledger import Flow, Ledger
from sitecrawl.frontier.credit.policies import policy_named
from sitecrawl.frontier.credit.trust import Elsewhere
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.moving import Facts, Move, Sums, facts_of, keys_of, rows_of, write_rows
from sitecrawl.frontier.succession import SeenBefore, succeed
from sitecrawl.frontier.urls.counts import PartCounts
from sitecrawl.frontier.urls.crawl_seen import SeenKeeper
from sitecrawl.frontier.urls.host import PolitenessOptions
from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import Order
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.frontier.urls.territory import Message, Territory
from sitecrawl.frontier.urls.visit import Visit
from sitecrawl.page.items import Link
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer, Url

RUDE = PolitenessOptions(delay_factor=0.0, failure_delay=0.0, per_ip=0, max_failures=0)


class Neighbour:
    """One of the frontiers, and what it stands on."""

    def __init__(self, database: Database, territory: Territory, make: Callable[..., DiskFrontier]) -> None:
        self.database = database
        self._make = make
        self.territory = territory
        self.frontier = make(database, territory=territory, seen=PlainSeen())

    def commit(self) -> dict[int, list[Message]]:
        batch = self.database.batch()
        self.frontier.prepare(batch)
        self.database.write(batch, sync=False)
        self.frontier.committed()
        assert self.frontier.outbox is not None
        return self.frontier.outbox.take()

    def reopen(self, held: dict[int, PartCounts], come: Iterable[bytes] = ()) -> list[Visit]:
        """Go on with other partitions, which are in the database by now."""
        self.territory = Territory(self.territory.partitions, held)
        seen: SeenKeeper = SeenBefore(self.frontier.seen, come, 2)
        before, self.frontier = self.frontier, self._make(self.database, territory=self.territory, seen=seen)
        return succeed(before, self.frontier, time.monotonic())

    def facts(self) -> dict[int, Facts]:
        frontier = self.frontier
        return facts_of(self.territory, frontier.link_credit.ledger, frontier.counts.serial)

    def move(self) -> Move:
        return Move(self.database, self.territory, Ledger(policy_named("hosts")))


class Neighbourhood:
    """`territories`: the partitions of each frontier, all of so many together."""

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        order: Order,
        options: FrontierOptions,
        territories: Sequence[Sequence[int]],
    ) -> None:
        self.fingerprints, self._canonicalizer = Fingerprinter(bytes(16)), Canonicalizer()
        partitions = sum(map(len, territories))

        def make(database: Database, **rest: object) -> DiskFrontier:
            return DiskFrontier(
                database,
                order,
                host_key=self.fingerprints.host,
                fingerprint=lambda url: self.fingerprints.url(self._canonicalizer.canonical_href(url)),
                listener=Heard(),
                clock=lambda: 0.0,
                wall=time.time,
                politeness=RUDE,
                options=options,
                **rest,  # type: ignore[arg-type]
            )

        self.neighbours: list[Neighbour] = []
        for number, held in enumerate(territories):
            directory = folder / str(number)
            directory.mkdir(parents=True)
            database = database_at(directory / "db", HASH_NAME)
            stack.callback(put_away, database)
            self.neighbours.append(
                Neighbour(database, Territory(partitions, {one: PartCounts() for one in held}), make)
            )

    def link(self, url: str, *, nofollow: bool = False) -> Link:
        host = url[7:].partition("/")[0]
        key = self.fingerprints.url(self._canonicalizer.canonical(Url(url, host)))
        return Link(url, host, nofollow=nofollow, key=key)

    def holder(self, partition: int) -> Neighbour:
        return next(one for one in self.neighbours if partition in one.territory.held)

    def exchange(self) -> int:
        """Everyone makes a checkpoint, and hears of what the others have told. Returns how many messages went out."""
        carried = 0
        for one in self.neighbours:
            for partition, messages in one.commit().items():
                self.holder(partition).frontier.receive(Bundle.unpack(Bundle(messages).pack()).messages)
                carried += len(messages)
        for one in self.neighbours:
            assert not one.commit()
        self._tell_trust()
        good = sum(one.frontier.judge.good for one in self.neighbours)
        for one in self.neighbours:
            one.frontier.judge.elsewhere = good - one.frontier.judge.good
            others = [other.frontier.link_credit.ledger for other in self.neighbours if other is not one]
            flow = Flow(sum(ledger.spent for ledger in others), sum(ledger.total for ledger in others))
            one.frontier.link_credit.ledger.elsewhere = flow
        return carried

    def _tell_trust(self) -> None:
        graphs = [one.frontier.link_credit.graph for one in self.neighbours]
        total, seeds = sum(graph.total for graph in graphs), sum(graph.seed_count for graph in graphs)
        inflow: defaultdict[int, dict[bytes, float]] = defaultdict(lambda: defaultdict(float))
        for graph in graphs:
            for host, amount in graph.outflow.items():
                here = next(n for n, one in enumerate(self.neighbours) if one.territory.has(host))
                inflow[here][host] += amount
        for number, graph in enumerate(graphs):
            graph.hear(Elsewhere(inflow[number], total - graph.total, seeds - graph.seed_count))

    def hand_over(self, partition: int, to: Neighbour) -> None:
        """A partition goes from who has it to another one. Call it after an `exchange`, with nothing in flight."""
        giver = self.holder(partition)
        if giver is to:
            return
        facts = giver.facts()[partition]
        regions = giver.territory.regions(partition)
        write_rows(to.database, rows_of(giver.database, regions))
        leaving, coming = giver.move(), to.move()
        leaving.drop(partition, facts)
        _, counts, _ = coming.settle(partition, facts, Sums.of(to.database, regions, facts.dividend))
        assert counts.states == giver.territory.held[partition].states
        leaving.commit()
        coming.commit()
        giver.reopen({one: own for one, own in giver.territory.held.items() if one != partition})
        to.reopen({**to.territory.held, partition: counts}, keys_of(to.database, regions))

    def fetch(self, one: Neighbour, targets: Callable[[str], Sequence[Link]]) -> str | None:
        """Let one frontier have its next page, if it has one; returns its URL."""
        frontier = one.frontier
        if (visit := frontier.next()) is None:
            return None
        frontier.downloaded(visit, 0.0)
        frontier.expand(visit, targets(visit.url))
        frontier.done(visit, UrlState.FETCHED, status=200, good=True)
        return visit.url


@contextmanager
def neighbourhood(
    folder: Path, order: Order, options: FrontierOptions, territories: Sequence[Sequence[int]]
) -> Iterator[Neighbourhood]:
    """New frontiers, each in a folder of its own."""
    with ExitStack() as stack:
        yield Neighbourhood(stack, folder, order, options, territories)
