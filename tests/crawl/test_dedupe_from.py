"""SITECRAWL_DEDUPE_FROM: a body that an earlier crawl has stored is stored once, and is read through this crawl."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from crawling import scrapy, with_settings
from durable_steps import EARLIER
from fastwarc.warc import ArchiveIterator, WarcRecordType
from killing import command, killed_at
from localweb import Answer, LocalWeb, Page, linked
from pagestore_helpers import assert_checkers_pass, stored, warc_files

from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.record import _REVISIT_PROFILE, _warc_date
from sitecrawl.plugins.checking.crawl import check, repair

WORDS = " ".join(f"word{number}" for number in range(2_000))
KEPT = {f"/{number}": f"<title>{number}</title><p>Nothing new at {number}. {WORDS}" for number in range(8)}
"""Pages that are as they were."""


def site(changed: str = "First words.") -> dict[str, Page]:
    own: dict[str, Page] = {"/changed": f"<title>changed</title><p>{changed}"}
    tagged = {"/tagged": Answer(b"<title>tagged</title><p>As it is.", headers={"ETag": '"1"'})}
    return {"/": linked(*KEPT, "/changed", "/tagged", title="front"), **KEPT, **own, **tagged}


def crawl(web: LocalWeb, job: Path, *words: str, **settings: object) -> str:
    given = {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0, **settings}
    done = scrapy("crawl", "generic", "-a", f"seeds={web.root}", *words, settings=given)
    assert done.returncode == 0, done.stderr
    return done.stderr


def of_crawl(job: Path, name: str, *words: str) -> str:
    done = scrapy(*name.split(), "-d", str(job), *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def revisits(file: Path) -> list[dict[str, str]]:
    """The heads of the revisit records in a WARC file."""
    with file.open("rb") as stream:
        found = ArchiveIterator(stream, parse_http=False, record_types=WarcRecordType.revisit)
        return [dict(one.headers.items()) for one in found]


class Nights(NamedTuple):
    web: LocalWeb
    first: Path
    second: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Two crawls of a site, between which one page has changed; and a third after the second."""
    folder = tmp_path_factory.mktemp("nights")
    with LocalWeb(site(), conditional=True) as web:
        crawl(web, folder / "first")
        web.pages = site(changed="Other words.")
        crawl(web, folder / "second", SITECRAWL_DEDUPE_FROM=folder / "first")
        yield Nights(web, folder / "first", folder / "second")


@pytest.fixture
def nights(made: Nights, tmp_path: Path) -> Nights:
    """Copies, which a test may damage: they find each other beside them, and not at their old places."""
    for one in made[1:]:
        shutil.copytree(one, tmp_path / one.name, ignore=shutil.ignore_patterns("search.sqlite*"))
    listed = tmp_path / "second" / "earlier.json"
    listed.write_text(listed.read_text().replace(str(made.first), f"/gone/{made.first.name}"))
    return Nights(made.web, tmp_path / "first", tmp_path / "second")


def test_stored_once(made: Nights) -> None:
    """The second crawl has the body that is new, and of each other one a revisit record that names where it is."""
    assert dict(stored(made.second)) == dict(stored(made.first)) | {
        f"{made.web.root}/changed": b"<title>changed</title><p>Other words."
    }
    with PageReader(made.first) as first, PageReader(made.second) as second:
        own = {capture.url for capture in second.pages() if capture.revisit_of is None and capture.payload_size}
        assert own == {f"{made.web.root}/changed"}
        times = {capture.url: capture.fetched for capture in first.pages()}
    heads = [head for file in warc_files(made.second) for head in revisits(file)]
    assert len(heads) == len(site())  # all but one, and the answer for robots.txt
    for head in heads:
        assert head["WARC-Profile"] == _REVISIT_PROFILE
        assert head["WARC-Refers-To-Date"] == _warc_date(times[head["WARC-Refers-To-Target-URI"]])
    assert_checkers_pass(made.second)
    assert [str(problem) for problem in check(made.second).problems] == []


def test_fewer_bytes(made: Nights) -> None:
    """Of a page that is as it was only its headers are written."""
    first, second = (sum(file.stat().st_size for file in warc_files(one)) for one in made[1:])
    assert second < first / 3


