"""The page stores of several workers, read as one."""

from __future__ import annotations

from pathlib import Path

from pagestore_helpers import STARTED, exchange, page

from sitecrawl.pagestore.collecting import collect
from sitecrawl.pagestore.reader import PageFilter, PageReader
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT, CaptureKind, WarcOptions, urn
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.pagestore.workers import WorkersReader, open_pages

ROOT = "http://site.example/"
MADE: tuple[CaptureKind, ...] = (RENDERED, SCREENSHOT)
"""What a browser makes of a page."""


def store(directory: Path, *fetches: tuple[str, float], status: int = 200) -> None:
    """Pages of these names, fetched so many seconds after the crawl began."""
    written = WarcStore(directory)
    for name, seconds in fetches:
        body = f"<title>{name}</title>{directory.name}".encode()
        found = exchange(ROOT + name, body=body, status=status, started=STARTED + seconds)
        written.put(found, page(found) if status == 200 else None)
    written.checkpoint()
    written.close()


def test_a_page_that_two_workers_have_stored(tmp_path: Path) -> None:
    """The one that was fetched last counts: what came before was under a lease that ran out."""
    store(tmp_path / "worker-1", ("a", 1), ("b", 2), ("c", 9))
    store(tmp_path / "worker-2", ("c", 3), ("b", 5), ("d", 6))
    with WorkersReader(tmp_path) as reader:
        shown = list(reader.pages())
        bodies = {reader.read(capture).body.rpartition(b">")[2].decode() + capture.url[-2:] for capture in shown}
        assert bodies == {"worker-1/a", "worker-2/b", "worker-1/c", "worker-2/d"}
        assert [capture.url[-1] for capture in shown] == ["a", "b", "d", "c"]
        assert [capture.url[-1] for capture in reader.pages(PageFilter(url_like="b"))] == ["b"]
        (found,) = reader.find(ROOT + "b", all=True)
        assert found.fetched == STARTED + 5


def test_what_two_browsers_made_of_a_page(tmp_path: Path) -> None:
    """DOM and picture go with the page that counts, and not with the other worker's."""
    for number, seconds in ((1, 1), (2, 5)):
        written = WarcStore(tmp_path / f"worker-{number}")
        for kind in MADE:
            made = exchange(urn(kind, ROOT), f"{kind} {number}".encode(), started=STARTED + seconds)
            written.put(made, None)
        found = exchange(ROOT, started=STARTED + seconds)
        written.put(found, page(found))
        written.checkpoint()
        written.close()
    with WorkersReader(tmp_path) as reader:
        for kind in MADE:
            (counting,) = reader.pages(PageFilter(kind=kind))
            assert reader.read(counting).body == f"{kind} 2".encode()
    assert collect([tmp_path / "worker-1", tmp_path / "worker-2"], tmp_path / "all", WarcOptions()) == (3, 1, 3)


def test_of_two_at_one_moment_one_counts(tmp_path: Path) -> None:
    """Clocks may agree to the last digit."""
    store(tmp_path / "worker-1", ("a", 1))
    store(tmp_path / "worker-2", ("a", 1))
    with WorkersReader(tmp_path) as reader:
        assert len(list(reader.pages())) == 1


def test_what_is_no_page_is_listed(tmp_path: Path) -> None:
    """An attempt that failed on one worker is no second page."""
    store(tmp_path / "worker-1", ("a", 1), status=503)
    store(tmp_path / "worker-2", ("a", 2))
    with WorkersReader(tmp_path) as reader:
        assert [capture.status for capture in reader.find(ROOT + "a", all=True)] == [200, 503]
        assert len(list(reader.pages())) == 2


def test_what_is_void_is_not_shown(tmp_path: Path) -> None:
    """Redis says which pages those are: also a later one of the same URL, and all that the only worker has."""
    one, two = tmp_path / "worker-1", tmp_path / "worker-2"
    store(one, ("a", 1), ("b", 9))
    store(two, ("b", 5))
    void = {one: {2}}
    with WorkersReader(tmp_path, void=void) as reader:
        assert [(capture.url[-1], capture.fetched - STARTED) for capture in reader.pages()] == [("a", 1), ("b", 5)]
        assert [capture.fetched - STARTED for capture in reader.find(ROOT + "b", all=True)] == [5]
    with open_pages(one, void) as reader:
        assert [capture.url[-1] for capture in reader.pages()] == ["a"]
    assert isinstance(open_pages(two, void), PageReader)


def test_every_workers_page_counts_where_that_is_asked(tmp_path: Path) -> None:
    store(tmp_path / "worker-1", ("a", 1), ("b", 2))
    store(tmp_path / "worker-2", ("b", 5))
    with WorkersReader(tmp_path, once=False) as reader:
        assert sorted(capture.url[-1] for capture in reader.pages()) == ["a", "b", "b"]
