"""SITECRAWL_DUPLICATE_CONTENT: what becomes of a page whose content another page has."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import command
from crawling import crawl, stats_of
from localweb import LocalWeb, linked

from sitecrawl.frontier.forms.duplicates import ContentFigures
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.pagestore import Capture, PageReader

BOOK = linked("one", "two", title="A book")
WEB = {
    "/": linked("/book/", "/mirror/"),
    "/book/": BOOK,
    "/mirror/": BOOK,
    **{
        f"/{place}/{page}": linked(title=f"{place} {page}") for place in ("book", "mirror") for page in ("one", "two")
    },
}


def captures(job: Path) -> dict[str, Capture]:
    with PageReader(job) as reader:
        return {"/" + page.url.split("/", 3)[3]: page for page in reader.captures() if page.kind == "page"}


def whole(job: Path) -> list[str]:
    """The paths of the pages with `BOOK`, with their bodies, of which the store has a record with the body."""
    found = captures(job)
    with PageReader(job) as reader:
        copies = {path: page for path, page in found.items() if reader.read(page).body == BOOK.encode()}
    assert sorted(copies) == ["/book/", "/mirror/"]
    return [path for path, page in copies.items() if page.revisit_of is None]


def crawl_twice(root: str, job: Path, choice: str) -> str:
    """The log of the second of two runs: the first ends when it has the home page and the book, level by level."""
    done = [
        crawl(
            f"{root}/",
            job,
            max_pages=pages,
            SITECRAWL_DUPLICATE_CONTENT=choice,
            SITECRAWL_ORDER="bfs",
            CONCURRENT_REQUESTS=1,
            STATS_DUMP=True,
            LOG_LEVEL="INFO",
        )
        for pages in (2, 0)
    ]
    assert [run.returncode for run in done] == [0, 0], done[-1].stderr
    return done[-1].stderr


@pytest.mark.parametrize(
    ("choice", "bodies", "of_the_mirror"),
    [("keep", 2, 2), ("revisit", 1, 2), ("skip-links", 1, 0)],
)
def test_what_becomes_of_copies(tmp_path: Path, choice: str, bodies: int, of_the_mirror: int) -> None:
    """Every page is stored, and can be read; the body once or each time, the links of the copy followed or not."""
    job, report = tmp_path / "job", tmp_path / "report.html"
    with LocalWeb(WEB) as web:
        log = crawl_twice(web.root, job, choice)
        asked = web.paths()
    assert len(whole(job)) == bodies
    assert len({path for path in asked if path.startswith("/mirror/")} - {"/mirror/"}) == of_the_mirror
    skipped = int(choice == "skip-links")
    assert ("pages whose links were not followed" in log) == bool(skipped)
    stats = stats_of(log)
    assert (stats["content/equal"], stats["content/links_skipped"]) == (1, skipped)
    with FrontierReader(job) as reader:
        assert reader.content() == ContentFigures(pages=5 + of_the_mirror, equal=1, links_skipped=skipped)
    assert command("report", "-d", str(job), "-o", str(report)).returncode == 0
    row = '<th scope="row" class="text">links skipped</th><td>1</td><td class="text">20.0%: links'
    assert (row in report.read_text()) == bool(skipped)
    assert command("check-crawl", str(job)).returncode == 0


def test_another_word(tmp_path: Path) -> None:
    """One line says which there are."""
    done = crawl("http://127.0.0.1:1/", tmp_path / "job", SITECRAWL_DUPLICATE_CONTENT="skiplinks")
    assert done.returncode != 0
    assert "SITECRAWL_DUPLICATE_CONTENT is 'skiplinks', and has to be one of keep, revisit, skip-links" in done.stderr
    assert "Traceback" not in done.stderr
