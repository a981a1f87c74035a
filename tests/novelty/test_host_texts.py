"""What hosts have shown is on disk by the checkpoints, and most of it survives a crash."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.novelty.host_texts import HostTexts, stored_texts
from sitecrawl.novelty.shown_text import ShownText
from sitecrawl.page.shingles import shingles

A, B = b"a" * 8, b"b" * 8


def page(seed: int, words: int = 400) -> bytes:
    source = random.Random(seed)
    return shingles(" ".join(f"w{source.randrange(100_000)}" for _ in range(words)))


class Crawl:
    """Texts on a real database, which can be committed and crashed."""

    def __init__(self, path: Path, memory: int = 1 << 20) -> None:
        self.path, self.memory = path, memory
        self.open()

    def open(self) -> None:
        self.database = Database(self.path, hash_name="test")
        self.texts = HostTexts(self.database, memory=self.memory)

    def commit(self) -> int:
        """Returns how many rows were written."""
        batch = self.database.batch()
        self.texts.flush(batch)
        written = len(batch)
        self.database.write(batch)
        self.texts.flushed()
        return written

    def crash(self) -> None:
        self.database.close()
        self.open()


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    crawl = Crawl(tmp_path / "db")
    yield crawl
    crawl.database.close()


def test_hosts_are_told_apart(crawl: Crawl) -> None:
    """What one host has shown is new on another."""
    assert crawl.texts.look(A, page(1)).share > 0.9
    assert crawl.texts.look(B, page(1)).share > 0.9
    assert crawl.texts.look(A, page(1)).share == 0


def test_a_crash_after_a_checkpoint(crawl: Crawl) -> None:
    """What a young host has shown is on disk with the first checkpoint after it."""
    for seed in range(5):
        crawl.texts.look(A, page(seed))
        crawl.commit()
    crawl.crash()
    assert [crawl.texts.look(A, page(seed)).share for seed in range(5)] == [0] * 5


def test_a_crash_costs_an_eighth(crawl: Crawl) -> None:
    """Of many pages, each with a checkpoint, a crash forgets no more than an eighth."""
    for seed in range(200):
        crawl.texts.look(A, page(seed))
        crawl.commit()
    crawl.crash()
    forgotten = [crawl.texts.look(A, page(seed)).share > 0.5 for seed in range(200)]
    assert sum(forgotten) <= 25
    assert not any(forgotten[:150])


def test_not_every_checkpoint_writes(crawl: Crawl) -> None:
    """What is written is a few times what is held, with as many checkpoints as pages."""
    written = 0
    for seed in range(200):
        crawl.texts.look(A, page(seed))
        written += crawl.commit()
    assert written < 150


def test_nothing_new_is_not_written(crawl: Crawl) -> None:
    """A page that says nothing new leaves nothing to write."""
    crawl.texts.look(A, page(1))
    assert crawl.commit() > 0
    crawl.texts.look(A, page(1))
    assert crawl.commit() == 0


def test_an_end_loses_nothing(crawl: Crawl) -> None:
    """What no checkpoint has written is written when a crawl ends."""
    for seed in range(100):
        crawl.texts.look(A, page(seed))
        crawl.commit()
    crawl.texts.save()
    crawl.crash()
    assert all(crawl.texts.look(A, page(seed)).share == 0 for seed in range(100))


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Hosts that were not asked for longest leave memory, and come back as they were."""
    crawl = Crawl(tmp_path / "db", memory=20_000)
    hosts = [bytes([number]) * 8 for number in range(100)]
    for number, host in enumerate(hosts):
        crawl.texts.look(host, page(number))
        crawl.commit()
        assert crawl.texts.size <= 20_000
    assert all(crawl.texts.look(host, page(number)).share == 0 for number, host in enumerate(hosts))
    crawl.database.close()


def test_another_takes_over(crawl: Crawl) -> None:
    """Who goes on knows what was not written, of the hosts that are still here."""
    for host in (A, B):
        crawl.texts.look(host, page(1))
    after = HostTexts(crawl.database)
    after.take_over(crawl.texts, A.__eq__)
    assert after.look(A, page(1)).share == 0
    assert after.look(B, page(1)).share > 0.9


def test_a_layer_that_is_lost(crawl: Crawl) -> None:
    """A host whose rows do not fit together is told."""
    crawl.texts.look(A, page(1))
    crawl.commit()
    (keys, parts), *_ = stored_texts(crawl.database)
    assert ShownText.unpack(parts).look(page(1)).share == 0
    batch = crawl.database.batch()
    batch.delete("content", keys[1])
    crawl.database.write(batch)
    crawl.crash()
    with pytest.raises(CorruptFile):
        crawl.texts.look(A, page(1))
