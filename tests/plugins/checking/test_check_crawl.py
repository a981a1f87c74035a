"""`scrapy check-crawl`: every damage is named and healed, and the crawl then goes on to its end, each page once."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from console import command
from crawling import PROJECT, crawl, environment, scrapy_command
from localweb import LocalWeb, linked
from pagestore_helpers import STARTED, assert_checkers_pass, exchange, page, warc_files
from waiting import until

from sitecrawl.base.errors import CorruptFile, CrawlDirectoryInUse, NothingYet, StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.crawldir.directory import MANIFEST, CrawlDirectory, keep_copy
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import Flag, UrlRecord, UrlState
from sitecrawl.pagestore import Capture, PageReader, WarcStore
from sitecrawl.pagestore.capture import checksum
from sitecrawl.plugins.checking.crawl import CheckResult, check, repair

PAGES = 40
SMALL = {"SITECRAWL_WARC_SIZE": 9_000}


def site(path: str, host: str) -> str | None:
    """Pages that link on and back, some to the other name of the same server; every tenth has the same body."""
    number = path.removeprefix("/")
    if not number.isdigit() or int(number) >= PAGES:
        return linked("/1", "/2") if path == "/" else None
    at = int(number)
    if at % 10 == 0:
        return linked("/1", title="again")
    name, port = host.split(":")
    other = "localhost" if name == "127.0.0.1" else "127.0.0.1"
    links = [f"/{to % PAGES}" for to in (at + 1, at + 2, 3 * at + 1)]
    return linked(*links, f"http://{other}:{port}/{at}", title=f"page {at}")


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(site) as served:
        yield served


def run(web: LocalWeb, directory: Path, **arguments: object) -> None:
    done = crawl(f"{web.root},http://localhost:{web.port}", directory, **SMALL, **arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def half(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was stopped in the midst, with its rows in tables."""
    directory = tmp_path_factory.mktemp("half") / "job"
    for pages in (20, 45):
        run(web, directory, max_pages=pages)
    opened(directory).close()
    assert check(directory).problems == []
    return directory


@pytest.fixture
def job(half: Path, tmp_path: Path) -> Path:
    shutil.copytree(half, tmp_path / "job")
    return tmp_path / "job"


def expected(web: LocalWeb) -> set[str]:
    hosts = (f"127.0.0.1:{web.port}", f"localhost:{web.port}")
    return {f"http://{host}/{page}" for host in hosts for page in ("", *map(str, range(PAGES)))}


def stored(directory: Path) -> Counter[str]:
    """How often each page is stored; all of them can be read back."""
    with PageReader(directory) as reader:
        captures = [capture for capture in reader.pages() if capture.kind == "page"]
        for capture in captures:
            assert b"<!doctype html>" in reader.read(capture).body
    return Counter(capture.url for capture in captures)


def ends_complete(web: LocalWeb, directory: Path) -> None:
    """Resumed, the crawl has every page once, and is sound."""
    run(web, directory)
    assert stored(directory) == Counter(expected(web))
    assert check(directory).problems == []
    assert_checkers_pass(directory)


# Damage


def opened(directory: Path) -> Database:
    return Database(directory / "db", hash_name=HASH_NAME)


def change(directory: Path, family: str, key: bytes, value: bytes | None) -> None:
    with closing(opened(directory)) as database:
        batch = database.batch()
        if value is None:
            batch.delete(family, key)
        else:
            batch.put(family, key, value)
        database.write(batch)


def first(directory: Path, family: str) -> tuple[bytes, bytes]:
    with closing(opened(directory)) as database:
        return next(database.scan(family))


def some_record(directory: Path, state: UrlState) -> tuple[bytes, UrlRecord]:
    with closing(opened(directory)) as database:
        rows = ((key, UrlRecord.unpack(data)) for key, data in database.scan("urls"))
        return next((key, record) for key, record in rows if record.state == state and record.url[-1] in "79")


