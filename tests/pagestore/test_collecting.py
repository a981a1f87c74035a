"""The page stores of several workers become one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from console import command
from pagestore_helpers import STARTED, assert_checkers_pass, exchange, page, warc_files

from sitecrawl.base.errors import CorruptFile, StorageError
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.collecting import _Collected, collect, merge
from sitecrawl.pagestore.record import WarcOptions
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.pagestore.workers import WorkersReader

ROOT = "http://site.example/"
SAME = b"<title>the same</title>" * 10


def store(directory: Path, *fetches: tuple[str, float, bytes], size: int = 10**9) -> WarcStore:
    """Pages of these names and bodies, fetched so many seconds after the crawl began."""
    written = WarcStore(directory, WarcOptions(name=directory.name, max_file_size=size))
    for name, seconds, body in fetches:
        found = exchange(ROOT + name, body=body, started=STARTED + seconds)
        written.put(found, page(found))
    written.checkpoint()
    return written


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Two workers: `b` was stored by both, and the one that does not count has a body that a later page refers to."""
    store(tmp_path / "worker-1", ("a", 1, b"a"), ("b", 2, SAME), ("e", 7, SAME), ("x", 8, b"x"), size=900).close()
    second = store(tmp_path / "worker-2", ("c", 3, b"c"), ("b", 5, b"b"), ("d", 6, SAME))
    second.withdraw([1])
    second.checkpoint()
    second.close()
    return tmp_path


def contents(directory: Path) -> list[tuple[str, str, bytes]]:
    with PageReader(directory) as reader:
        return [(one.url.removeprefix(ROOT), one.kind, reader.read(one).body) for one in reader.pages()]


def test_every_page_once(crawl: Path, tmp_path: Path) -> None:
    """In the order of their fetches, with their bodies: also where a body came with what does not count."""
    target = tmp_path / "all"
    found = collect([crawl / "worker-1", crawl / "worker-2"], target, WarcOptions())
    assert contents(target) == [
        ("a", "page", b"a"),
        ("b", "page", b"b"),
        ("d", "page", SAME),
        ("e", "page", SAME),
        ("x", "page", b"x"),
    ]
    assert found == _Collected(captures=5, pages=5, left_out=2)
    assert_checkers_pass(target)


def test_a_page_that_one_worker_has_fetched_twice(tmp_path: Path) -> None:
    """It had lost the partition in between: one record, also where Redis alone knows that the first is void."""
    first, *_ = fetches = [("a", 1, SAME), ("a", 2, SAME), ("b", 3, SAME)]
    told = store(tmp_path / "worker-1", first)
    told.withdraw([1])
    for name, seconds, body in fetches[1:]:
        found = exchange(ROOT + name, body=body, started=STARTED + seconds)
        told.put(found, page(found))
    told.checkpoint()
    told.close()
    untold = tmp_path / "worker-2"
    store(untold, *fetches).close()
    for number, (worker, void) in enumerate([(tmp_path / "worker-1", {}), (untold, {untold: {1}})]):
        target = tmp_path / f"all-{number}"
        assert collect([worker], target, WarcOptions(), void) == _Collected(captures=2, pages=2, left_out=1)
        assert contents(target) == [("a", "page", SAME), ("b", "page", SAME)]
        assert_checkers_pass(target)


def test_a_page_that_was_not_modified_since(tmp_path: Path) -> None:
    """That answer has no body, so what it refers to comes along."""
    worker = store(tmp_path / "worker-1", ("a", 1, SAME))
    found = exchange(ROOT + "a", status=304, body=b"", started=STARTED + 2)
    worker.put(found, page(found))
    worker.checkpoint()
    worker.close()
    collect([tmp_path / "worker-1"], tmp_path / "all", WarcOptions(), {tmp_path / "worker-1": {1}})
    with PageReader(tmp_path / "all") as reader:
        assert [(one.kind, reader.read(one).body) for one in reader.captures()] == [("other", SAME), ("page", SAME)]


def test_records_stay_as_they_are(crawl: Path, tmp_path: Path) -> None:
    """Request and response of each capture, byte for byte; each file has its own warcinfo."""
    collect([crawl / "worker-1"], tmp_path / "all", WarcOptions(max_file_size=1500))
    sources = b"".join(path.read_bytes() for path in warc_files(crawl / "worker-1"))
    with PageReader(tmp_path / "all") as reader:
        for capture in reader.captures():
            data = (tmp_path / "all" / "warc" / capture.warc_file).read_bytes()
            end = capture.warc_offset + capture.warc_length
            assert data[capture.warc_offset : end] in sources
    assert len(warc_files(tmp_path / "all")) > 1
    assert_checkers_pass(tmp_path / "all")


def test_the_command(crawl: Path, tmp_path: Path) -> None:
    """It takes the directory that the workers are below, and what it writes can be read as a crawl's is."""
    target = tmp_path / "all"
    done = command("collect", str(crawl), "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 captures, 5 of them pages: ")
    listed = command("pages", "-d", str(target), "--kind", "page", "--format", "urls")
    assert listed.stdout.split() == [ROOT + name for name in "abdex"]
    again = command("collect", str(crawl), "-o", str(target))
    assert again.returncode == 1
    assert "is not empty" in again.stderr


def test_what_cannot_be_collected(crawl: Path, tmp_path: Path) -> None:
    """A file that is missing, or ends too early, is named."""
    first, *_ = warc_files(crawl / "worker-2")
    first.write_bytes(first.read_bytes()[:-10])
    with pytest.raises(CorruptFile, match=first.name):
        collect([crawl / "worker-2"], tmp_path / "cut", WarcOptions())
    shutil.rmtree(crawl / "worker-2" / "warc")
    with pytest.raises(StorageError, match=first.name):
        collect([crawl / "worker-2"], tmp_path / "missing", WarcOptions())


def named_alike(directory: Path, *fetches: tuple[str, float, bytes]) -> None:
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
    named_alike(one, ("a", 1, b"a"), ("b", 2, SAME), ("e", 7, SAME), ("x", 8, b"x"))
    named_alike(two, ("c", 3, b"c"), ("b", 5, b"b"), ("d", 6, SAME))
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
