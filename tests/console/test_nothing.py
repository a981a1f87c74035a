"""What is said where a command has nothing to show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pagestore_helpers import exchange, page

from sitecrawl.console.listing import in_store, why_nothing
from sitecrawl.pagestore import PageFilter, PageReader, WarcStore


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageReader]:
    """Of a page and two errors."""
    store = WarcStore(tmp_path)
    one = exchange("http://a.example/", b"<p>x")
    store.put(one, page(one))
    for number in range(2):
        store.put(exchange(f"http://a.example/{number}", b"", 404), None)
    store.checkpoint()
    store.close()
    with PageReader(tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (PageFilter(kind="page", host="b.example"), "nothing has --host b.example"),
        (PageFilter(kind="page", status=404), "nothing has --kind page and --status 404"),
        (PageFilter(since=1e12), "nothing has the time of --since"),
    ],
)
def test_which_filter_leaves_nothing(reader: PageReader, wanted: PageFilter, said: str) -> None:
    """The one that leaves nothing alone; all of them where each alone leaves something."""
    assert why_nothing(reader, wanted) == f"{said}: the store holds 3 captures (2 error, 1 page)"


def test_what_the_store_holds(tmp_path: Path, reader: PageReader) -> None:
    """Also where it holds nothing."""
    assert in_store(reader) == "the store holds 3 captures (2 error, 1 page)"
    WarcStore(tmp_path / "empty").close()
    with PageReader(tmp_path / "empty") as empty:
        assert in_store(empty) == why_nothing(empty, PageFilter(kind="page")) == "the store is empty"