def drop(family: str) -> Callable[[Path], None]:
    return lambda directory: change(directory, family, first(directory, family)[0], None)


def garble(family: str) -> Callable[[Path], None]:
    return lambda directory: change(directory, family, first(directory, family)[0], b"junk")


def meta(name: bytes, value: bytes | None) -> Callable[[Path], None]:
    return lambda directory: change(directory, "meta", name, value)


def lose_credit(directory: Path) -> None:
    with closing(opened(directory)) as database:
        ledger = Ledger.unpack(database.get("meta", b"ledger") or b"")
    ledger.reserve += 1_000
    change(directory, "meta", b"ledger", ledger.pack())


def miscount(directory: Path) -> None:
    with closing(opened(directory)) as database:
        counts = bytearray(database.get("meta", b"counts") or b"")
    counts[7] += 3
    change(directory, "meta", b"counts", bytes(counts))


def miscount_host(directory: Path) -> None:
    key, data = first(directory, "hosts")
    host = Host.unpack(key, data)
    host.queued += 5
    change(directory, "hosts", key, host.pack())


def miscount_section(directory: Path) -> None:
    key, data = first(directory, "sections")
    change(directory, "sections", key, bytes(8) + data[8:])


def stale_entry(directory: Path) -> None:
    key, _ = first(directory, "queue")
    change(directory, "queue", key[:12] + b"\xff" * 12 + key[24:], b"")


def lose_request(directory: Path) -> None:
    """A URL whose request is gone. It is that of a page which does not exist: nobody could fetch it again."""
    key, record = some_record(directory, UrlState.QUEUED)
    record.flags |= Flag.REQUEST
    change(directory, "urls", key, record.pack())


def forget_page(directory: Path) -> None:
    change(directory, "urls", some_record(directory, UrlState.FETCHED)[0], None)


def stored_too_early(directory: Path) -> None:
    key, record = some_record(directory, UrlState.FETCHED)
    record.state = UrlState.QUEUED
    change(directory, "urls", key, record.pack())


def request_stored_too_early(directory: Path) -> None:
    """As of a page that a redirect led to, in its second attempt."""
    key, record = some_record(directory, UrlState.FETCHED)
    record.state, record.attempts = UrlState.QUEUED, 1
    record.flags |= Flag.REQUEST | Flag.AWAITED
    change(directory, "urls", key, record.pack())
    change(directory, "requests", key, b"\x80")


def append_again(directory: Path) -> None:
    """The records of a WARC file stand in it once more."""
    file = min(directory.glob("warc/*.gz"))
    file.write_bytes(file.read_bytes() * 2)


def on_index(*statements: str) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        with closing(sqlite3.connect(directory / "pages.sqlite")) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()

    return damage


def other_row(**values: Any) -> Callable[[Path], None]:
    """Let the row 15 be that of another capture, whole in itself."""

    def damage(directory: Path) -> None:
        with PageReader(directory) as reader:
            capture = reader.get(15)
            assert capture is not None
        other = capture._replace(**values)
        row = (*other, checksum(other))
        with closing(sqlite3.connect(directory / "pages.sqlite")) as database, database:
            database.execute(f"REPLACE INTO pages VALUES ({', '.join('?' * len(row))})", row)

    return damage


def overwrite(pattern: str, place: float, content: bytes = b"\0" * 20) -> Callable[[Path], None]:
    """Damage the largest file of that name."""

    def damage(directory: Path) -> None:
        file = max(directory.glob(pattern), key=lambda path: path.stat().st_size)
        data = bytearray(file.read_bytes())
        start = int(len(data) * place)
        data[start : start + len(content)] = content
        file.write_bytes(data)

    return damage


def cut(pattern: str, place: float) -> Callable[[Path], None]:
    def damage(directory: Path) -> None:
        file = max(directory.glob(pattern))
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * place)])

    return damage


