"""The report of real crawls: what it says, that it is one file, and that nothing in it is alive."""

from __future__ import annotations

import html
import itertools
import math
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest
from chromium import CONTRASTS, Watched, chromium
from console import command
from crawling import scrapy
from dashboards import Crawl
from hypothesis import given
from hypothesis import strategies as st
from localweb import Answer, LocalWeb, linked
from playwright.sync_api import Browser
from waiting import PATIENCE, until

from sitecrawl.base.errors import StorageError
from sitecrawl.crawl.refusals import ADVICE
from sitecrawl.crawldir.directory import MANIFEST, read_manifest
from sitecrawl.crawldir.history import History
from sitecrawl.crawldir.outcomes import RefusalTotals
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.report.gather import ReportData, _DeadLink, _refused, _Stored, gather
from sitecrawl.plugins.report.render import _chart, _charts, _percent, _shown, _speeds, render
from sitecrawl.urls.url import parse

BAD_TITLE = "</title><script>window.owned=1</script><img src=x onerror=window.owned=2>\u202e\x1b]0;owned\x07"
BAD_PATH = "/x?<script>window.owned=3</script>&amp;'&quot;{{7*7}}"
SAME = f"<!doctype html><title>{html.escape(BAD_TITLE)}</title><p>the very same words on both of these two pages</p>"


def pages(path: str, host: str) -> Answer | str | None:
    """A front page, two that are equal, one that is missing and linked from two, a hostile one, and a redirect."""
    if path == "/":
        return linked("/a", "/b", "/same/1", "/same/2", "/moved", BAD_PATH, title=html.escape(BAD_TITLE))
    if path in {"/a", "/b"}:
        return linked("/gone", "/", title=path)
    if path.startswith("/same/"):
        return Answer(SAME.encode(), 200, {"Content-Type": "text/html; charset=utf-8"})
    if path == "/moved":
        return Answer(b"", 301, {"Location": "/a"})
    if path.startswith("/x?"):
        return Answer(f"<title>{html.escape(BAD_TITLE)}</title>".encode(), 410, {"Content-Type": "text/html"})
    return None


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb(pages) as web:
        yield web


