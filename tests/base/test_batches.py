"""Rows some at a time."""

from __future__ import annotations

from sitecrawl.base.batches import batches


def test_all_rows_come_once_and_in_order() -> None:
    """Whatever they come from, and whether the last batch is full or not."""
    assert list(batches([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(batches(iter("abcd"), 2)) == [["a", "b"], ["c", "d"]]
    assert list(batches([])) == []


def test_no_more_is_read_than_is_asked_for() -> None:
    """What comes from a database is read as it is wanted."""
    rows = iter(range(10))
    assert next(batches(rows, 3)) == [0, 1, 2]
    assert next(rows) == 3