def remove(pattern: str, number: int = 0) -> Callable[[Path], None]:
    return lambda directory: sorted(directory.glob(pattern))[number].unlink()


HEALED = {
    "credit": (lose_credit, "credit: .*1,000 too many"),
    "counts": (miscount, "db/meta: the crawl counts"),
    "counts unreadable": (meta(b"counts", b"?"), "counts cannot be read"),
    "levels": (meta(b"levels", b""), "counts of the levels"),
    "ledger unreadable": (meta(b"ledger", b"?"), "ledger cannot be read"),
    "ledger lost": (meta(b"ledger", None), "credit: "),
    "host's numbers": (miscount_host, "db/hosts: the numbers of 1 hosts"),
    "host lost": (drop("hosts"), "db/hosts: 1 hosts that URLs belong to are missing"),
    "host unreadable": (garble("hosts"), "db/hosts: 1 hosts .* 1 cannot be read"),
    "section's numbers": (miscount_section, "db/sections: of 1 sections"),
    "section lost": (drop("sections"), "db/sections: .* 1 are missing"),
    "section unreadable": (garble("sections"), "db/sections: .* 1 cannot be read"),
    "queue entry lost": (drop("queue"), "db/queue: 1 of"),
    "queue entry stale": (stale_entry, "1 entries of the queue stand for none"),
    "request stray": (lambda job: change(job, "requests", bytes(16), b"\x80"), "1 stored requests belong to no"),
    "request lost": (lose_request, "the requests of 1 queued URLs are missing"),
    "page forgotten": (forget_page, "1 stored pages are of URLs that the frontier does not know"),
    "page too early": (stored_too_early, "1 pages are stored, and their URLs still wait"),
    "request too early": (request_stored_too_early, "1 pages are stored, and their URLs still wait"),
    "position lost": (meta(b"pages", None), "position of the page store is missing"),
    "position unreadable": (meta(b"pages", b"{"), "position of the page store .* cannot be read"),
    "index lost": (remove("pages.sqlite"), "pages.sqlite is missing"),
    "index overwritten": (overwrite("pages.sqlite", 0, b"x" * 5_000), "no intact SQLite"),
    "index damaged": (overwrite("pages.sqlite", 0.5, b"\xff" * 9_000), "pages.sqlite: "),
    "row lost": (on_index("DELETE FROM pages WHERE id = 15"), "1 records have no row"),
    "rows lost at the end": (on_index("DELETE FROM pages WHERE id > 30"), "records have no row"),
    "row of another digest": (other_row(digest="A"), "1 have another digest"),
    "row of another URL": (other_row(url="http://b/"), "1 have another URL"),
    "row of another place": (other_row(warc_offset=7), "1 rows have no record"),
    "row damaged": (on_index("UPDATE pages SET url_key = url_key || '7' WHERE id = 15"), "not as they were written"),
    "column renamed": (
        on_index("ALTER TABLE checkpoint RENAME COLUMN number TO nulber"), "has not the tables of a page index"
    ),
    "revisit of nothing": (
        on_index("UPDATE pages SET revisit_of = 1 WHERE revisit_of IS NOT NULL"), "revisits refer to a capture"
    ),
    "WARC file damaged": (overwrite("warc/*.gz", 0.5), "hold no whole record"),
    "WARC file cut": (cut("warc/*.gz", 0.6), "the last checkpoint counts on"),
    "WARC records twice": (append_again, "records have no row"),
    "WARC file lost": (remove("warc/*.gz"), "rows have no record"),
}  # fmt: skip


def told(result: CheckResult) -> list[str]:
    return [str(problem) for problem in result.problems]


TOGETHER = (
    ("levels", "request stray", "request lost", "credit", "counts", "host's numbers"),
    ("section's numbers", "queue entry stale", "queue entry lost", "position lost"),
    ("page forgotten", "page too early"),
)
"""Damages that hide nothing of one another, and go at a time in the gate."""
ALONE = [name for name in HEALED if not any(name in names for names in TOGETHER)]


