"""What an export says of pages."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from documents import pdf_of
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.page.items import Exchange
from sitecrawl.page.links import read_page
from sitecrawl.pagestore import PageFilter, WarcStore
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.pagestore.workers import WorkersReader, open_pages
from sitecrawl.plugins.export.changes import FILE, News
from sitecrawl.plugins.export.documents.isolated import IsolatedDocuments
from sitecrawl.plugins.export.formats import _FIELDS, fields_named, row_of
from sitecrawl.plugins.export.pages import Choice, Pages

PAGES = PageFilter(kind="page")
EVERY_PAGE = Choice()
TYPES = (b"application/pdf", b"application/octet-stream", b"text/html")
HTML = ((b"Content-Type", b"text/html; charset=utf-8"), (b"Last-Modified", b"Sun, 06 Nov 1994 08:49:37 GMT"))


def store(directory: Path, *exchanges: Exchange, pages: bool = True) -> None:
    """What a crawl of `exchanges` leaves, or adds."""
    with_pages = WarcStore(directory)
    for one in exchanges:
        with_pages.put(one, page(one, title="T") if pages and one.status == 200 else None)
    with_pages.checkpoint()
    with_pages.close()


def rows(reader: PageReader | WorkersReader, choice: Choice = EVERY_PAGE) -> list[dict[str, Any]]:
    with Pages(reader) as pages:
        return [row_of(_FIELDS, one) for one in pages.chosen(choice)]


def at(path: str, body: bytes = b"<p>Text", after: float = 0, **more: Any) -> Exchange:
    return exchange(f"http://site.example/{path}", body, started=STARTED + after, **{"headers": HTML, **more})


def test_every_field(tmp_path: Path) -> None:
    """A page's row has what the index, the record and the page itself say."""
    store(tmp_path, at("a", b"<p>Old"), at("a", b"<html lang=en><p>Ne<b>w</b> text<a href=/b>b</a>", 60))
    with PageReader(tmp_path) as reader:
        (row,) = rows(reader)
        newest = reader.find("http://site.example/a")[0]
        assert reader.stored_record(newest).type == "response"
    first = datetime.fromtimestamp(STARTED, UTC)
    assert row == {
        "url": "http://site.example/a", "final_url": "http://site.example/a", "status": 200, "kind": "page",
        "first_fetched": first, "last_fetched": first.replace(minute=first.minute + 1),
        "modified": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC), "type": "text/html", "charset": "utf-8",
        "language": None, "title": "T", "text": "New textb", "pages": None, "importance": None,
        "depth": 0, "referrer": None,
        "canonical": None, "noindex": False, "size": newest.size, "digest": f"sha1:{newest.digest}",
        "is_revisit": False, "warc_file": f"warc/{newest.warc_file}", "warc_offset": newest.warc_offset,
        "links": ["http://site.example/b"], "change": None, "markdown": "Ne**w** text[b](http://site.example/b)",
        "jsonld": None, "microdata": None, "opengraph": None,
        "usage": None, "tdm_reservation": None, "tdm_policy": None, "licenses": [], "robots": [],
    }  # fmt: skip


def test_versions(tmp_path: Path) -> None:
    """Of each URL the newest page counts, however many are between them; with `all` each of them."""
    store(tmp_path, *(at(f"{number % 700}", b"<p>%d" % number, number) for number in range(1_400)))
    with PageReader(tmp_path) as reader:
        newest = rows(reader)
        assert len(newest) == 700
        assert {row["text"] for row in newest} == {str(number) for number in range(700, 1_400)}
        assert len(rows(reader, Choice(PAGES, all=True))) == 1_400
        assert len(rows(reader, Choice(PAGES, limit=3))) == 3
        assert rows(reader, Choice(PageFilter(kind="page", status=404))) == []


def test_where_redirects_end(tmp_path: Path) -> None:
    """The last URL of a chain is named, and a circle has an end."""
    hop: dict[str, Any] = {"status": 302, "body": b""}
    store(
        tmp_path,
        at("a", headers=[(b"Location", b"/b")], **hop), at("b", headers=[(b"Location", b"/c")], **hop), at("c"),
        at("x", headers=[(b"Location", b"/y")], **hop), at("y", headers=[(b"Location", b"/x")], **hop),
        at("out", headers=[(b"Location", b"http://other.example/")], **hop),
    )  # fmt: skip
    with PageReader(tmp_path) as reader:
        ends = [row["final_url"].removeprefix("http://site.example") for row in rows(reader, Choice(PageFilter()))]
    assert ends == ["/c", "/c", "/c", "/x", "/y", "http://other.example/"]


