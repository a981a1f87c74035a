"""A listing as a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.page.items import PageItem
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.plugins.ftp.handler import _CONTENT_TYPE, _media_type_of, _page_of
from sitecrawl.plugins.ftp.listing import Entry, Location
from sitecrawl.urls.url import CRAWLED, parse

FOLDER = "ftp://a.example/pub/"


def read(*entries: Entry, url: str = FOLDER) -> PageItem:
    headers = [(b"Content-Type", _CONTENT_TYPE.encode())]
    return read_page(url, _page_of(FOLDER, entries), headers, options=PageOptions(ftp=True))


@given(st.lists(st.binary(min_size=1, max_size=30).filter(lambda name: not {*b"/\0\r\n"} & {*name}), unique=True))
def test_every_name_comes_back(names: list[bytes]) -> None:
    """Whatever bytes it is made of, its link leads to it and to nothing else."""
    names = [name for name in names if name not in {b".", b".."}]
    found = [
        Location.of(parse(link.url, schemes=CRAWLED)).path for link in read(*(Entry(n, False) for n in names)).links
    ]
    assert found == [b"pub/" + name for name in names]


def test_markup_in_names_is_text() -> None:
    """A name makes no element."""
    page = read(
        Entry(b"<script>x()</script>", False), Entry(b'"><a href="http://evil.example/">', True, modified="<b>")
    )
    assert len(page.links) == 2
    assert all(link.host == "a.example" for link in page.links)
    assert b"<script>" not in page.body
    assert page.title == "Index of ftp://a.example/pub/"


def test_folders_have_a_slash() -> None:
    """So that what is in them is relative to them; and names look like no scheme and no type."""
    page = read(Entry(b"sub", True), Entry(b"a:b;type=d", False), url="ftp://a.example/pub")
    assert [link.url for link in page.links] == [f"{FOLDER}sub/", f"{FOLDER}a:b%3Btype=d"]


def test_links_to_ftp_are_none_where_it_is_off() -> None:
    """They are counted like those to other schemes."""
    page = read_page("http://a.example/", b"<a href='ftp://b.example/'>x</a><a href=/y>y</a>", [])
    assert [link.url for link in page.links] == ["http://a.example/y"]


@pytest.mark.parametrize(
    ("name", "body", "media_type"),
    [
        (b"pub/a.html", b"", "text/html"),
        (b"a.tar.gz", b"", "application/gzip"),
        (b"README", b"text", "text/plain"),
        (b"a.unheard-of", b"%PDF-1.7", "application/pdf"),
        (b"INDEX", b"<!doctype html><title>x</title>", "text/html"),
    ],
)
def test_media_type(name: bytes, body: bytes, media_type: str) -> None:
    """By its ending, or by its first bytes."""
    assert _media_type_of(name, body) == media_type
