"""A copy of the page index for another place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pagestore_helpers import exchange

from sitecrawl.base.errors import StorageError
from sitecrawl.pagestore import PageReader, WarcStore
from sitecrawl.pagestore.warc_store import INDEX_FILE
from sitecrawl.plugins.remote.copy import _write_snapshot


def test_as_of_the_last_commit(tmp_path: Path) -> None:
    """In one file, while the crawl writes on; what was there before is replaced."""
    target = tmp_path / "copy" / INDEX_FILE
    target.parent.mkdir()
    target.write_text("of an earlier run")
    store = WarcStore(tmp_path / "crawl")
    store.put(exchange("http://a.example/1"))
    store.checkpoint()
    store.put(exchange("http://a.example/2"))
    _write_snapshot(tmp_path / "crawl" / INDEX_FILE, target)
    assert [path.name for path in target.parent.iterdir()] == [INDEX_FILE]
    with PageReader(target.parent) as reader:
        assert [one.url for one in reader.pages()] == ["http://a.example/1"]
    store.close()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """It is an error that names the file."""
    WarcStore(tmp_path).close()
    with pytest.raises(StorageError, match="none/copy"):
        _write_snapshot(tmp_path / INDEX_FILE, tmp_path / "none" / "copy")
