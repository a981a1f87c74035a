"""The frontier tells with each page how much of its text is new to its host."""

from __future__ import annotations

import random
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

import pytest
from frontier_helpers import Bench

from sitecrawl.frontier.visit import Visit
from sitecrawl.novelty.shown_text import Novelty
from sitecrawl.page.shingles import shingles


def text(seed: int) -> str:
    source = random.Random(seed)
    return " ".join(f"w{source.randrange(100_000)}" for _ in range(300))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    made.database.close()


def fetch(bench: Bench, says: str | None) -> Novelty | None:
    """Fetch the next page, which says that, and none of whose bodies are equal."""
    visit = bench.frontier.next()
    assert isinstance(visit, Visit)
    sample = b"" if says is None else shingles(says)
    bench.frontier.judge_content(visit, sha1(visit.key).digest(), title="", text_hash=None, sample=sample)
    bench.finish(visit)
    return visit.news.novelty


def test_a_text_that_comes_again(bench: Bench) -> None:
    """What a page says is new once, on its host; what has no text has no novelty."""
    bench.add(*"123")
    first, second = fetch(bench, text(1)), fetch(bench, text(1))
    assert first is not None
    assert first.share > 0.9
    assert first.new == pytest.approx(300, rel=0.4)
    assert second == Novelty(0.0, 0)
    assert fetch(bench, None) is None
    bench.add("1", host="b.example")
    assert fetch(bench, text(1)) == first


def test_it_survives_a_crash(bench: Bench) -> None:
    """What was shown by the last checkpoint is known after a crash."""
    bench.add(*"123")
    fetch(bench, text(1))
    bench.restart()
    assert fetch(bench, text(1)) == Novelty(0.0, 0)
