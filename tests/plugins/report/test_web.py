"""What a crawl tells of the web: of a small one whose figures are known."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from console import command
from crawling import scrapy
from hypothesis import given
from hypothesis import strategies as st
from localweb import Answer, LocalWeb, Page
from pagestore_helpers import exchange, page

from sitecrawl.base.errors import CorruptFile
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.capture import Capture, Place, describe
from sitecrawl.pagestore.index import PageIndex
from sitecrawl.plugins.report.gather import gather
from sitecrawl.plugins.report.render import _figure_rows, render
from sitecrawl.plugins.report.web import _NAMED, QUANTILES, Web, _Spread

START = "http://www.site.com/"
PICTURE = Answer(b"\x89PNG\r\n\x1a\n" + bytes(92), 200, {"Content-Type": "image/png"})
PAGES: Mapping[str, Page] = {
    START: """<html lang=en><a href=/a><a href=/a#part><a href=http://shop.site.com/><a href=http://far.org/>
    <a href=/gone><a href=/old>""",
    "http://www.site.com/a": "<html lang=en-GB><a href=/>",
    "http://www.site.com/old": Answer(b"", 301, {"Location": "/a"}),
    "http://shop.site.com/": "<html lang=de><a href=http://www.site.com/><a href=/picture>",
    "http://shop.site.com/picture": PICTURE,
    "http://far.org/": "<p>Far away nothing is linked to",
}
HTML = sorted(len(body) for body in PAGES.values() if isinstance(body, str))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl of it, through a proxy."""
    job = tmp_path_factory.mktemp("web") / "job"
    settings = {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0}
    words = ("crawl", "generic", "-a", f"seeds={START}", "-a", "scope=any")
    with LocalWeb(PAGES) as web:
        done = scrapy(*words, settings=settings, env={"http_proxy": web.root})
    assert done.returncode == 0, done.stderr
    return job


def web_of(directory: Path) -> Web:
    with PageReader(directory) as reader:
        return Web.read(reader)


class TestFigures:
    def test_links(self, job: Path) -> None:
        """Six links on the first page lead to five URLs; the others have two, one and none."""
        web = web_of(job)
        assert (web.hrefs.pages, web.hrefs.total, web.hrefs.greatest) == (4, 9, 6)
        assert (web.links.mean, web.links.median) == (2.0, 1)
        assert dict(web.hrefs.quantiles) == {0.1: 0, 0.25: 0, 0.5: 1, 0.75: 2, 0.9: 6, 0.99: 6}

    def test_how_near_they_are(self, job: Path) -> None:
        """A shop of the site is another host; one process says nothing of workers."""
        near = {"twice": 1 - 8 / 9, "same_host": 5 / 8, "same_site": 7 / 8, "same_worker": None}
        assert web_of(job).near == near

    def test_groups(self, job: Path) -> None:
        """Of all responses, of pages, of pages of HTML."""
        web = web_of(job)
        assert {group.name: group.number for group in web.statuses.named} == {200: 5, 404: 1, 301: 1}
        assert {group.name: group.number for group in web.types.named} == {"text/html": 4, "image/png": 1}
        assert {group.name: group.number for group in web.languages.named} == {"en": 2, "de": 1, None: 1}
        assert [groups.total for groups in (web.statuses, web.types, web.languages)] == [7, 5, 4]
        assert web.statuses.share(5) == 5 / 7

    def test_sizes(self, job: Path) -> None:
        """Of all pages, the picture among them."""
        assert web_of(job).sizes.mean == (sum(HTML) + len(PICTURE.body)) / 5
        assert web_of(job).sizes.median == sorted([*HTML, len(PICTURE.body)])[2]


def said_of(job: Path) -> str:
    """The words of the report's part."""
    (part,) = lxml.html.document_fromstring(render(gather(job))).xpath("//*[@id='web']")
    return " ".join(" ".join(part.itertext()).split())


