"""What a crash, a full disk or a lost file costs: named by the danger."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from crawling import HELPERS
from pagestore_helpers import assert_checkers_pass, exchange, stored, warc_files

from sitecrawl.base.errors import CorruptFile, FormatMismatch, StorageError
from sitecrawl.pagestore import PageReader, WarcOptions, WarcStore
from sitecrawl.pagestore.index import PageIndex

KILLS = 12

# Puts pages and checkpoints for ever. `position.json` stands for the crawl's own database: it is written after each
# checkpoint, and says how far the crawl has come.
WRITER = """
import json, os, random, sys
from pathlib import Path
from crawling import HELPERS
from pagestore_helpers import exchange
from sitecrawl.pagestore import WarcOptions, WarcStore

directory = Path(sys.argv[1])
saved = directory / "position.json"
position, done = json.loads(saved.read_text()) if saved.exists() else (None, 0)
store = WarcStore(directory, WarcOptions(max_file_size=100_000))
store.recover(position)
print("ready", flush=True)
while True:
    for _ in range(random.randint(5, 20)):
        store.put(exchange(f"http://site.example/{done}", random.Random(done // 2).randbytes(2_000)))
        done += 1
    new = directory / "position.new"
    new.write_text(json.dumps([store.checkpoint(), done]))
    os.replace(new, saved)
    print(done, flush=True)
"""


def kill_a_writer(directory: Path, checkpoints: int) -> None:
    """Kill it at some moment after so many checkpoints."""
    command = [sys.executable, "-c", WRITER, str(directory)]
    with subprocess.Popen(command, cwd=HELPERS, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        for _ in range(checkpoints):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)


@pytest.mark.deep
def test_killed_at_any_moment(tmp_path):
    """After SIGKILL the store has the pages that the crawl's database knows, each once, and goes on from there."""
    moments = random.Random(1)
    for _ in range(KILLS):
        kill_a_writer(tmp_path, moments.randint(0, 4))
        saved = tmp_path / "position.json"
        position, done = json.loads(saved.read_text()) if saved.exists() else (None, 0)
        store = WarcStore(tmp_path)
        store.recover(position)
        store.close()
        assert [url for url, _ in stored(tmp_path)] == [f"http://site.example/{number}" for number in range(done)]
    assert done
    assert len(warc_files(tmp_path)) > 1
    assert_checkers_pass(tmp_path)


def fill(directory: Path, first: int, pages: int, store: WarcStore | None = None, **options) -> WarcStore:
    store = store or WarcStore(directory, WarcOptions(**options))
    for number in range(first, first + pages):
        store.put(exchange(f"http://site.example/{number}", b"body %d" % number))
    return store


def test_the_crawls_database_is_one_checkpoint_behind(tmp_path):
    """Pages of a checkpoint that the crawl's database never heard of are gone, in rolled files too."""
    store = fill(tmp_path, 0, 3, max_file_size=2_000)
    position = store.checkpoint()
    before = {path.name: path.read_bytes() for path in warc_files(tmp_path)}
    fill(tmp_path, 3, 20, store)
    store.checkpoint()
    store.close()
    store = WarcStore(tmp_path, WarcOptions(max_file_size=2_000))
    store.recover(position)
    assert {path.name: path.read_bytes() for path in warc_files(tmp_path)} == before
    fill(tmp_path, 3, 2, store).checkpoint()
    store.close()
    assert stored(tmp_path) == [(f"http://site.example/{n}", b"body %d" % n) for n in range(5)]
    assert_checkers_pass(tmp_path)


def test_a_crash_before_the_crawls_first_checkpoint(tmp_path):
    """A crawl that knows no position begins with an empty store."""
    store = fill(tmp_path, 0, 3)
    store.checkpoint()
    store.close()
    store = WarcStore(tmp_path)
    store.recover(None)
    assert (warc_files(tmp_path), stored(tmp_path)) == ([], [])
    fill(tmp_path, 0, 1, store).checkpoint()
    store.close()
    assert len(stored(tmp_path)) == 1


@pytest.mark.parametrize("tail", [b"\x1f\x8b", b"\x1f\x8b\x08\x00torn", b"\0" * 5_000])
def test_a_torn_record(tmp_path, tail):
    """Whatever a crash left behind the last whole record is cut off when the store is opened."""
    store = fill(tmp_path, 0, 2)
    store.checkpoint()
    store.close()
    with warc_files(tmp_path)[0].open("ab") as file:
        file.write(tail)
    store = fill(tmp_path, 2, 1)
    store.checkpoint()
    store.close()
    assert_checkers_pass(tmp_path)
    assert len(stored(tmp_path)) == 3


def test_pages_without_a_checkpoint_are_given_up(tmp_path):
    """What was put and not checkpointed is not there after closing, in files and index alike."""
    store = fill(tmp_path, 0, 2)
    store.checkpoint()
    size = warc_files(tmp_path)[0].stat().st_size
    fill(tmp_path, 2, 5, store).close()
    store = WarcStore(tmp_path)
    assert warc_files(tmp_path)[0].stat().st_size == size
    assert len(stored(tmp_path)) == 2
    store.close()


def damaged_store(directory: Path, damage) -> dict[str, object]:
    store = fill(directory, 0, 2)
    store.checkpoint()
    fill(directory, 2, 2, store)
    position = store.checkpoint()
    store.close()
    damage(directory, warc_files(directory)[0])
    return position


def drop_rows(directory: Path, warc: Path) -> None:
    with sqlite3.connect(directory / "pages.sqlite") as db:
        db.execute("DELETE FROM pages WHERE id > 2")
    db.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda _, warc: warc.write_bytes(warc.read_bytes()[:-1]), "pages are missing"),
        (lambda _, warc: warc.unlink(), "has 0 bytes"),
        (drop_rows, "ends at capture 2"),
        (lambda directory, _: (directory / "pages.sqlite").unlink(), "pages.sqlite is missing"),
        (lambda directory, _: (directory / "pages.sqlite").write_bytes(b"x" * 5_000), "no intact SQLite"),
    ],
)
def test_a_store_shorter_than_its_position(tmp_path, damage, message):
    """A lost or shortened file is a named error that says what to do, and nothing is deleted."""
    position = damaged_store(tmp_path, damage)
    files = warc_files(tmp_path)
    with pytest.raises(CorruptFile, match=message):
        WarcStore(tmp_path).recover(position)
    assert warc_files(tmp_path) == files


