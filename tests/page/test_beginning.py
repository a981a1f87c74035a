"""What is read of a page, as HTML."""

from __future__ import annotations

from sitecrawl.page.budget import Budget
from sitecrawl.page.links import html_of, is_markup

SMALL = Budget(max_size=100, max_elements=2)


def test_any_charset() -> None:
    """The end is where it is in UTF-8; a byte order mark is no part of it."""
    page = "<b>\u00e9<i>x<u>y"
    for charset in ("utf-8", "utf-16le", "utf-16be", "windows-1252"):
        assert html_of(page.encode(charset), "text/html", charset, SMALL).decode().rstrip("\ufffd") == "<b>\u00e9<i>x"
    assert html_of(b"\xef\xbb\xbf<b>", "text/html", "utf-8") == b"<b>"


def test_xml() -> None:
    """XML comes as the HTML that it is."""
    assert html_of(b"<a/>x<a/>y<a/>", "application/xhtml+xml", "utf-8", SMALL) == b"<a></a>x<a></a>y"
    assert (is_markup("application/xhtml+xml"), is_markup("text/html"), is_markup("text/plain")) == (
        True,
        True,
        False,
    )