@pytest.fixture(scope="module")
def job(web: LocalWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl of it that is over."""
    job = tmp_path_factory.mktemp("crawl") / "job <b>"
    with (
        LocalWeb({"/": linked(f"{web.root}/b")}, address="127.0.0.2") as other,
        Crawl(f"{web.root},{other.root}", job, "-a", "scope=host", SITECRAWL_DASHBOARD=False) as crawl,
    ):
        assert crawl.end() == 0
    return job


@pytest.fixture(scope="module")
def report(job: Path) -> ReportData:
    return gather(job)


class TestBeginning:
    """A crawl that comes into being between two looks of the report."""

    def test_its_manifest(self, job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The report is of one manifest: that with which the frontier was read."""
        young = shutil.copytree(job, tmp_path / "job")
        (young / MANIFEST).rename(tmp_path / MANIFEST)

        def read(directory: Path) -> FrontierReader:
            (tmp_path / MANIFEST).rename(directory / MANIFEST)
            return FrontierReader(directory)

        monkeypatch.setattr("sitecrawl.plugins.report.gather.FrontierReader", read)
        assert gather(young).manifest == read_manifest(job)

    def test_its_page_store(self, job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where there was no page store at first, the report is of a crawl without one."""
        young = shutil.copytree(job, tmp_path / "job")
        (young / "pages.sqlite").rename(tmp_path / "pages.sqlite")

        def read(directory: Path) -> PageReader:
            try:
                return PageReader(directory)
            except StorageError:
                (tmp_path / "pages.sqlite").rename(directory / "pages.sqlite")
                raise

        monkeypatch.setattr("sitecrawl.plugins.report.gather.PageReader", read)
        assert gather(young).stored == _Stored()


class TestFigures:
    def test_urls(self, report: ReportData) -> None:
        """Every URL counts once, by state, status and depth."""
        assert report.urls.states == {"fetched": 9}
        assert report.urls.statuses == {200: 6, 301: 1, 404: 1, 410: 1}
        assert report.urls.depths == {0: 2, 1: 6, 2: 1}

    def test_dead_links(self, report: ReportData, web: LocalWeb) -> None:
        """With the page where each was first found."""
        dead = {link.url.replace(web.root, ""): (link, page) for link, page in report.dead}
        assert dead.keys() == {"/gone", parse(f"{web.root}{html.unescape(BAD_PATH)}").href.removeprefix(web.root)}
        link, page = dead["/gone"]
        assert link.status == 404
        assert page in {f"{web.root}/a", f"{web.root}/b"}

    def test_duplicates(self, report: ReportData, web: LocalWeb) -> None:
        """Two pages with the same body are one and a copy."""
        ((first, title, copies, _, other),) = report.stored.repeated
        assert {first, other} == {f"{web.root}/same/1", f"{web.root}/same/2"}
        assert (title, copies, report.stored.copies) == (BAD_TITLE, 1, 1)

    def test_hosts(self, report: ReportData, web: LocalWeb) -> None:
        """The largest first."""
        assert [(host.known, host.fetched) for host, _ in report.hosts] == [(8, 8), (1, 1)]
        assert math.isclose(sum(share for _, share in report.hosts), 1, abs_tol=1e-6)

    def test_history(self, report: ReportData) -> None:
        """Also without a dashboard, and up to the last page."""
        assert report.history is not None
        assert report.history.last()["fetched"] == 9
        assert report.history.last()["ok"] == 6

    def test_types(self, report: ReportData) -> None:
        """From the page index."""
        assert [group[:2] for group in report.web.types.named] == [("text/html", 6)]


class TestDocument:
    def test_one_file(self, report: ReportData) -> None:
        """No script, no other file, no markup of the web's; and the browser is told to allow none."""
        text = render(report)
        tree = lxml.html.document_fromstring(text)
        alive = "//script | //img | //link | //iframe | //object | //form | //*[@onerror]"
        assert tree.xpath(f"{alive} | //b[not(ancestor::figcaption)]") == []
        (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
        assert policy.startswith("default-src 'none'")
        assert all(href.startswith(("#", "http://127.0.0.")) for href in tree.xpath("//@href"))
        assert "</title><script>" not in text.partition("</head>")[2]
        assert "\u202e" not in text

    def test_hostile_text_is_there_to_be_read(self, job: Path, web: LocalWeb) -> None:
        """A title full of markup, and the directory's name."""
        tree = lxml.html.document_fromstring(render(gather(job)))
        assert "job <b>" in tree.xpath("string(//h1)")
        assert _shown(BAD_TITLE) in tree.xpath("string(//*[@id='repeated'])")

    def test_hosts_that_said_no(self, report: ReportData) -> None:
        """In which ways, how often, and what can be done."""
        totals = RefusalTotals({"a\u202e.example": {"challenge": (3, "Anubis"), "login_wall": (1, "")}})
        rows = list(_refused(totals))
        text = render(replace(report, refused=rows, refused_count=len(totals)))
        told = lxml.html.document_fromstring(text).xpath("string(//*[@id='refused'])")
        assert "challenges 3 (Anubis), login walls 1" in told
        assert ADVICE["challenge"] in told
        assert "\u202e" not in text
        assert "No host said no" in render(report)

    def test_an_empty_crawl(self, tmp_path: Path) -> None:
        """Nothing was fetched: every part says so."""
        with (
            LocalWeb({"/robots.txt": "User-agent: *\nDisallow: /"}) as web,
            Crawl(web.root, tmp_path / "job") as crawl,
        ):
            assert crawl.end() == 4
        text = render(gather(tmp_path / "job"))
        for words in (
            "Nothing is held back",
            "No URL is dead",
            "No page repeats another",
        ):
            assert words in text

    @pytest.mark.deep
    def test_in_a_browser(self, job: Path, report: ReportData, tmp_path: Path) -> None:
        """It opens from the disk, asks for nothing, runs nothing, is as wide as a phone, can be read, and prints."""
        file = tmp_path / "report.html"
        file.write_text(render(report), encoding="utf-8")
        with chromium() as browser:
            for scheme in ("light", "dark"):
                self.look(browser, file, scheme)
            page = browser.new_page()
            page.goto(file.as_uri())
            pdf = page.pdf(format="A4")
        assert pdf.startswith(b"%PDF-")
        assert 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) < 10

    @pytest.mark.deep
    def test_long_tables_are_folded(self, job: Path, report: ReportData, tmp_path: Path) -> None:
        """On a phone the first rows stand there, all when somebody asks; on paper all."""
        link = "https://www.example.org/a/folder/that-is-rather-long/page-{}.html".format
        dead = [(_DeadLink(0.1, link(n), 404, bytes(16), bytes(16)), link(100)) for n in range(59)]
        file = tmp_path / "report.html"
        file.write_text(render(replace(report, dead=dead)), encoding="utf-8")
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 360, "height": 740})
            page.goto(file.as_uri())
            rows = page.locator("#dead tbody tr")
            height = "document.getElementById('dead').offsetHeight"
            assert [row.is_visible() for row in rows.all()] == [True] * 10 + [False] * 49
            folded = page.evaluate(height)
            page.get_by_text("Show all 59").click()
            assert all(row.is_visible() for row in rows.all())
            assert folded * 4 < page.evaluate(height)
            page.get_by_text("Show all 59").click()
            assert rows.locator("visible=true").count() == 10
            page.emulate_media(media="print")
            assert all(row.is_visible() for row in rows.all())
            assert page.evaluate(CONTRASTS) == []

    def look(self, browser: Browser, file: Path, scheme: str) -> None:
        page = browser.new_page(
            viewport={"width": 360, "height": 740}, color_scheme="dark" if scheme == "dark" else "light"
        )
        watched = Watched(page)
        page.goto(file.as_uri())
        assert page.evaluate("window.owned") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate(CONTRASTS) == []
        assert watched.asked == [file.as_uri()]
        assert watched.wrong == []
        page.close()