def test_the_crawls_database_is_lost(tmp_path):
    """A store of many checkpoints is not emptied because the database beside it begins anew."""
    damaged_store(tmp_path, lambda *_: None)
    store = WarcStore(tmp_path)
    with pytest.raises(CorruptFile, match="knows none of them"):
        store.recover(None)
    store.close()
    assert len(stored(tmp_path)) == 4


def test_a_position_of_another_version(tmp_path):
    """A position with other fields is a named error."""
    store = WarcStore(tmp_path)
    with pytest.raises(FormatMismatch, match="no position"):
        store.recover({"segment": 5})
    store.close()


@pytest.mark.parametrize(
    ("pragma", "message"),
    [("user_version = 4", "format 4, and this version reads 3"), ("application_id = 7", "check-crawl --repair")],
)
def test_an_index_of_another_format(tmp_path, pragma, message):
    """A newer index, or what is none, is refused by writer and reader."""
    damaged_store(tmp_path, lambda *_: None)
    with sqlite3.connect(tmp_path / "pages.sqlite") as db:
        db.execute(f"PRAGMA {pragma}")
    db.close()
    with pytest.raises((FormatMismatch, CorruptFile), match=message):
        WarcStore(tmp_path)
    with pytest.raises((FormatMismatch, CorruptFile), match=message):
        PageReader(tmp_path)


def test_an_index_is_there_wholly_or_not_at_all(tmp_path):
    """Who looks while the store is made finds none, or an empty one."""
    answers: set[int | str] = set()
    made = threading.Event()

    def look() -> None:
        while not made.is_set():
            for number in range(30):
                try:
                    with PageReader(tmp_path / str(number)) as reader:
                        answers.add(len(list(reader.pages())))
                except StorageError as error:
                    answers.add("holds no stored pages" in str(error) or str(error))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(30):
            WarcStore(tmp_path / str(number)).close()
    finally:
        made.set()
        looking.join()
    assert answers <= {0, True}


KILLED = """
import os, signal, sys
from pathlib import Path
from sitecrawl.pagestore import index

def die(path):
    os.kill(os.getpid(), signal.SIGKILL)

index.sync_directory = die
index.PageIndex(Path(sys.argv[1]))
"""


def test_an_index_does_not_change_its_mode(tmp_path):
    """It is made in WAL mode: a kill in a change of the mode would leave a journal, which no reader may roll back."""
    file = tmp_path / "pages.sqlite"
    done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
    assert done.returncode == -signal.SIGKILL
    made = file.read_bytes()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    PageIndex(file).close()
    assert file.read_bytes() == made


