"""One page index over the stores of several workers: a reader of one store reads it."""

from __future__ import annotations

from pathlib import Path

from pagestore_helpers import STARTED, exchange, page

from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.collecting import merge
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.pagestore.workers import WorkersReader

ROOT = "http://site.example/"
SAME = b"<title>the same</title>" * 10


def store(directory: Path, *fetches: tuple[str, float, bytes]) -> None:
    """Pages of these names and bodies; the files of all workers have the same names."""
    written = WarcStore(directory, WarcOptions(name="same", max_file_size=900))
    for name, seconds, body in fetches:
        found = exchange(ROOT + name, body=body, started=STARTED + seconds)
        written.put(found, page(found))
    written.checkpoint()
    written.close()


def test_it_has_what_counts(tmp_path: Path) -> None:
    """Each page once, in the order of time, with its body; what does not count stands for no URL."""
    one, two = tmp_path / "worker-1", tmp_path / "worker-2"
    store(one, ("a", 1, b"a"), ("b", 2, SAME), ("e", 7, SAME), ("x", 8, b"x"))
    store(two, ("c", 3, b"c"), ("b", 5, b"b"), ("d", 6, SAME))
    target = tmp_path / "target"
    target.mkdir()
    with WorkersReader(tmp_path, void={one: {4}}) as workers:
        merge(workers, target)
    with PageReader(target) as reader:
        found = list(reader.captures())
        assert [capture.id for capture in found] == [1, 2, 3, 4, 5, 6]
        pages = [capture for capture in found if capture.kind == "page"]
        assert [capture.url for capture in pages] == [ROOT + name for name in "acbde"]
        assert [reader.read(capture).body for capture in pages] == [b"a", b"c", b"b", SAME, SAME]
        (original,) = [capture for capture in found if capture.kind == "other"]
        assert (original.url, original.url_key) == (ROOT + "b", "")
        assert reader.find(ROOT + "x") == []
    assert min(path.name for path in (target / "warc").iterdir()).startswith("0-same")
    assert all(path.is_symlink() for path in (target / "warc").iterdir())
