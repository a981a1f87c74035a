"""What is no database of ours, or is damaged, is refused with a clear word, and nothing of it is deleted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from database_files import damage, filled, largest_sst, opened
from rocksdict import Options, Rdict

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, FormatMismatch, NothingYet, StorageError
from sitecrawl.crawldir import opening
from sitecrawl.crawldir.database import CRAWL, FAMILIES

OPENER = """
import sys
from pathlib import Path
from sitecrawl.base.errors import CrawlDirectoryInUse
from sitecrawl.crawldir.database import Database

try:
    Database(Path(sys.argv[1]), hash_name="test")
except CrawlDirectoryInUse as error:
    print(error)
"""


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "db"


def test_another_hash(path):
    """A database that is keyed by another hash is refused, with both names, and can be opened rightly after."""
    opened(path).close()
    with pytest.raises(FormatMismatch, match=r"test.*other.*start in a new directory"):
        opened(path, hash_name="other")
    opened(path).close()


def test_another_format(path):
    """A database of another format version is refused."""
    opened(path).close()
    with pytest.raises(FormatMismatch, match="use the version that wrote it"):
        opened(path, layout=replace(CRAWL, format=b"sitecrawl-db-0"))


def test_a_database_of_another_program(path):
    """It is called that, not damaged, by whoever reads and whoever would write; and it is left as it is."""
    foreign = Rdict(str(path), Options(raw_mode=True))
    foreign[b"somebody"] = b"else"
    foreign.close()
    for how in ({}, {"read_only": True}):
        with pytest.raises(FormatMismatch, match="another program"):
            opened(path, **how)
    foreign = Rdict(str(path), Options(raw_mode=True))
    assert dict(foreign.items()) == {b"somebody": b"else"}
    foreign.close()


def test_tables_of_a_later_version(path):
    """A database with a family that is not known was written by a later version."""
    opened(path).close()
    families = dict.fromkeys(("default", *FAMILIES), Options(raw_mode=True))
    later = Rdict(str(path), Options(raw_mode=True), column_families=families)
    later.create_column_family("later", Options(raw_mode=True))
    later.close()
    with pytest.raises(FormatMismatch, match=r"later.*use the version that wrote it"):
        opened(path)


def test_a_database_of_someone_else(path):
    """A RocksDB that another program wrote is refused."""
    other = Rdict(str(path))
    other["a"] = 1
    other.close()
    with pytest.raises(StorageError):
        opened(path)


@pytest.mark.parametrize("name", ["MANIFEST*", "CURRENT"])
@pytest.mark.parametrize("how", ["truncated", "emptied", "overwritten", "deleted"])
def test_a_damaged_file_is_no_empty_database(path, name, how):
    """Whatever happens to the files that name the others, the database is refused and never taken for new."""
    (file,) = filled(path).glob(name)
    if how == "deleted":
        file.unlink()
    else:
        content = file.read_bytes()
        file.write_bytes({"truncated": content[: len(content) // 2], "emptied": b""}.get(how, b"junk" * 99))
    with pytest.raises(CorruptFile, match="restore it from a copy"):
        opened(path)


def test_a_refusal_deletes_nothing(path):
    """RocksDB deletes what a shortened MANIFEST does not name: it is not opened for writing."""
    (file,) = filled(path).glob("MANIFEST*")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    tables = {table.name for table in path.glob("*.sst")}
    with pytest.raises(CorruptFile, match="check-crawl --repair"):
        opened(path)
    assert {table.name for table in path.glob("*.sst")} == tables != set()


@pytest.mark.parametrize("how", ["truncated", "deleted"])
def test_a_lost_table(path, how):
    """A table that is too short or missing is noticed when the database is opened."""
    file = largest_sst(filled(path))
    if how == "deleted":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CorruptFile):
        opened(path)


def test_a_damaged_table(path):
    """Rows that cannot be read raise, where they are asked for and where a scan comes to them."""
    damage(largest_sst(filled(path)), 0.5)
    database = opened(path)
    keys = [b"%06d" % number for number in range(2_000)]
    with pytest.raises(CorruptFile):
        list(database.scan("urls"))
    with pytest.raises(CorruptFile):
        database.get_many("urls", keys)
    with pytest.raises(CorruptFile):
        [database.get("urls", key) for key in keys]
    database.close()


def test_damage_to_a_tables_index(path):
    """A checksum error is called damage, and not a crawl that is running."""
    damage(largest_sst(filled(path, rows=10)), 0.1)
    with pytest.raises(CorruptFile):
        [*opened(path).scan("urls")]


def test_a_second_opener(path):
    """One crawl at a time: who comes second is told so, in this process and in another."""
    database = opened(path)
    with pytest.raises(CrawlDirectoryInUse, match="wait for it, or stop it"):
        opened(path)
    other = subprocess.run([sys.executable, "-c", OPENER, str(path)], capture_output=True, text=True, check=True)
    assert "is open in another process" in other.stdout
    database.close()
    opened(path).close()


def test_a_reader_beside_the_writer(path):
    """Who only reads sees the last batch before it opened, and can change nothing."""
    database = opened(path)
    for number in range(2):
        batch = database.batch()
        batch.put("urls", b"a", b"%d" % number)
        database.write(batch)
        reader = opened(path, read_only=True)
        assert reader.get("urls", b"a") == b"%d" % number
        with pytest.raises(StorageError):
            reader.write(batch)
        reader.close()
    database.close()


def test_a_log_that_goes_while_a_reader_opens(path, monkeypatch):
    """What was in it is in a table by then, of which the reader has not heard: it looks again."""
    database, copy = opened(filled(path)), path.with_name("copy")
    batch = database.batch()
    batch.put("urls", b"late", b"1")
    database.write(batch)
    shutil.copytree(path, copy)
    database.close()
    open_one = opening._open

    def open_late(*args, **how):
        monkeypatch.setattr(opening, "_open", open_one)
        for log in copy.glob("*.log"):
            log.unlink()
        stale = open_one(*args, **how)
        shutil.rmtree(copy)
        shutil.copytree(path, copy)
        return stale

    monkeypatch.setattr(opening, "_open", open_late)
    with closing(opened(copy, read_only=True)) as reader:
        assert reader.get("urls", b"late") == b"1"


def test_a_reader_makes_nothing(path):
    """Reading a database that is not there is an error, and leaves no trace."""
    with pytest.raises(NothingYet):
        opened(path, read_only=True)
    assert not path.exists()


def steps_of_making(path: Path) -> Iterator[None]:
    """What stands in a database's directory while it is made, step by step."""
    yield
    path.mkdir()
    (path / "LOCK").touch()
    (path / "MANIFEST-000001").touch()
    yield
    families: dict[str, Options] = {}
    for name in ("default", "urls", *FAMILIES[1:]):
        families[name] = Options(raw_mode=True)
        families[name].create_if_missing(True)
        families[name].create_missing_column_families(True)
        Rdict(str(path), families["default"], column_families=families).close()
        yield
    (log,) = path.glob("*.log")
    log.write_bytes(bytes(7))  # the head of a record is as long
    yield


