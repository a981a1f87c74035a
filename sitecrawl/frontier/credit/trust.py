"""Trust in hosts: credit that flows from the seeds' hosts over the graph of hosts.

Inside a section, and between sections of a host, links are evidence. Between hosts they are not: a farm of hosts that
link to one another makes as many as it likes. What it cannot make is trust, which starts at the seeds' hosts, is
split over the hosts that a host links to, and is conserved: personalised PageRank (Page et al. 1999; Gyöngyi,
Garcia-Molina and Pedersen, "Combating web spam with TrustRank", VLDB 2004). What a host does not pass on goes back to
the seeds. Links of a host that is held back as a trap pass nothing on.

Trust flows in rounds, one now and then as the crawl goes on, each from where the last one ended. An older state is
forgotten as fast as rounds from the seeds would get to the new one, and the crawl never waits for many at once.

Many graphs may share a crawl, each with the hosts of its own. Then what flows to hosts elsewhere is `outflow`, and
what comes from there is heard now and then (`hear`). What hosts do not pass on is then lost instead of given back,
and a host's trust is its share of what there is: the same in the end. But so each round makes less of a difference
than the one before, whichever graph it is in and however late its news, and all come to what one graph of all hosts
would (Chazan and Miranker, "Chaotic relaxation", 1969).

The graph counts, for every pair of hosts, the pages of the one that link to the other. It is kept in memory, at
most `MAX_EDGES` of it, about 200 bytes each; pairs beyond are counted as dropped,
and their trust stays with the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

DAMPING: Final = 0.85
ROUNDS: Final = 20
MAX_EDGES: Final = 250_000


class Elsewhere(NamedTuple):
    """What other graphs of the same crawl have told."""

    inflow: Mapping[bytes, float] = {}
    """What flows to hosts that are here."""
    total: float = 0.0
    """What there is of trust."""
    seeds: float = 0.0
    """How many seeds."""


class HostGraph:
    """Hosts are named by their keys (bytes). `is_here` tells the hosts of this graph, where there are others."""

    def __init__(
        self,
        edges: Iterable[tuple[bytes, bytes, float]] = (),
        seeds: Iterable[tuple[bytes, float]] = (),
        is_here: Callable[[bytes], bool] | None = None,
    ) -> None:
        self._is_here = is_here
        self._elsewhere = Elsewhere()
        self.outflow: dict[bytes, float] = {}
        """What flows to each host elsewhere, as of the last `flow`."""
        self.total = 0.0
        """What there is of trust here, as of then."""
        self._edges: dict[bytes, dict[bytes, float]] = {}
        self.seeds = dict(seeds)
        self.seed_count = sum(self.seeds.values())
        self._trust: dict[bytes, float] = {}
        self._count = 0
        self.dropped = 0
        self._changed: set[bytes] = set()
        self._names: dict[bytes, bytes] = {}
        """One object for each host: to find it in a dictionary then takes no look at its bytes."""
        for source, target, pages in edges:
            self._edges.setdefault(self._name(source), {})[self._name(target)] = pages
            self._count += 1

    def seed(self, host: bytes) -> None:
        self.seeds[host] = self.seeds.get(host, 0.0) + 1
        self.seed_count += 1
        self._changed.add(host)

    def link(self, source: bytes, weights: Mapping[bytes, float]) -> None:
        """A page of `source` links to hosts, with these weights."""
        targets = self._edges.get(source, {})
        for target, weight in weights.items():
            if target in targets:
                targets[target] += weight
            elif self._count < MAX_EDGES:
                self._count += 1
                targets[self._name(target)] = weight
            else:
                self.dropped += 1
        if targets:
            self._edges.setdefault(self._name(source), targets)
            self._changed.add(source)

    def _name(self, host: bytes) -> bytes:
        return self._names.setdefault(host, host)

    def __len__(self) -> int:
        """Pairs of hosts."""
        return self._count

    def trust(self, host: bytes) -> float:
        """The share of all trust that `host` has, from 0 to 1, as of the last `flow`.

        A seed's host that came since then has its share of the seeds.
        """
        known = self._trust.get(host)
        if known is None:
            return self.seeds.get(host, 0.0) / max(self._all_seeds, 1.0)
        return known / (self.total + self._elsewhere.total)

    @property
    def _all_seeds(self) -> float:
        return self.seed_count + self._elsewhere.seeds

    def hear(self, elsewhere: Elsewhere) -> None:
        """What others have told by now, for the rounds that come."""
        self._elsewhere = elsewhere

    def recompute(self, is_demoted: Callable[[bytes], bool]) -> None:
        """Let the trust flow anew, from the seeds, for `ROUNDS` rounds."""
        self._trust = {}
        for _ in range(ROUNDS):
            self.flow(is_demoted)

    def flow(self, is_demoted: Callable[[bytes], bool]) -> None:
        """Let the trust flow on by one round, a pass over the graph: every host passes on what it has."""
        if not (seeds := self._all_seeds):
            return
        held = self._trust or {host: share / seeds for host, share in self.seeds.items()}
        moved = dict.fromkeys(self.seeds, 0.0)
        for host, amount in self._elsewhere.inflow.items():
            moved[host] = moved.get(host, 0.0) + amount
        for source, targets in self._edges.items():
            if (trust := held.get(source)) and not is_demoted(source):
                share = DAMPING * trust / sum(targets.values())
                for target, pages in targets.items():
                    if target != source:
                        moved[target] = moved.get(target, 0.0) + share * pages
        rest = (1 - (DAMPING if self._is_here else sum(moved.values()))) / seeds
        for host, number in self.seeds.items():
            moved[host] = moved.get(host, 0.0) + rest * number
        if self._is_here is not None:
            self.outflow = {host: moved.pop(host) for host in list(moved) if not self._is_here(host)}
        self._trust, self.total = moved, sum(moved.values()) if self._is_here else 1.0

    def reached(self, is_demoted: Callable[[bytes], bool]) -> set[bytes]:
        """The hosts that links lead to from the seeds' without passing through one that is demoted."""
        waiting = [*self.seeds, *self._elsewhere.inflow]
        found = set(waiting)
        while waiting:
            source = waiting.pop()
            if not is_demoted(source):
                new = self._edges.get(source, {}).keys() - found
                found |= new
                waiting += new
        return found

    def changes(self) -> Iterator[tuple[bytes, Mapping[bytes, float], float]]:
        """The hosts of which an edge was changed since `saved`, or to which a seed came: all of their edges, and the
        number of their seeds.
        """
        return ((host, self._edges.get(host, {}), self.seeds.get(host, 0.0)) for host in self._changed)

    def saved(self) -> None:
        self._changed.clear()
