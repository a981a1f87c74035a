"""What a later run renders."""

from __future__ import annotations

from pathlib import Path

from database_files import database_at

from sitecrawl.plugins.rendering.middleware import _Unrendered


def test_a_page_is_listed_until_it_is_rendered(tmp_path: Path) -> None:
    """From a checkpoint on, with its request; what was added and rendered in one run is never listed."""
    database = database_at(tmp_path, "h")

    def next_run(pages: _Unrendered) -> _Unrendered:
        batch = database.batch()
        pages.prepare(batch)
        database.write(batch)
        pages.committed()
        return _Unrendered(database)

    pages = _Unrendered(database)
    pages.add(b"a" * 16, None)
    pages.add(b"b" * 16, b"request")
    pages.add(b"c" * 16, None)
    pages.discard(b"c" * 16)
    assert pages.of_runs_before() == []
    pages = next_run(pages)
    assert pages.of_runs_before() == [(b"a" * 16, None), (b"b" * 16, b"request")]
    pages.discard(b"a" * 16)
    pages.discard(b"d" * 16)
    assert next_run(pages).of_runs_before() == [(b"b" * 16, b"request")]
