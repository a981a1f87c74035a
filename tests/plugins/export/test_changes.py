"""What has become of pages between two times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pagestore_helpers import STARTED, exchange, page

from sitecrawl.page.items import Exchange
from sitecrawl.pagestore import PageReader, WarcStore
from sitecrawl.pagestore.workers import open_pages
from sitecrawl.plugins.export.changes import _Change, changes
from sitecrawl.plugins.export.pages import Pages

HTML = [(b"Content-Type", b"text/html; charset=utf-8")]
DAY = 86_400.0


def at(path: str, body: str = "<p>text", day: float = 0, status: int = 200, to: str = "", **more: Any) -> Exchange:
    headers = [*HTML, (b"Location", to.encode())] if to else HTML
    return exchange(
        f"http://site.example/{path}", body.encode(), status, headers=headers, started=STARTED + day * DAY, **more
    )


def store(directory: Path, *exchanges: Exchange) -> int:
    """Adds them; gives the id of the last capture before."""
    stored = WarcStore(directory)
    before = stored.last_id
    for one in exchanges:
        stored.put(one, page(one, title="T") if one.status == 200 else None)
    stored.checkpoint()
    stored.close()
    return before


def found(directory: Path, *, since: float = 1) -> list[_Change]:
    with open_pages(directory) as reader, Pages(reader) as pages:
        spans = {name: (one.last_before(STARTED + since * DAY), one.last_id) for name, one in pages.stores}
        return list(changes(pages, spans))


def words(directory: Path, *, since: float = 1) -> dict[str, str]:
    return {change.url.rpartition("/")[2]: change.what for change in found(directory, since=since)}


def test_what_becomes_of_pages(tmp_path: Path) -> None:
    """New, changed, gone and moved; what says nothing of a page leaves it as it was."""
    names = ("same", "token", "edited", "lost", "gone", "moved", "refused", "failing")
    store(
        tmp_path, *(at(name, f"<p>{name}") for name in names), at("dead", status=404), at("led", status=301, to="/x")
    )
    store(
        tmp_path,
        at("new", day=1),
        at("same", "<p>same", 1),
        at("token", "<p>token<!-- 1 -->", 1),
        at("edited", "<p>Other", 1),
        at("lost", status=404, day=1),
        at("gone", status=410, day=1),
        at("moved", status=308, to="/new", day=1),
        at("refused", status=403, day=1),
        at("failing", status=503, day=1),
        at("dead", status=404, day=1),
        at("led", status=301, to="/y", day=1),
        at("same", "", 1.5, 304),
    )
    assert words(tmp_path) == {
        "new": "new", "edited": "changed", "lost": "gone", "gone": "gone", "moved": "moved",
    }  # fmt: skip


def test_the_last_word_counts(tmp_path: Path) -> None:
    """Of several versions since the time the newest is held against the last one before it."""
    store(tmp_path, at("a", "<p>one"), at("b", "<p>one"), at("c", "<p>one"), at("d", status=404))
    store(tmp_path, at("a", "<p>two", 1), at("b", "<p>two", 1), at("c", status=404, day=1), at("e", day=1))
    store(tmp_path, at("a", "<p>one", 2), at("b", "", 2, 304), at("c", "<p>one", 2), at("d", day=2))
    store(tmp_path, at("e", status=404, day=2))
    assert words(tmp_path) == {"b": "changed", "d": "new"}
    assert words(tmp_path, since=2) == {"a": "changed", "c": "new", "d": "new", "e": "gone"}
    assert words(tmp_path, since=3) == {}


def test_what_was_said_before(tmp_path: Path) -> None:
    """A change knows both versions, and the lines of the texts that differ."""
    lines = [f"<p>Line {number}" for number in range(9)]
    store(tmp_path, at("a", "".join(lines)))
    store(tmp_path, at("a", "".join([*lines[:4], "<p>Another", *lines[5:]]), 1), at("b", day=1))
    with PageReader(tmp_path) as reader, Pages(reader) as pages:
        changed, new = changes(pages, {".": (1, reader.last_id)})
        assert changed.before is not None
        assert changed.before.capture.fetched == STARTED
        assert [line for line in changed.diff() if line[0] in "+-" and line[:3] not in {"+++", "---"}] == [
            "-Line 4",
            "+Another",
        ]
        assert new.before is None
        assert new.diff() == []


def test_many_workers(tmp_path: Path) -> None:
    """A page that another worker had fetched before is no new one."""
    store(tmp_path / "worker-1", at("a", "<p>one"), at("b", "<p>one"))
    store(tmp_path / "worker-2", at("a", "<p>two", 1), at("b", "<p>one", 1), at("c", day=1))
    assert words(tmp_path) == {"a": "changed", "c": "new"}
