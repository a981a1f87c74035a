"""A command that is killed at a durable step leaves what was, or what it was to make, and can be given again."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from crawling import HELPERS, PROJECT, crawl, environment, with_settings
from durable_steps import EXPORTS, FOLDER, INDEX, MARKS, REPORT, SEARCH, SEEN, UPLOAD
from failpoints import POINT, TIMES
from killing import command, killed_at
from localweb import LocalWeb, linked
from waiting import PATIENCE

PAGES = 12
SITE = {f"/{n or ''}": linked(f"/{2 * n + 1}", f"/{2 * n + 2}", title=f"page {n}") for n in range(PAGES)}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl that has ended."""
    directory = tmp_path_factory.mktemp("ended") / "job"
    with LocalWeb(SITE) as web:
        done = crawl(web.root, directory, SITECRAWL_WARC_SIZE=3_000)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def made(words: list[str], log: Path) -> None:
    """By a command that nobody kills."""
    assert command(words, log) == 0, log.read_text()


def test_export(job: Path, tmp_path: Path, log: Path) -> None:
    """The table is the one before, or the new one; what was not noted as exported is exported again."""
    table = tmp_path / "pages.csv"
    words = ["export", "-d", str(job), "-o", str(table), "--since", "last"]
    for point in EXPORTS:
        table.write_text("before")
        killed_at(point, words, log)
        assert (table.read_text() == "before") == (point != EXPORTS[-1])
    for point in MARKS:
        table.unlink()
        killed_at(point, words, log)
        assert len(table.read_text().splitlines()) == PAGES + 1
    made(words, log)
    assert len(table.read_text().splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "pages.csv"]


def test_archive(job: Path, tmp_path: Path, log: Path) -> None:
    """It is not there, or whole, and nothing else is beside it."""
    archive = tmp_path / "crawl.wacz"
    words = ["export", "wacz", "-d", str(job), "-o", str(archive)]
    for point in EXPORTS:
        killed_at(point, words, log)
    made(words, log)
    with zipfile.ZipFile(archive) as whole:
        assert whole.testzip() is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl.wacz", "log"]


def test_report(job: Path, tmp_path: Path, log: Path) -> None:
    """It is the one before, or the new one."""
    report = tmp_path / "report.html"
    words = ["report", "-d", str(job), "-o", str(report)]
    for point in REPORT:
        report.write_text("before")
        killed_at(point, words, log)
        assert (report.read_text() == "before") == (point != REPORT[-1])
    made(words, log)
    assert report.read_text().rstrip().endswith("</html>")


def test_upload(job: Path, tmp_path: Path, log: Path) -> None:
    """What the store has by then is not sent again, and in the end it has all."""
    store = tmp_path / "store"
    words = with_settings("upload", "-d", str(job), settings={"SITECRAWL_REMOTE": f"file://{store}"})
    for times in (1, 4):
        killed_at(UPLOAD, words, log, times)
    there = {file.name: file.stat().st_mtime_ns for file in store.glob("job/warc/*")}
    made(words, log)
    assert {file.name: file.read_bytes() for file in store.glob("job/warc/*")} == {
        file.name: file.read_bytes() for file in (job / "warc").iterdir()
    }
    assert len(there) > 1
    assert there.items() <= {file.name: file.stat().st_mtime_ns for file in store.glob("job/warc/*")}.items()


def test_search(job: Path, log: Path) -> None:
    """An index that is not whole is made whole, and one of other pages anew; a kill leaves it as it was."""
    words = ["search", "-d", str(job), "--limit", str(2 * PAGES), "page"]
    for point in INDEX:
        killed_at(point, words, log)
    made(words, log)
    with closing(sqlite3.connect(job / "search.sqlite")) as index, index:
        index.execute("UPDATE marks SET checksum = checksum + 1")
    killed_at(SEARCH, words, log)
    log.unlink()
    made(words, log)
    assert log.read_text().count("http://127.0.0.1") == PAGES


def test_folder_of_pages(tmp_path: Path, log: Path) -> None:
    """Each file is whole, and what was not there comes with the next run."""
    folder, job = tmp_path / "pages", tmp_path / "job"
    with LocalWeb(SITE) as web:
        words = [
            "crawl",
            "keyword",
            "-a",
            f"start={web.root}/",
            "-a",
            "keyword=nowhere",
            "-a",
            f"output_dir={folder}",
        ]
        words = with_settings(*words, settings={"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0})
        killed_at(FOLDER, words, log, 3)
        made(words, log)
        whole = {b"<title>404</title>", *(page.encode() for page in SITE.values())}
    assert {file.read_bytes() for file in folder.glob("*.html")} == whole


SETS = """
import os, sys
from pathlib import Path
import failpoints
failpoints.arm(os.environ)
from sitecrawl.frontier.seen import exact
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore
exact._DELETIONS_PER_BATCH = 2
run, keys = int(sys.argv[2]), lambda run: [bytes([run, number]) * 8 for number in range(20)]
store = SeenStore(Path(sys.argv[1]), SeenOptions(capacity=1_000))
print([sum(store.seen.contains_many(keys(before))) for before in range(run)])
store.seen.exact._spill = 8
for key in keys(run):
    store.seen.add_many([key])
store.close()
"""


def test_set_of_seen_urls(tmp_path: Path) -> None:
    """Of what each process added all is there or nothing: nothing unless its flush had come to the batch."""
    path = os.pathsep.join([str(HELPERS), str(PROJECT)])
    for number, (point, times) in enumerate([*SEEN, ("", 1)]):
        given = environment(PYTHONPATH=path, **({POINT: point, TIMES: str(times)} if point else {}))
        words = [sys.executable, "-c", SETS, str(tmp_path / "seen"), str(number)]
        done = subprocess.run(words, env=given, timeout=PATIENCE, capture_output=True, text=True, check=False)
        assert done.returncode == (-signal.SIGKILL if point else 0), f"{point}: {done.stderr}"
    whole = [20 * ("RocksSet.flush" in point) for point, _ in SEEN]
    assert json.loads(done.stdout) == whole