def test_in_the_report(job: Path) -> None:
    """Figures, and none that the crawl does not have."""
    said = said_of(job)
    assert "7 stored responses, 5 of them pages" in said
    assert "Links a page, as they stand: mean 2.25" in said
    assert "Links within the site 87.5%" in said
    assert "404 1 14.3%" in said
    assert "none 1 25%" in said
    assert "within the worker" not in said


def test_what_is_hostile_is_text(job: Path, tmp_path: Path) -> None:
    """A media type may be full of markup."""
    hostile = "text/<script>window.owned=4</script>"
    copy = shutil.copytree(job, tmp_path / "job")
    with closing(sqlite3.connect(copy / "pages.sqlite")) as db:
        db.execute("UPDATE pages SET content_type = ?", (hostile,))
        db.commit()
    assert f"Media type Pages Share {hostile} 5 100%" in said_of(copy)


def test_after_a_repair(job: Path, tmp_path: Path) -> None:
    """An index that is made again of the WARC files tells the same."""
    copy = shutil.copytree(job, tmp_path / "job")
    (copy / "pages.sqlite").unlink()
    assert command("check-crawl", str(copy), "--repair").returncode == 0
    assert web_of(copy) == web_of(job)


def test_a_crawl_that_has_nothing(tmp_path: Path) -> None:
    """No figure is made of no pages."""
    with closing(PageIndex(tmp_path / "pages.sqlite")):
        pass
    web = web_of(tmp_path)
    assert web == Web()
    assert _figure_rows(web) == []


# What pages may say, and files


def add(index: PageIndex, number: int, **facts: Any) -> None:
    """A page with these facts."""
    of = exchange(f"http://h{number}.example/")
    place = Place("x.warc.gz", number, 1, f"{number:032}", None)
    index.add(describe(index.last_id + 1, of, page(of, **facts), place))


def test_what_pages_invent(tmp_path: Path) -> None:
    """10,000 types and as many languages have a few rows, and all others one; text is shown as text."""
    with closing(PageIndex(tmp_path / "pages.sqlite")) as index:
        for n in range(10_000):
            add(index, n, content_type=f"text/<b>{n}" if n else "text/html", language=f"<i>{n}")
        add(index, 10_000, content_type="text/html", language="en")
        index.commit(None, 0)
    web = web_of(tmp_path)
    assert (len(web.types.named), web.types.other) == (_NAMED, 10_001 - 2 - (_NAMED - 1))
    assert web.types.named[0][:2] == ("text/html", 2)
    assert web.languages.total == 2


@pytest.mark.parametrize("column", ["hrefs", "links", "size", "status", "language", "content_type"])
def test_a_damaged_index(tmp_path: Path, column: str) -> None:
    """A value that the column cannot have is an error with what to do, and no figure."""
    with closing(PageIndex(tmp_path / "pages.sqlite")) as index:
        add(index, 1)
        index.commit(None, 0)
    with closing(sqlite3.connect(tmp_path / "pages.sqlite")) as db:
        db.execute(f"UPDATE pages SET {column} = ?", (b"\xff",))
        db.commit()
    with pytest.raises(CorruptFile, match="check-crawl --repair"):
        web_of(tmp_path)


class Rows(PageReader):
    """Reads a database that is in no file."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.directory = self.path = Path()
        self._db = db


@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=60))
def test_quantiles_are_those_of_all_pages(counts: list[int]) -> None:
    """Against a sort in memory."""
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE pages ({', '.join(Capture._fields)})")
        db.executemany(
            "INSERT INTO pages (kind, status, payload_size, hrefs) VALUES ('page', 200, 9, ?)", [(n,) for n in counts]
        )
        spread = Web.read(Rows(db)).hrefs
    db.close()
    ordered = sorted(counts)
    assert spread == _Spread(
        len(counts),
        sum(counts),
        max(counts),
        {share: next(value for n, value in enumerate(ordered, 1) if n >= share * len(counts)) for share in QUANTILES},
    )
