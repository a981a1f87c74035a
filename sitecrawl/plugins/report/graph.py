"""The graph of hosts as a picture: where each stands, laid out by forces (Fruchterman and Reingold 1991).

Hosts push one another away, links pull them together, and what may move grows less from step to step. A few dozen
hosts are drawn, the largest: more is a ball of wool, whatever draws it. The start is a spiral, so the picture of a
crawl is always the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MAX_NODES: Final = 40
WIDTH: Final = 900
HEIGHT: Final = 560
_MARGIN: Final = 60
_STEPS: Final = 200
_GOLDEN_ANGLE: Final = math.pi * (3 - math.sqrt(5))


@dataclass(frozen=True, slots=True)
class Node:
    place: Place
    x: float
    y: float
    radius: float
    labelled: bool


@dataclass(frozen=True, slots=True)
class Edge:
    x1: float
    y1: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: list[Node]
    edges: list[Edge]
    left_out: int
    """Hosts that are not drawn."""


@dataclass(frozen=True, slots=True)
class Place:
    """A host to be drawn."""

    key: bytes
    name: str
    size: int
    held: bool
    """It is held back as a trap."""
    words: str


def draw(places: Sequence[Place], links: Mapping[tuple[bytes, bytes], float], left_out: int) -> Graph:
    """The graph of `places`, the largest first, with `links` between their keys, weighed by pages."""
    number = {place.key: n for n, place in enumerate(places)}
    pulls: dict[tuple[int, int], float] = {}
    for (source, target), pages in links.items():
        if source in number and target in number and source != target:
            pair = min(number[source], number[target]), max(number[source], number[target])
            pulls[pair] = pulls.get(pair, 0.0) + pages
    spots = _scaled(_layout(len(places), list(pulls)))
    largest = max((place.size for place in places), default=1) or 1
    heaviest = max(pulls.values(), default=1.0)
    nodes = [
        Node(place, *spots[n], round(5 + 17 * math.sqrt(place.size / largest), 1), n < MAX_NODES // 2)
        for n, place in enumerate(places)
    ]
    edges = [
        Edge(*spots[a], *spots[b], round(0.8 + 3.2 * math.log1p(weight) / math.log1p(heaviest), 2))
        for (a, b), weight in pulls.items()
    ]
    return Graph(nodes, edges, left_out)


def _layout(count: int, pairs: Sequence[tuple[int, int]]) -> list[complex]:
    """Places as complex numbers, about one apart."""
    spots = [
        math.sqrt(n + 0.5) * complex(math.cos(n * _GOLDEN_ANGLE), math.sin(n * _GOLDEN_ANGLE)) for n in range(count)
    ]
    for step in range(_STEPS):
        moves = [-0.15 * spot for spot in spots]  # a pull to the middle: what has no links does not drift away
        for a in range(count):
            for b in range(a):
                away = spots[a] - spots[b]
                push = away / max(abs(away) ** 2, 1e-6) * 1.2
                moves[a] += push
                moves[b] -= push
        for a, b in pairs:
            along = spots[a] - spots[b]
            pull = along * abs(along) * 0.06
            moves[a] -= pull
            moves[b] += pull
        limit = 1.0 * (1 - step / _STEPS) + 0.01
        for n, move in enumerate(moves):
            spots[n] += move * min(1.0, limit / max(abs(move), 1e-9))
    return spots


def _scaled(spots: Sequence[complex]) -> list[tuple[float, float]]:
    """The same places on the picture."""
    if not spots:
        return []
    low_x, high_x = min(s.real for s in spots), max(s.real for s in spots)
    low_y, high_y = min(s.imag for s in spots), max(s.imag for s in spots)

    def spread(value: float, low: float, high: float, length: int) -> float:
        room = length - 2 * _MARGIN
        return round(_MARGIN + (room * (value - low) / (high - low) if high - low > 1e-9 else room / 2), 1)

    return [(spread(s.real, low_x, high_x, WIDTH), spread(s.imag, low_y, high_y, HEIGHT)) for s in spots]
