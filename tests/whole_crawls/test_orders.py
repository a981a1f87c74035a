"""Which page is fetched after which, read off the logs of real servers, where a crawl asks for one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from crawling import crawl
from localweb import Answer, LocalWeb, Page, linked

LEVELS, BRANCHES = 3, 3


class Tree:
    """Pages with `BRANCHES` links each, every other one on another host."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = [root.rstrip("/") for root in roots]

    def url(self, name: str) -> str:
        return f"{self._roots[len(name) % 2 and int(name[-1]) % 2]}/{name}"

    def children(self, name: str) -> list[str]:
        return [f"{name}{branch}" for branch in range(BRANCHES)] if len(name) < LEVELS else []

    def page(self, path: str, host: str) -> Page | None:
        name = path.lstrip("/")
        return Answer(status=404) if name == "robots.txt" else linked(*map(self.url, self.children(name)))

    def depth_first(self) -> list[str]:
        """What was found last goes first; of one page's links the last."""
        stack, order = [""], []
        while stack:
            order.append(name := stack.pop())
            stack += self.children(name)
        return order

    def breadth_first(self) -> list[str]:
        queue = [""]
        for name in queue:
            queue += self.children(name)
        return queue


def fetched(jobdir: Path, order: str, delay: float) -> tuple[Tree, list[str]]:
    """The names of the pages in the order in which they were asked for."""
    with ExitStack() as stack:
        first = stack.enter_context(LocalWeb({}))
        other = stack.enter_context(LocalWeb({}, address="127.0.0.2", port=first.port))
        tree = Tree([first.root, other.root])
        first.pages = other.pages = tree.page
        arguments = {"order": order, "scope": "any"}
        settings = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": delay, "SITECRAWL_ALLOW_PRIVATE": True}
        result = crawl(first.root, jobdir, **arguments, **settings)
        assert result.returncode == 0, result.stderr
        hits = sorted([*first.hits, *other.hits], key=lambda hit: hit.begun)
    return tree, [hit.path.lstrip("/") for hit in hits if hit.path != "/robots.txt"]


@pytest.mark.parametrize("delay", [0, pytest.param(0.02, marks=pytest.mark.deep)])
def test_depth_first(tmp_path: Path, delay: float) -> None:
    """At any delay, over hosts that have to rest: no page goes before its turn because another is not read yet."""
    tree, found = fetched(tmp_path / "job", "dfs", delay)
    assert found == tree.depth_first()


def test_breadth_first(tmp_path: Path) -> None:
    tree, found = fetched(tmp_path / "job", "bfs", 0)
    assert found == tree.breadth_first()
