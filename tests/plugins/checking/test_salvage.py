"""A database that cannot be opened: what is in its log and its tables is in the one that takes its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.meta import LINKS_READ
from sitecrawl.plugins.checking.salvage import is_readable, salvage
from sitecrawl.urls.fingerprint import HASH_NAME

ROWS = {family: {b"%s %d" % (family.encode(), number): b"value" for number in range(50)} for family in FAMILIES}
NAMING = ("CURRENT", "MANIFEST-*", "OPTIONS-*", "rocksdict-config.json")
"""Files that say which others count, and hold no rows."""


def opened(path: Path) -> Database:
    return Database(path, hash_name=HASH_NAME)


def rows(path: Path) -> dict[str, dict[bytes, bytes]]:
    with closing(opened(path)) as database:
        found = {family: dict(database.scan(family)) for family in FAMILIES}
    return {name: {key: found[name][key] for key in of.keys() & found[name].keys()} for name, of in ROWS.items()}


def write(database: Database) -> None:
    batch = database.batch()
    for family, pairs in ROWS.items():
        for key, value in pairs.items():
            batch.put(family, key, value)
    database.write(batch)


@pytest.fixture(scope="module")
def young(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a kill leaves of a crawl that has written no table: all rows are in the log."""
    folder = tmp_path_factory.mktemp("young")
    with closing(opened(folder / "db")) as database:
        write(database)
        shutil.copytree(folder / "db", folder / "killed")
    return folder / "killed"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in tables, and newer ones in the log: half of the rows have been deleted and written again."""
    folder = tmp_path_factory.mktemp("mixed")
    with closing(opened(folder / "db")) as database:
        batch = database.batch()
        for family, pairs in ROWS.items():
            for key in list(pairs)[::2]:
                batch.put(family, key, b"old")
        database.write(batch)
    with closing(opened(folder / "db")) as database:
        write(database)
        shutil.copytree(folder / "db", folder / "killed")
    assert list((folder / "killed").glob("*.sst"))
    return folder / "killed"


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def lengthen(file: Path) -> None:
    with file.open("ab") as end:
        end.write(b"x")


@pytest.mark.parametrize(
    ("age", "damage"),
    [
        ("young", remove),
        ("mixed", cut),
        *(pytest.param("young", way, marks=pytest.mark.deep) for way in (empty, cut, lengthen)),
    ],
)
def test_log_and_tables_are_enough(
    age: str, damage: Callable[[Path], None], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Whatever becomes of the files that name the others, one of them or all, every row is there, as it was last."""
    source: Path = request.getfixturevalue(age)
    for number, names in enumerate([*((name,) for name in NAMING), NAMING]):
        job = tmp_path / str(number)
        shutil.copytree(source, job / "db")
        for name in names:
            for file in job.glob(f"db/{name}"):
                damage(file)
        if is_readable(job / "db"):
            salvage(job)
        assert rows(job / "db") == ROWS, names


def test_a_damaged_record_of_the_log_is_no_end_of_it(tmp_path: Path) -> None:
    """What comes after it is kept, and no start deletes it."""
    with closing(opened(tmp_path / "db")) as database:
        for number in range(100):
            batch = database.batch()
            batch.put("urls", b"%03d" % number, bytes(1_000))
            database.write(batch)
        shutil.copytree(tmp_path / "db", tmp_path / "job" / "db")
    path = tmp_path / "job" / "db"
    log = max(path.glob("*.log"), key=lambda file: file.stat().st_size)
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)
    assert "Corruption" in is_readable(path)
    salvage(tmp_path / "job")
    with closing(opened(path)) as database:
        kept = [key for key, _ in database.scan("urls")]
    assert len(kept) >= 60
    assert (kept[0], kept[-1]) == (b"000", b"099")


def test_the_links_of_all_pages_are_read_again(young: Path, tmp_path: Path) -> None:
    """They may lead to URLs that were in what could not be read."""
    shutil.copytree(young, tmp_path / "db")
    salvage(tmp_path)
    with closing(opened(tmp_path / "db")) as database:
        begin_at = database.get("meta", LINKS_READ)
    assert begin_at == bytes(8)