def test_what_was_left_of_an_index_is_no_part_of_the_next(tmp_path):
    """A draft that a kill left, and the log of an index that is gone: both would be taken for the new one's."""
    store = fill(tmp_path, 0, 3)
    store.checkpoint()
    log = (tmp_path / "pages.sqlite-wal").read_bytes()
    store.close()
    shutil.rmtree(tmp_path / "warc")
    (tmp_path / "pages.sqlite").unlink()
    (tmp_path / "pages.sqlite-wal").write_bytes(log)
    (tmp_path / "pages.sqlite.new").write_bytes(b"half a dat")
    with closing(WarcStore(tmp_path)) as store, PageReader(tmp_path) as reader:
        assert list(reader.pages()) == []
        store.put(exchange("http://site.example/after"))
        store.checkpoint()
        assert [capture.url for capture in reader.pages()] == ["http://site.example/after"]
    assert not (tmp_path / "pages.sqlite.new").exists()


def test_files_of_others_are_not_touched(tmp_path):
    """Recovering deletes only files that the store itself has named."""
    store = fill(tmp_path, 0, 1)
    foreign = tmp_path / "warc" / "mine.warc.gz"
    foreign.write_bytes(b"precious")
    store.close()
    store = WarcStore(tmp_path)
    store.recover(None)
    store.close()
    assert warc_files(tmp_path) == [foreign]


def test_the_disk_is_full(tmp_path):
    """A write that the disk has no room for says so. The store then takes nothing, and recovers to its checkpoint."""
    store = fill(tmp_path, 0, 2)
    position = store.checkpoint()
    disk = store._files._file
    with Path("/dev/full").open("wb", buffering=0) as full:
        store._files._file = full
        with pytest.raises(StorageError, match=r"The disk of .* is full: free some space"):
            fill(tmp_path, 2, 1, store)
    store._files._file = disk
    with pytest.raises(StorageError, match="start the crawl again"):
        store.checkpoint()
    store.close()
    store = WarcStore(tmp_path)
    store.recover(position)
    fill(tmp_path, 2, 1, store).checkpoint()
    store.close()
    assert len(stored(tmp_path)) == 3
    assert_checkers_pass(tmp_path)


LIMITED = """
import json, random, resource, sys
from pathlib import Path
from crawling import HELPERS
from pagestore_helpers import exchange
from sitecrawl.base.errors import StorageError
from sitecrawl.pagestore import WarcStore

store = WarcStore(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
done = 0
try:
    while True:
        store.put(exchange(f"http://site.example/{done}", random.randbytes(7_777)))
        done += 1
        if done % 10 == 0:
            position = store.checkpoint()
except StorageError as error:
    print(json.dumps([position, store._files.offset, str(error)]))
"""


def test_a_write_that_stops_half_way(tmp_path):
    """A record of which only a part could be written is cut off at once."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, cwd=HELPERS, capture_output=True, check=True)
    position, whole, message = json.loads(done.stdout)
    assert "cannot be used" in message
    assert warc_files(tmp_path)[0].stat().st_size == whole < 400_000
    assert_checkers_pass(tmp_path)
    store = WarcStore(tmp_path)
    store.recover(position)
    store.close()
    assert len(stored(tmp_path)) == position["last_id"] > 0
    assert_checkers_pass(tmp_path)


def test_the_index_cannot_grow(tmp_path):
    """After a row that found no room the store takes nothing more, and recovers to the checkpoint before."""
    store = fill(tmp_path, 0, 3)
    position = store.checkpoint()
    pages = store._index._db.execute("PRAGMA page_count").fetchone()[0]
    store._index._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match=r"The disk of .* is full: free some space"):
        fill(tmp_path, 3, 200, store)
    with pytest.raises(StorageError, match="start the crawl again"):
        store.checkpoint()
    with pytest.raises(StorageError, match="start the crawl again"):
        fill(tmp_path, 3, 1, store)
    store.close()
    store = WarcStore(tmp_path)
    store.recover(position)
    fill(tmp_path, 3, 1, store).checkpoint()
    store.close()
    assert len(stored(tmp_path)) == 4
    assert_checkers_pass(tmp_path)


def test_a_checkpoint_without_news_writes_nothing(tmp_path):
    """A crawl that waits does not wear out the disk."""
    store = fill(tmp_path, 0, 1)
    assert store.checkpoint() == store.checkpoint()
    store.close()
