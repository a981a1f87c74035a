"""Exports and a report that a crawl writes when it has ended."""

from __future__ import annotations

import json
import signal
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from crawling import scrapy
from dashboards import Crawl
from localweb import LocalWeb, linked
from scrapy.settings import Settings
from waiting import until

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.outputs import check_outputs, outputs


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a"), "/a": linked()}) as server:
        yield server


def job(web: LocalWeb, folder: Path, exports: list[str], report: str = "") -> Path:
    path = folder / "site.toml"
    path.write_text(
        f'[crawl]\nseeds = ["{web.root}/"]\n[politeness]\ndelay_factor = 0\n'
        f"[outputs]\nexports = {json.dumps(exports)}\n" + (f'report = "{report}"\n' if report else "")
    )
    return path


def test_a_job_writes_what_it_names(web: LocalWeb, tmp_path: Path) -> None:
    """One command crawls, exports in every form, and reports, beside the job's file."""
    path = job(web, tmp_path, ["pages.jsonl", "pages.csv", "pages.parquet", "site.wacz"], "report.html")
    done = scrapy("crawl", "generic", "-a", f"job={path}", settings={"JOBDIR": tmp_path / "crawl"})
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert {row["url"] for row in rows} == {f"{web.root}/", f"{web.root}/a"}
    assert len((tmp_path / "pages.csv").read_text().splitlines()) == 3
    assert (tmp_path / "pages.parquet").read_bytes()[:4] == b"PAR1"
    with zipfile.ZipFile(tmp_path / "site.wacz") as archive:
        assert "datapackage.json" in archive.namelist()
    assert "</html>" in (tmp_path / "report.html").read_text()


def test_one_that_fails_keeps_no_other_back(tmp_path: Path) -> None:
    """It is said in one line which could not be written and why, and the exit code is 1."""
    taken = tmp_path / "taken.csv"

    def page(_path: str, _host: str) -> str:
        taken.mkdir(exist_ok=True)  # in its way from now on
        return linked()

    with LocalWeb(page) as web:
        path = job(web, tmp_path, ["taken.csv", "pages.jsonl"])
        done = scrapy("crawl", "generic", "-a", f"job={path}", settings={"JOBDIR": tmp_path / "crawl"})
    assert done.returncode == 1
    assert f"sitecrawl: {taken} is not written: " in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "pages.jsonl").read_text()


def test_a_crawl_that_is_stopped_writes_nothing(web: LocalWeb, tmp_path: Path) -> None:
    """Who stops a crawl wants an end, and may resume it: what is not written is named."""
    target = tmp_path / "pages.csv"
    asked = len(web.hits)
    with Crawl(f"{web.root}/", tmp_path / "crawl", DOWNLOAD_DELAY=1000, SITECRAWL_EXPORTS=target) as crawl:
        until(lambda: len(web.hits) > asked, "a request")
        crawl.process.send_signal(signal.SIGINT)
        assert crawl.end() == 0
        assert f"sitecrawl: not written, for the crawl was stopped: {target}" in crawl.log
    assert not target.exists()


def test_what_is_to_be_written(tmp_path: Path) -> None:
    """The end of a file's name says what it is, in both settings a URL is a place elsewhere."""
    given = {"SITECRAWL_EXPORTS": f"{tmp_path}/a.csv,file://{tmp_path}/b.wacz", "SITECRAWL_REPORT": f"{tmp_path}/c"}
    found = outputs(Settings(given))
    assert [output.target for output in found] == [f"{tmp_path}/a.csv", f"file://{tmp_path}/b.wacz", f"{tmp_path}/c"]
    assert [output.write.args[0] for output in found if isinstance(output.write, partial)] == ["pages", "wacz"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"SITECRAWL_EXPORTS": ["a.zip"]}, "names no format"),
        ({"SITECRAWL_EXPORTS": [3]}, "names no format"),
        ({"SITECRAWL_EXPORTS": ["nowhere/a.csv"]}, "there is no folder nowhere"),
        ({"SITECRAWL_REPORT": "/"}, "it is a folder"),
        ({"SITECRAWL_REPORT": 3}, "no name of a file"),
        ({"SITECRAWL_REPORT": "bad scheme://x/y.html"}, "."),
        ({"SITECRAWL_REPORT": "r.html", "SITECRAWL_CLUSTER": "redis://localhost"}, "all workers would write"),
    ],
)
def test_what_cannot_be_written(given: dict[str, object], words: str) -> None:
    """It is said before anything is fetched."""
    with pytest.raises(OptionError, match=words):
        check_outputs(Settings(given))
