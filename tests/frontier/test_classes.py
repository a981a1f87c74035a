"""Rows of classes, and the learners of hosts, on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from database_files import database_at
from frontier_helpers import digest

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.forms.classes import ROW_BYTES, Classes, ClassRow
from sitecrawl.frontier.forms.learners import KEPT, Learners


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = database_at(tmp_path / "db", "test")
    yield opened
    opened.close()


def commit(database: Database, part: Classes | Learners) -> None:
    batch = database.batch()
    part.flush(batch)
    database.write(batch)
    part.flushed()


def test_a_row_comes_back(database):
    """Before and after it is on disk, with its fields where the format has them."""
    classes, row = Classes(database), ClassRow(digest("page"), digest("text"), digest("other"), 2)
    classes.put(digest("class"), row)
    assert classes.get(digest("class")) == row
    commit(database, classes)
    assert Classes(database).get(digest("class")) == row
    data = database.get("classes", digest("class"))
    assert data == digest("page") + digest("text") + digest("other") + b"\2"
    assert len(data) == ROW_BYTES
    assert classes.get(digest("another")) is None


def test_a_torn_row(database):
    """What cannot be read is said."""
    batch = database.batch()
    batch.put("classes", digest("class"), b"torn")
    batch.put("rules", digest("host", 8), b"torn")
    database.write(batch)
    with pytest.raises(CorruptFile):
        Classes(database).get(digest("class"))
    with pytest.raises(CorruptFile):
        Learners(database).of(digest("host", 8))


def test_learners_of_many_hosts(database):
    """A few are in memory; what was learnt of the others is on disk, or on its way there."""
    learners = Learners(database)
    hosts = [digest(f"host{n}", 8) for n in range(3 * KEPT)]
    for number, host in enumerate(hosts):
        learner = learners.of(host)
        learner.observe("http://a.example/?k=1", b"content1")
        learner.observe("http://a.example/?k=2", b"content1", "http://a.example/?k=1")
        learners.changed(host)
        if number % 50 == 0:
            commit(database, learners)
        assert len(learners._kept) <= KEPT
    assert all(len(learners.of(host).learnt) == 1 for host in hosts)
    commit(database, learners)
    assert all(len(Learners(database).of(host).learnt) == 1 for host in hosts)


def test_a_host_of_which_nothing_was_learnt(database):
    """It has no row."""
    learners = Learners(database)
    learners.of(digest("host", 8)).observe("http://a.example/", b"content1")
    commit(database, learners)
    assert database.get("rules", digest("host", 8)) is None