@pytest.mark.parametrize(
    "names",
    [
        *TOGETHER,
        *(pytest.param((name,), marks=[pytest.mark.deep] * name.endswith("unreadable")) for name in ALONE),
        *(pytest.param((name,), marks=pytest.mark.deep) for names in TOGETHER for name in names),
    ],
    ids=", ".join,
)
def test_damage_is_named_and_healed(names: tuple[str, ...], job: Path) -> None:
    """The check says what is wrong, and the repair puts it right."""
    for name in names:
        HEALED[name][0](job)
    found = told(check(job))
    for name in names:
        assert any(re.search(HEALED[name][1], problem) for problem in found), (name, found)
    _, after = repair(job)
    assert told(after) == []
    if "WARC" in names[0]:  # no other repair writes to these files
        assert_checkers_pass(job)


def test_the_crawl_goes_on(job: Path, web: LocalWeb) -> None:
    """After damages that could lose a page, or store one twice, the crawl ends complete, each page once."""
    for name in (
        "queue entry lost", "page forgotten", "page too early", "section lost", "row lost", "row damaged"
    ):  # fmt: skip
        HEALED[name][0](job)
    assert told(repair(job)[1]) == []
    ends_complete(web, job)


@pytest.mark.deep
def test_nothing_is_stored_twice(job: Path, web: LocalWeb) -> None:
    """Neither what stands twice in a file, nor what a request that is older than the page would fetch again."""
    append_again(job)
    request_stored_too_early(job)
    assert told(repair(job)[1]) == []
    ends_complete(web, job)


def test_all_stored_pages_lost(job: Path, web: LocalWeb) -> None:
    """Without WARC files and index, all that was stored is fetched again."""
    shutil.rmtree(job / "warc")
    (job / "pages.sqlite").unlink()
    _, after = repair(job)
    assert (told(after), after.captures) == ([], 0)
    ends_complete(web, job)


@pytest.mark.parametrize("is_first", [False, True])
def test_pages_of_a_checkpoint_that_was_not_finished(job: Path, is_first: bool) -> None:
    """The page store is ahead, as a kill leaves it, and what it is ahead by is lost: it can be opened."""
    if is_first:
        shutil.rmtree(job)
        with closing(opened(CrawlDirectory(job, "generic").path)) as database:
            keep_copy(database, CrawlDirectory(job, "generic"))
        known = UrlRecord("http://a/", UrlState.EXCLUDED, host=bytes(8), section=bytes(4), rank=bytes(12))
        change(job, "urls", bytes(16), known.pack())
    store = WarcStore(job)
    before = store.last_id
    store.put(exchange())
    store.checkpoint()
    store.close()
    file = warc_files(job)[-1]
    file.write_bytes(file.read_bytes()[:-10])
    found, after = repair(job)
    assert any("the last checkpoint counts on" in line for line in told(found))
    assert told(after) == []
    store = WarcStore(job)
    assert store.last_id == before
    store.close()


def test_an_index_made_again_says_what_the_old_one_said(job: Path) -> None:
    """All columns come back from the WARC files and the frontier, but for the downloads' durations."""

    def rows() -> list[Capture]:
        with PageReader(job) as reader:
            return list(reader.pages())

    before = rows()
    (job / "pages.sqlite").unlink()
    assert told(repair(job)[1]) == []
    for old, new in zip(before, rows(), strict=True):
        assert new.fetched == pytest.approx(old.fetched, abs=1e-5)
        assert new._replace(seconds=old.seconds, fetched=old.fetched) == old


def test_a_journal_beside_the_index(job: Path) -> None:
    """What a program left that was killed as it wrote to the old index is not applied to the new one."""
    file, before = job / "pages.sqlite", stored(job)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.executescript("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE")
        db.execute("UPDATE pages SET title = hex(zeroblob(2000))")
        journal = (job / "pages.sqlite-journal").read_bytes()
        db.execute("ROLLBACK")
    file.write_bytes(b"no index")
    (job / "pages.sqlite-journal").write_bytes(journal)
    assert told(repair(job)[1]) == []
    assert not (job / "pages.sqlite-journal").exists()
    assert stored(job) == before