def test_a_database_that_is_being_made(path):
    """To a reader it is not there yet, whatever is missing of it; who writes makes it complete."""
    for number, _ in enumerate(steps_of_making(path)):
        with pytest.raises(NothingYet, match="holds nothing yet"):
            opened(path, read_only=True)
        copy = path.with_name(f"copy-{number}")
        if path.exists():
            shutil.copytree(path, copy)
        opened(copy).close()
        opened(copy, read_only=True).close()


@pytest.mark.parametrize("read_only", [True, False])
def test_a_damaged_log_is_no_database_that_is_being_made(path, read_only):
    """Where all is in the log still and its start cannot be read, it is not said to be empty, nor begun again."""
    copy = path.with_name("copy")
    with closing(opened(path)) as database:
        batch = database.batch()
        batch.put("urls", b"a", bytes(1_000))
        database.write(batch)
        shutil.copytree(path, copy)  # what a kill leaves
    (log,) = copy.glob("*.log")
    damage(log, 0.0)
    damaged = log.read_bytes()
    with pytest.raises(CorruptFile, match="log is damaged"):
        opened(copy, read_only=read_only)
    assert log.read_bytes() == damaged


def test_a_lost_log_is_damage_where_there_are_tables(path):
    """Nothing in the log is no sign of a new database as soon as there are tables."""
    (file,) = filled(path).glob("MANIFEST*")
    for log in path.glob("*.log"):
        assert log.stat().st_size == 0
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(CorruptFile):
        opened(path, read_only=True)


def test_a_file_system_without_locks(path, monkeypatch):
    """It is no other process that has the database open."""

    def no_database(*_, **__):
        raise Exception(f"IO error: While lock file: {path}/LOCK: No locks available")  # noqa: TRY002 - as RocksDB

    monkeypatch.setattr(opening, "Rdict", no_database)
    with pytest.raises(StorageError, match="a file system with locks") as caught:
        opened(path)
    assert not isinstance(caught.value, CrawlDirectoryInUse)


def test_a_place_that_cannot_hold_it(tmp_path):
    """A path that is a file is an error of ours, with the path in it."""
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(StorageError, match="file"):
        opened(file)
    assert file.read_text() == "mine"
