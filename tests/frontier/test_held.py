"""Samples of what is held back: which URLs they are, and that they cost the same however many wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from database_files import put_away
from frontier_helpers import Bench, url

from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.judge.held import HeldSet, HeldSets, Sample, name_of
from sitecrawl.frontier.urls.record import UrlState

ROWS = 50


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "db", "aopic")
    yield bench
    put_away(bench.database)


def blocked(bench: Bench, *, whole: bool = False) -> HeldSet:
    """The section of a.example/p/*, or all of the host, held back and read from disk as a reader does."""
    host = bench.frontier.hosts.named("a.example")
    bench.frontier.by_hand.block(host, None if whole else bench.section_of("p/0"))
    bench.restart()
    host = bench.frontier.hosts.named("a.example")
    section = None if whole else bench.section_of("p/0")
    return HeldSets(bench.database, looked_at=ROWS).read(host, section, 9)


def fetch(bench: Bench, *fetches: tuple[str, int, bool]) -> None:
    """Fetch these, each with a status and whether it was worth it, in this order."""
    for name, status, good in fetches:
        bench.add(name)
        visit = bench.take(name.rpartition("/")[2])
        bench.frontier.downloaded(visit, 0.0)
        state = UrlState.FETCHED if status else UrlState.FAILED
        bench.frontier.done(visit, state, status=status, good=good)


def test_the_last_that_were_fetched(bench: Bench) -> None:
    """The last three, the last first, each with its status and whether it was worth having, also after a restart."""
    fetch(bench, ("p/0", 200, True), ("p/1", 200, True), ("p/2", 404, False), ("q/9", 200, True), ("p/3", 0, True))
    bench.add("p/4")
    held = blocked(bench)
    assert held.fetched_urls == [
        Sample(url("p/3").url, 0, good=False),
        Sample(url("p/2").url, 404, good=False),
        Sample(url("p/1").url, 200, good=True),
    ]
    assert held.waiting_urls == [url("p/4").url]


def test_a_host_as_a_whole(bench: Bench) -> None:
    """It shows what was fetched and what waits of its sections."""
    fetch(bench, ("p/0", 200, True), ("q/1", 200, True))
    bench.add("p/2", "q/3")
    held = blocked(bench, whole=True)
    assert {one.url for one in held.fetched_urls} == {url("p/0").url, url("q/1").url}
    assert set(held.waiting_urls) == {url("p/2").url, url("q/3").url}
    assert (held.shape, held.why, held.elsewhere) == ("", "blocked", None)


def test_the_evidence(bench: Bench) -> None:
    """How many of its URLs others know, since when it is held back, and the reason in words."""
    bench.add("home")
    visit = bench.take("home")
    bench.link(visit, *(url(f"p/{n}") for n in range(4)))
    bench.finish(visit)
    visit = bench.frontier.next()
    assert visit is not None
    bench.link(visit, *(url(f"p/{n}") for n in range(4, 8)))
    bench.finish(visit)
    held = blocked(bench)
    assert (held.known, held.waiting, held.fetched, held.good, held.elsewhere) == (8, 7, 1, 1, 0.5)
    assert (held.since, held.why, held.demoted) == (2, "blocked", True)
    assert held.reason.startswith("blocked by hand at fetch 2 of 9")


def test_few_rows_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many URLs wait, three of them come out of the first rows of the queue, and different ones of them."""
    bench.add(*(f"p/{n}" for n in range(2000)))
    rows: list[bytes] = []
    scan = Database.scan

    def counted(database: Database, family: str, *bounds: Any) -> Iterator[tuple[bytes, bytes]]:
        for row in scan(database, family, *bounds):
            rows.append(row[0])
            yield row

    bench.commit()
    host, section = bench.frontier.hosts.named("a.example"), bench.section_of("p/0")
    monkeypatch.setattr(Database, "scan", counted)
    held = HeldSets(bench.database, looked_at=ROWS).read(host, section, 0)
    assert len(rows) == ROWS
    assert len(set(held.waiting_urls)) == 3


def test_names() -> None:
    """A shape goes on where its host ends; the name of a rule does not."""
    assert name_of("a.example", "") == "a.example"
    assert name_of("a.example", "/p/*") == "a.example/p/*"
    assert name_of("a.example", 'rule 1: without "x" in /*') == 'a.example rule 1: without "x" in /*'