class TestCommand:
    def test_it_writes_the_file(self, job: Path, tmp_path: Path) -> None:
        """And says where it is."""
        done = command("report", str(job), "-o", str(tmp_path / "out.html"))
        assert (done.returncode, done.stdout) == (0, f"The report is in {tmp_path / 'out.html'}\n"), done.stderr
        assert lxml.html.parse(str(tmp_path / "out.html")).xpath("count(//section)") == 9
        assert not (tmp_path / "out.html.new").exists()

    def test_to_stdout(self, job: Path) -> None:
        """`-` is no file; what comes is UTF-8, as the page says, whatever the terminal has."""
        done = scrapy(
            "report", "-d", str(job), "-o", "-", env={"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("<!doctype html>")
        assert "\N{EN DASH}" in done.stdout

    def test_of_a_running_crawl(self, tmp_path: Path) -> None:
        """What the last checkpoint knew; the crawl goes on."""
        asked, written = itertools.count(), threading.Event()

        def answer(path: str, host: str) -> str:
            if next(asked) > 30:  # the crawl stands until the report is written, however long that takes
                written.wait(PATIENCE)
            return linked(*(f"/{n}" for n in range(500)))

        with LocalWeb(answer) as web, Crawl(web.root, tmp_path / "job") as crawl:
            until(lambda: (f := crawl.figures())["checkpoints"] > 1 and f["fetched"] > 10, "pages and checkpoints")
            done = command("report", str(tmp_path / "job"), "-o", str(tmp_path / "out.html"))
            assert done.returncode == 0, done.stderr
            assert crawl.process.poll() is None
            written.set()
        waiting = lxml.html.parse(str(tmp_path / "out.html")).xpath("string(//dt[.='Waiting']/../dd)")
        assert 400 < int(waiting) < 500

    @pytest.mark.parametrize(
        ("words", "code", "told"),
        [
            (["nowhere"], 1, "nowhere holds no crawl"),
            (["x" * 300], 1, "File name too long"),
            (["a", "b"], 2, "unknown argument"),
            (["a", "-d", "b"], 2, "named twice"),
        ],
    )
    def test_wrong_calls(self, words: list[str], code: int, told: str) -> None:
        """One line says what is wrong."""
        done = command("report", *words)
        assert done.returncode == code
        assert told in done.stderr + done.stdout

    def test_a_place_that_cannot_be_written(self, job: Path) -> None:
        """No traceback."""
        done = command("report", str(job), "-o", "/proc/nowhere/report.html")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "cannot be written" in done.stderr


class TestTerminal:
    @pytest.mark.parametrize(
        "words", [["pages"], ["pages", "--format", "csv"], ["rank"], ["frontier", "--host", "127.0.0.2"]]
    )
    def test_nothing_that_a_terminal_obeys(self, job: Path, words: list[str]) -> None:
        """The same hostile site in the commands: markup is only text, and no control character comes through."""
        done = command(*words, "-d", str(job))
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr)
        assert ("<script>window.owned=1</script>" in done.stdout) == (words[0] == "pages")


class TestDrawing:
    def test_speeds(self) -> None:
        """Growth a second; a total that falls is a new start, what is not known parts the line."""
        assert _speeds([0, 2, 3, 4, 5], [0, 10, 5, None, 9]) == [None, 5, 0, None, None]

    def test_the_last_point_makes_no_spike(self) -> None:
        """It may follow at once, with pages of the interval before it."""
        assert _speeds([0, 1, 2, 2.25], [0, 4, 6, 11]) == [None, 4, 2, 5.6]
        assert _speeds([0, 10, 10.25], [None, 4, 5]) == [None, None, 4]

    def test_a_chart(self) -> None:
        """Every point is on the picture, the greatest value at the top."""
        drawn = _chart("t", [0.0, 1.0, 2.0, 3.0], {"a": [1, None, 5, 9]}, str)
        assert drawn is not None
        (points,) = drawn.lines[0].points
        assert [point.split(",")[0] for point in points.split()] == ["388.7", "552.0"]
        assert (drawn.lines[0].last, [text for _, text in drawn.y_marks][-1]) == ("9", "9")

    def test_a_pause(self) -> None:
        """A crawl that rested between two runs has two lines, and no speed across."""
        history = History(["fetched"])
        for at in (0.0, 1.0, 2.0, 100.0, 101.0, 102.0):
            history.add(at, {"fetched": at})
        speed, urls = _charts(history)
        assert [len(line.points) for line in (*speed.lines, urls.lines[2])] == [2, 2]

    def test_nothing_to_draw(self) -> None:
        """One point is no line."""
        assert _chart("t", [0.0], {"a": [1.0]}, str) is None
        assert _charts(None) == _charts(History(["fetched"])) == []


class TestText:
    @pytest.mark.parametrize(
        ("share", "text"), [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.0123, "1.2%"), (0.00000123, "0.00012%")]
    )
    def test_percent(self, share: float, text: str) -> None:
        """No powers of ten."""
        assert _percent(share) == text

    @given(st.text(max_size=600))
    def test_shown(self, text: str) -> None:
        """Nothing invisible, nothing that turns the text round, nothing endless; and it can be written as UTF-8."""
        told = _shown(text)
        told.encode()
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]", told)
        assert len(told) <= 12 * 500