@pytest.mark.parametrize("said", [b"", b"never", b"Sun, 99 Nov 1994 08:49:37 GMT", b"-1", b"\xff"])
def test_bad_dates(tmp_path: Path, said: bytes) -> None:
    """A Last-Modified that is no time is none."""
    store(tmp_path, at("a", headers=[*HTML[:1], (b"Last-Modified", said)]))
    with PageReader(tmp_path) as reader:
        assert rows(reader)[0]["modified"] is None


def test_a_damaged_record(tmp_path: Path) -> None:
    """What is left of a page is exported, and counted."""
    store(tmp_path, at("a"), at("b", b"<p>whole"))
    with PageReader(tmp_path) as reader, Pages(reader) as pages:
        first = next(reader.pages())
        (file,) = (tmp_path / "warc").iterdir()
        with file.open("r+b") as damaged:
            damaged.seek(first.warc_offset)
            damaged.write(b"\0" * first.warc_length)
        found = [row_of(_FIELDS, one) for one in pages.chosen(Choice(PAGES))]
        assert [(row["text"], row["links"]) for row in found] == [(None, []), ("whole", [])]
        assert pages.unreadable == 1


def test_workers(tmp_path: Path) -> None:
    """Each page once, with its times over all workers, and the place of its record below the crawl's directory."""
    store(tmp_path / "worker-0", at("a", b"<p>0"), at("b", b"<p>b", 5))
    store(tmp_path / "worker-1", at("a", b"<p>1", 60), at("c", b"<p>c", 7))
    with open_pages(tmp_path) as reader:
        found = {row["url"][-1]: row for row in rows(reader)}
    assert {name: row["text"] for name, row in found.items()} == {"a": "1", "b": "b", "c": "c"}
    assert found["a"]["first_fetched"].timestamp() == STARTED
    assert (tmp_path / found["a"]["warc_file"]).is_file()
    assert found["a"]["warc_file"].startswith("worker-1/warc/")


def urls(directory: Path) -> tuple[list[str], list[str], News]:
    """What is new, in which stores all is, and the news."""
    with open_pages(directory) as reader, Pages(reader) as pages:
        news = News(directory, pages.stores)
        found = [one.capture.url[-1] for one in pages.chosen(Choice(PAGES, spans=news.spans))]
        return found, news.began_anew, news


def test_what_is_new(tmp_path: Path) -> None:
    """Each export takes what was stored since the last one that was finished, whenever that was begun."""
    store(tmp_path, at("a"), at("b", after=60))
    assert urls(tmp_path)[0] == ["a", "b"]
    found, _, news = urls(tmp_path)
    store(tmp_path, at("c", b"<p>slow", -60))
    news.taken()
    assert (found, urls(tmp_path)[0]) == (["a", "b"], ["c"])
    urls(tmp_path)[2].taken()
    assert urls(tmp_path)[:2] == ([], [])


def test_a_store_that_is_another(tmp_path: Path) -> None:
    """Where the row at the mark is another, everything is new."""
    store(tmp_path, at("a"), at("b"))
    urls(tmp_path)[2].taken()
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != FILE:
            path.unlink()
    store(tmp_path, at("a"), at("c"), at("d"))
    assert urls(tmp_path)[:2] == (["a", "c", "d"], ["."])


def test_documents(tmp_path: Path) -> None:
    """A PDF file has the text, title, language and pages that it says itself, whatever it was declared as."""
    body = pdf_of("words", "more", title="Said", language="de-AT")
    exchanges = [at(f"{number}", body, number, headers=[(b"Content-Type", one)]) for number, one in enumerate(TYPES)]
    with_index = WarcStore(tmp_path)
    for one in [*exchanges, at("bad", b"%PDF-", 60, headers=[(b"Content-Type", TYPES[0])])]:
        with_index.put(one, read_page(one.url, one.body, one.headers))
    with_index.checkpoint()
    with_index.close()
    fields = fields_named("text,title,language,pages")
    with (
        closing(IsolatedDocuments()) as documents,
        PageReader(tmp_path) as reader,
        Pages(reader, documents) as pages,
    ):
        found = [tuple(row_of(fields, one).values()) for one in pages.chosen(EVERY_PAGE)]
        assert documents.unread == {"damaged": 1}
    assert found == [("words\nmore", "Said", "de", 2)] * 3 + [(None, None, None, None)]
