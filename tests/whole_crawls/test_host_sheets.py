"""Scope and limits of hosts in a real crawl, by its sheets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from dashboards import Crawl
from localweb import LocalWeb, linked


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """A front page, and the pages of two folders."""
    front = linked(*(f"/a/{n}" for n in range(5)), *(f"/b/{n}" for n in range(5)))
    pages = {f"/{folder}/{n}": linked("/") for folder in "ab" for n in range(5)}
    with LocalWeb({"/": front, **pages}) as made:
        yield made


def host_of(web: LocalWeb) -> str:
    return f"127.0.0.1:{web.port}"


def sheets(*given: dict[str, object]) -> str:
    return json.dumps(given)


def test_two_hosts_with_sheets_of_their_own(web, tmp_path):
    """One host has a limit and a rule of its own, in its summary, and the other one is crawled whole."""
    with ExitStack() as stack:
        pages = {"/": linked(*(f"/{n}" for n in range(4))), **{f"/{n}": linked() for n in range(4)}}
        other = stack.enter_context(LocalWeb(pages))
        given = sheets(
            {"hosts": [host_of(web)], "max_pages": 3, "deny": ["/b/"], "concurrency": 3}, {"hosts": ["*"], "delay": 0}
        )
        seeds = f"{web.root},{other.root}"
        crawl = stack.enter_context(Crawl(seeds, tmp_path / "job", SITECRAWL_SHEETS=given))
        assert crawl.end() == 0
        assert len(web.paths()) == 3
        assert not [path for path in web.paths() if path.startswith("/b/")]
        assert len(other.paths()) == 5
        assert f"{host_of(web)}: its 3 pages are fetched, 3 URLs wait" in crawl.log
        assert "stopped" not in crawl.line("The crawl")
    with Crawl(
        web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets({"hosts": [host_of(web)], "max_pages": 4})
    ) as crawl:
        assert crawl.end() == 0
        assert len(web.paths()) == 4
