"""The link graph."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from console import command
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.pagestore import WarcStore

LINKS = {"/": ("/b", "/a", "/a#x", "http://other.example/ü?q=1"), "/b": ("/", "/b"), "/c": ()}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    store = WarcStore(tmp_path / "crawls" / "mine")
    for path, links in LINKS.items():
        body = "".join(f"<a href='{link}'>x</a>" for link in links).encode()
        one = exchange(
            f"http://a.example{path}", body, headers=[(b"Content-Type", b"text/html; charset=utf-8")], started=STARTED
        )
        store.put(one, page(one))
    store.checkpoint()
    store.close()
    return tmp_path


def test_arcs(crawl: Path) -> None:
    """URLs are numbered in their order, and each link stands once, by numbers, in theirs."""
    done = command("export", "graph", "-o", "graph.arcs", cwd=crawl)
    assert (done.returncode, done.stderr) == (0, "5 links between 5 URLs are in graph.arcs\n")
    urls = (crawl / "graph.urls").read_text().splitlines()
    assert urls == [f"http://a.example/{name}" for name in ("", "a", "b", "c")] + ["http://other.example/%C3%BC?q=1"]
    assert (crawl / "graph.arcs").read_text().splitlines() == ["0\t1", "0\t2", "0\t4", "2\t0", "2\t2"]
    assert sorted(path.name for path in crawl.iterdir()) == ["crawls", "graph.arcs", "graph.urls"]


def test_parquet(crawl: Path) -> None:
    """The same in one table, with the URLs."""
    assert command("export", "graph", "-o", "graph.parquet", cwd=crawl).returncode == 0
    with duckdb.connect() as database:
        rows = database.sql(f"SELECT * FROM '{crawl}/graph.parquet'").fetchall()
    assert [row[2:] for row in rows] == [(0, 1), (0, 2), (0, 4), (2, 0), (2, 2)]
    assert rows[1] == ("http://a.example/", "http://a.example/b", 0, 2)


@pytest.mark.parametrize(
    "words",
    [["graph"], ["graph", "-o", "x.txt"], ["graph", "-o", "x.arcs", "--fields", "url"], ["wacz", "-o", "x.zip"],
     ["wacz", "-o", "x.wacz", "--limit", "1"], ["nothing"]],
)  # fmt: skip
def test_what_makes_no_sense(crawl: Path, words: list[str]) -> None:
    """Is refused, with exit code 2."""
    assert command("export", *words, cwd=crawl).returncode == 2