def test_read_by_commands(made: Nights, tmp_path: Path) -> None:
    """A page, its text in an export and in Markdown, and a search are as if the body were there."""
    url = f"{made.web.root}/3"
    assert "Nothing new at 3." in of_crawl(made.second, "page", url)
    assert "body in an earlier crawl" in of_crawl(made.second, "page", "--all", url)
    assert url in of_crawl(made.second, "pages", "--format", "urls")
    of_crawl(made.second, "export", "-o", str(tmp_path / "out.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sum("Nothing new" in (row["text"] or "") for row in rows) == len(KEPT)
    of_crawl(made.second, "export", "--format", "markdown", "-o", str(tmp_path / "folder"))
    texts = [file.read_text() for file in (tmp_path / "folder").rglob("*.md")]
    assert sum("Nothing new" in text for text in texts) == len(KEPT)
    assert url in of_crawl(made.second, "search", "nothing", "new", "at", "3")


def test_wacz(made: Nights, tmp_path: Path) -> None:
    """The archive has the earlier records, too: its index finds, for each revisit, the record with the body."""
    of_crawl(made.second, "export wacz", "-o", str(tmp_path / "out.wacz"))
    with zipfile.ZipFile(tmp_path / "out.wacz") as archive:
        lines = gzip.decompress(archive.read("indexes/index.cdx.gz")).splitlines()
        records = [json.loads(line.split(b" ", 2)[2]) for line in lines]
        bodies = {one["digest"]: one for one in records if one["filename"] == "earlier.warc.gz"}
        assert {one["digest"] for one in records if one["mime"] == "warc/revisit"} == bodies.keys()
        data = archive.read("archive/earlier.warc.gz")
        for one in bodies.values():
            member = data[int(one["offset"]) :][: int(one["length"])]
            assert one["url"].encode() in gzip.decompress(member)


@pytest.mark.parametrize(
    "words",
    [("page", "/3"), ("export", "-o", "out.jsonl"), ("export", "wacz", "-o", "out.wacz"), ("search", "word7"),
     ("export", "--format", "markdown", "-o", "folder")],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_earlier_gone(words: tuple[str, ...], nights: Nights) -> None:
    """Without the earlier directory a command that needs a body names it, in one line, and fails."""
    shutil.rmtree(nights.first)
    named = {name: str(nights.first.parent / name) for name in ("out.jsonl", "out.wacz", "folder")}
    named["/3"] = f"{nights.web.root}/3"
    done = scrapy(*[named.get(word, word) for word in words], "-d", str(nights.second))
    assert done.returncode == 1
    assert f"/gone/{nights.first.name} is not there" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_check_names_what_is_gone(nights: Nights) -> None:
    """So does a check; a repair keeps what it can bring back some day, and when it is back all is well."""
    kept = nights.first.rename(nights.first.with_name("elsewhere"))
    (problem,) = check(nights.second).problems
    assert f"/gone/{nights.first.name} is not there" in str(problem)
    (nights.second / "pages.sqlite").write_bytes(b"")
    repair(nights.second)
    kept.rename(nights.first)
    assert check(nights.second).problems == []


def test_repair(nights: Nights) -> None:
    """An index that is lost is made again with all pages, those with their bodies in the earlier crawl as well."""
    before = dict(stored(nights.second))
    for file in nights.second.glob("pages.sqlite*"):
        file.unlink()
    repair(nights.second)
    assert dict(stored(nights.second)) == before
    assert check(nights.second).problems == []


def test_a_round_over_it(nights: Nights) -> None:
    """A round knows the pages, and what is stored for 304 leads to the body, too."""
    said = crawl(nights.web, nights.second, "-a", "again=1")
    assert "nothing new of 11 known URLs" in said
    with PageReader(nights.second) as reader:
        (again, _) = reader.find(f"{nights.web.root}/tagged", all=True)
        assert (again.status, again.revisit_of) == (304, 0)
        assert reader.read(again).body == b"<title>tagged</title><p>As it is."


def test_a_chain(nights: Nights, tmp_path: Path) -> None:
    """A crawl after the second refers to the first, too, which it has not named."""
    crawl(nights.web, tmp_path / "third", SITECRAWL_DEDUPE_FROM=nights.second)
    with PageReader(tmp_path / "third") as reader:
        assert all(capture.revisit_of == 0 for capture in reader.pages() if capture.payload_size)
    assert dict(stored(tmp_path / "third")) == dict(stored(nights.second))


def test_two_workers(made: Nights, tmp_path: Path) -> None:
    """Each worker of a shared crawl refers to the earlier crawl, and what all of them store is read back."""
    job = tmp_path / "job"
    crawl(made.web, job, SITECRAWL_DEDUPE_FROM=made.first, SITECRAWL_WORKERS=2)
    assert sum(one.stat().st_size for one in job.glob("*/warc/*")) < sum(
        file.stat().st_size for file in warc_files(made.first)
    )
    assert "Nothing new at 3." in of_crawl(job, "page", f"{made.web.root}/3")
    of_crawl(job, "export", "-o", str(tmp_path / "out.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sum("Nothing new" in (row["text"] or "") for row in rows) == len(KEPT)
    of_crawl(job, "report", "-o", str(tmp_path / "report.html"))


def test_killed(made: Nights, tmp_path: Path) -> None:
    """Kills at its checkpoints, and in the writing of the list, leave a crawl that goes on and has each page once."""
    settings = {"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_DEDUPE_FROM": made.first}
    words = with_settings("crawl", "generic", "-a", f"seeds={made.web.root}", settings=settings)
    for point in (*EARLIER, "pagestore.files.WarcFiles.sync: fsync", "pagestore.index.PageIndex.commit: commit"):
        (tmp_path / "job" / "earlier.json").unlink(missing_ok=True)
        killed_at(point, words, tmp_path / "log", pages=3)
    assert command(words, tmp_path / "log") == 0
    assert sorted(stored(tmp_path / "job")) == sorted(stored(made.second))
    assert check(tmp_path / "job").problems == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SITECRAWL_DEDUPE_FROM": "none"}, "none holds no stored pages"),
        ({"SITECRAWL_DEDUPE_FROM": "job"}, "is this crawl's own directory"),
        ({"SITECRAWL_DEDUPE_FROM": "none", "SITECRAWL_DUPLICATE_CONTENT": "keep"}, "keep each time: choose"),
    ],
)
def test_refused(settings: dict[str, str], said: str, tmp_path: Path) -> None:
    """What cannot be is one line, before anything is fetched."""
    given = {name: tmp_path / value if value != "keep" else value for name, value in settings.items()}
    with LocalWeb(site()) as web:
        done = scrapy("crawl", "generic", "-a", f"seeds={web.root}", settings={"JOBDIR": tmp_path / "job", **given})
        assert web.paths() == []
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
