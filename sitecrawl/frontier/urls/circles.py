"""Which sections of a host lead to one another: strongly connected shapes, that grow as one or not at all.

A maze need not keep to one shape: its pages bring pages of many, and each of these shapes seems to be vouched for
by the others. So sections are joined into *circles*, the strongly connected components (Tarjan 1972) of the graph
whose edges say which section's pages brought a section's URLs first. Links to what was known already are no edges:
they join every page of a site with its front page.

A page that leads to refinements of itself, the same path with more keys, which lead to refinements again, is in one
circle with them: each choice of a facet brings the next, and a shop with five has more such shapes than products.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sitecrawl.frontier.urls.options import MATTERS

_PART = re.compile(r"[^/]+")


def circles(brought: Mapping[bytes, Mapping[bytes, int]], shapes: Mapping[bytes, str]) -> dict[bytes, bytes]:
    """For every section its circle, named after the least of its sections.

    `brought` says of every section how many URLs of which others its pages brought first, `shapes` what they are. An
    edge counts if it brought two, and a part that matters of what the strongest edge to the same section did.
    """
    strongest: dict[bytes, int] = {}
    for targets in brought.values():
        for target, urls in targets.items():
            strongest[target] = max(strongest.get(target, 0), urls)
    edges = {
        source: [
            target
            for target, urls in targets.items()
            if target in brought and urls > 1 and urls >= MATTERS * strongest[target]
        ]
        for source, targets in brought.items()
    }
    for wide, narrow in _refinements(edges, shapes):
        edges[narrow].append(wide)
    return {one: min(component) for component in _components(edges) for one in component}


def _refinements(edges: Mapping[bytes, Iterable[bytes]], shapes: Mapping[bytes, str]) -> list[tuple[bytes, bytes]]:
    """The edges to refinements that are refined themselves, or come from one."""
    found = [(wide, one) for wide, targets in edges.items() for one in targets if _refines(shapes[one], shapes[wide])]
    refined, refining = {wide for wide, _ in found}, {narrow for _, narrow in found}
    return [(wide, narrow) for wide, narrow in found if narrow in refined or wide in refining]


def _refines(narrow: str, wide: str) -> bool:
    """Whether a shape is another one with more keys."""
    path, _, keys = wide.partition("?")
    its_path, _, its_keys = narrow.partition("?")
    if its_keys == "*":
        return path == its_path or _PART.sub("*", path) == its_path
    return path == its_path and (not keys or set(keys.split("&")) < set(its_keys.split("&")))


def _components(edges: Mapping[bytes, Iterable[bytes]]) -> list[list[bytes]]:
    """Tarjan's algorithm, without recursion: the sections of a host are few, but a chain of them may be deep."""
    index: dict[bytes, int] = {}
    low: dict[bytes, int] = {}
    stack: list[bytes] = []
    waiting: set[bytes] = set()
    found: list[list[bytes]] = []
    for root in edges:
        if root in index:
            continue
        path = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        waiting.add(root)
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    waiting.add(target)
                    path.append((target, iter(edges[target])))
                    break
                if target in waiting:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    cut = stack.index(node)
                    found.append(stack[cut:])
                    del stack[cut:]
                    waiting.difference_update(found[-1])
    return found