def test_a_value_of_another_type_in_the_index(job: Path) -> None:
    """A flipped bit can make a number or a blob of a text: that is damage like any other."""
    with closing(sqlite3.connect(job / "pages.sqlite")) as index, index:
        index.execute("UPDATE pages SET warc_file = x'07' WHERE id = 3")
    before, after = repair(job)
    assert any("not as they were written" in line for line in told(before))
    assert told(after) == []


# The database itself


@pytest.mark.deep
def test_any_damaged_byte_of_a_table(job: Path, tmp_path: Path) -> None:
    """Also one of its filter or index, which RocksDB's own repair keeps as they are."""
    name = max((job / "db").glob("*.sst"), key=lambda file: file.stat().st_size).name
    for step in range(20):
        copy = tmp_path / str(step)
        shutil.copytree(job, copy)
        data = bytearray((copy / "db" / name).read_bytes())
        data[len(data) * step // 20] ^= 8
        (copy / "db" / name).write_bytes(data)
        assert told(repair(copy)[1]) == []


def test_a_crawl_that_meets_damage_stops(job: Path, web: LocalWeb) -> None:
    """Not where it is opened, but as the rows are read: the crawl ends with one line, and writes nothing more."""
    file = max((job / "db").glob("*.sst"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[: len(content) // 2 : 7] = bytes(byte ^ 4 for byte in content[: len(content) // 2 : 7])
    file.write_bytes(content)
    done = crawl(f"{web.root},http://localhost:{web.port}", job, **SMALL)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"check-crawl --repair {job}` keep what can be read" in done.stderr
    assert told(repair(job)[1]) == []
    run(web, job)
    assert set(stored(job).values()) == {1}


@pytest.mark.deep
def test_a_damaged_table(job: Path, web: LocalWeb) -> None:
    """RocksDB drops the table; fetched URLs come back from the page store, and nothing is stored twice."""
    overwrite("db/*.sst", 0.3)(job)
    (problem,) = told(check(job))
    assert problem.startswith("db: ")
    before, after = repair(job)
    assert told(after) == []
    assert any("db.damaged" in note for note in before.notes)
    run(web, job)
    assert set(stored(job).values()) == {1}
    assert told(check(job)) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", ["MANIFEST*", "CURRENT"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_database_that_cannot_be_opened(name: str, how: str, job: Path, web: LocalWeb) -> None:
    """Without the file that names the tables, the database is made again from them; the crawl ends complete."""
    (cut(f"db/{name}", 0.5) if how == "cut" else remove(f"db/{name}"))(job)
    assert told(check(job))[0].startswith("db: ")
    assert told(repair(job)[1]) == []
    if (name, how) == ("MANIFEST*", "cut"):
        ends_complete(web, job)


@pytest.mark.parametrize("moment", ["before the copy is in place", "between the renames"])
def test_a_new_database_that_was_not_in_place(moment: str, job: Path) -> None:
    """A crash while the database is replaced leaves the old one or the new one, and the next repair goes on."""
    cut("db/MANIFEST*", 0.5)(job)
    if moment == "between the renames":
        repair(job)
        (job / "db").rename(job / "db.new")
        assert "a repair that was stopped" in told(check(job))[0]
        with pytest.raises(CorruptFile, match="a repair that was stopped"):
            opened(job)
    else:
        shutil.copytree(job / "db", job / "db.new")
    assert told(repair(job)[1]) == []


@pytest.mark.deep
@pytest.mark.parametrize("index", ["with", "without"])
def test_no_database(index: str, job: Path, web: LocalWeb) -> None:
    """The stored pages are enough: they are noted as fetched, their links are read again, and the crawl goes on."""
    shutil.rmtree(job / "db")
    if index == "without":
        (job / "pages.sqlite").unlink()
    before, after = repair(job)
    assert told(before)[0].startswith("db: it is missing")
    assert told(after) == []
    assert after.urls >= 40
    hits = len(web.hits)
    run(web, job)
    assert set(stored(job)) == expected(web)
    assert len(web.hits) - hits < len(expected(web))
    assert told(check(job)) == []


def test_a_crawl_that_was_killed_as_it_began(tmp_path: Path) -> None:
    """There is nothing to check or to repair, and nothing is made."""
    CrawlDirectory(tmp_path / "job", "generic")
    for words in ([], ["--repair"]):
        done = command("check-crawl", *words, str(tmp_path / "job"))
        assert (done.returncode, done.stdout) == (2, "")
        assert "holds nothing yet" in done.stderr
    assert [entry.name for entry in (tmp_path / "job").iterdir()] == [MANIFEST]


def test_a_crawl_that_begins_just_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest that was not there at the first look, and a database at the second, is no manifest that is lost."""

    def read(directory: Path) -> None:
        CrawlDirectory(directory, "generic")
        (directory / "db").mkdir()

    monkeypatch.setattr("sitecrawl.plugins.checking.crawl.read_manifest", read)
    with pytest.raises(NothingYet):
        check(tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("how", ["lost", "empty", "of another key", "of another format"])
def test_a_damaged_manifest(how: str, job: Path) -> None:
    """The fingerprints' key cannot be guessed: the database has a copy of it."""
    file = job / MANIFEST
    before = file.read_text()
    digit = "1" if '"key": "0' in before else "0"
    changed = {"key": f'"key": "{digit}', "format": '"format": 7'}
    if how == "lost":
        file.unlink()
    elif how == "empty":
        file.write_text("")
    else:
        name = how.rpartition(" ")[2]
        file.write_text(re.sub(rf'"{name}": "?.', changed[name], before))
        assert file.read_text() != before
    assert told(check(job))[0].startswith("crawl.json: ")
    refused = crawl("http://127.0.0.1:1", job)
    assert refused.returncode == 1
    assert "check-crawl --repair" in refused.stderr or how == "of another format"
    assert told(repair(job)[1]) == []
    assert file.read_text() == before


def test_a_manifest_and_its_copy_are_lost(job: Path) -> None:
    """The check says so, and a repair changes nothing."""
    (job / "crawl.json").unlink()
    change(job, "meta", b"manifest", None)
    _, after = repair(job)
    assert "restore it from a copy" in told(after)[0]


def test_another_database(job: Path) -> None:
    """Where the crawl's database begins anew, the pages beside it are not thrown away."""
    with closing(opened(job)) as database:
        batch = database.batch()
        for family in FAMILIES:
            for key, _ in database.scan(family):
                if key not in {b"format", b"hash"}:
                    batch.delete(family, key)
        database.write(batch)
    files = {path.name: path.stat().st_size for path in warc_files(job)}
    before, after = repair(job)
    assert "it has lost its rows" in told(before)[0]
    assert told(after) == []
    assert files == {path.name: path.stat().st_size for path in warc_files(job)}


# After a kill


@pytest.mark.deep
def test_a_database_that_has_lost_its_end(job: Path, web: LocalWeb) -> None:
    """Many checkpoints behind its page store, it is refused by the crawl; the repair keeps the pages."""
    shutil.copytree(job / "db", job / "old")
    for pages in (50, 55, 60):
        run(web, job, max_pages=pages)
    shutil.rmtree(job / "db")
    (job / "old").rename(job / "db")
    refused = crawl(web.root, job)
    assert refused.returncode == 1
    assert "check-crawl --repair" in refused.stderr
    assert "checkpoints behind the page store" in told(check(job))[0]
    assert told(repair(job)[1]) == []
    ends_complete(web, job)


@pytest.mark.deep
def test_pages_that_were_fetched_again_after_the_end_of_the_database(job: Path, web: LocalWeb) -> None:
    """It does not know that: they are no pages that were stored twice by mistake, of which nobody could say more."""
    store = WarcStore(job)
    for started in (1.0, 2.0):
        store.put(of := exchange(f"{web.root}/1", b"<title>again</title>", started=STARTED + started), page(of))
        store.checkpoint()
    store.close()
    before, after = repair(job)
    assert any("checkpoints behind the page store" in line for line in told(before))
    assert told(after) == []
    run(web, job)
    assert told(check(job)) == []


REPAIRER = """
import os, random, signal, sys, threading, time
from pathlib import Path
from sitecrawl.plugins.checking.crawl import repair

def kill():
    time.sleep(float(sys.argv[2]))  # nothing is awaited: any moment will do
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
repair(Path(sys.argv[1]))
"""


@pytest.mark.deep
def test_a_repair_that_is_killed(job: Path, web: LocalWeb) -> None:
    """Killed at any moment, a repair can be begun again."""
    for name in ("WARC file damaged", "counts", "queue entry lost", "page too early", "row lost", "host lost"):
        HEALED[name][0](job)
    for moment in (0.02, 0.05, 0.08, 0.12, 0.2):
        subprocess.run([sys.executable, "-c", REPAIRER, str(job), str(moment)], cwd=PROJECT, check=False)
    assert told(repair(job)[1]) == []
    ends_complete(web, job)


# The command


def test_a_sound_crawl(job: Path) -> None:
    """One line with numbers, and exit code 0."""
    for words in ((), ("--repair",)):
        done = command("check-crawl", str(job), *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(r".*job is sound: \d+ URLs, \d+ of them waiting, \d+ captures .*\n", done.stdout)


def test_a_damaged_crawl(job: Path) -> None:
    """Each fault is a line that says what to do, and the exit code is 1; after the repair it is 0."""
    lose_credit(job)
    done = command("check-crawl", str(job))
    assert done.returncode == 1
    assert "To do: --repair makes the database again from the stored pages." in done.stdout
    done = command("check-crawl", "--repair", str(job))
    assert done.returncode == 0
    assert "Found before the repair: 1\n- credit: " in done.stdout
    assert "is sound" in done.stdout


@pytest.mark.deep
def test_a_crawl_that_runs(web: LocalWeb, tmp_path: Path) -> None:
    """A running crawl is not checked, with exit code 2; and once it is killed, what it left behind is no fault."""
    directory = tmp_path / "job"
    words = scrapy_command(
        "crawl", "generic", "-a", f"seeds={web.root}", settings={"JOBDIR": directory, "DOWNLOAD_DELAY": 0.5}
    )
    hits = len(web.hits)
    with subprocess.Popen(words, cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL) as process:
        until(lambda: len(web.hits) >= hits + 4, "four requests")
        done = command("check-crawl", str(directory))
        process.kill()
    assert (done.returncode, done.stdout) == (2, "")
    assert "is being crawled: stop the crawl with Ctrl-C" in done.stderr
    assert told(check(directory)) == []


def test_a_file_system_without_locks(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no crawl that runs."""

    def no_lock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.lockf", no_lock)
    with pytest.raises(StorageError, match="a file system with locks") as caught:
        check(job)
    assert not isinstance(caught.value, CrawlDirectoryInUse)


UNREACHABLE = "x" * 300
"""The name of a directory that not even root can look for: to others it is as one without permission."""


@pytest.mark.parametrize("words", [["a", "b"], ["nowhere"], ["--fast"], [UNREACHABLE], ["--repair", UNREACHABLE]])
def test_what_cannot_be_checked(words: list[str], tmp_path: Path) -> None:
    """A wrong call, or a directory without a crawl, is exit code 2."""
    done = command("check-crawl", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
