"""The text of an answer, whatever charset it names."""

from __future__ import annotations

import pytest
from scrapy.http import HtmlResponse

from sitecrawl.plugins.logins.form_login import _in_its_charset, text_of


@pytest.mark.parametrize(
    ("charset", "text"),
    [("utf-8", "é"), ("iso-8859-1", "Ã©"), ("idna", "é"), ("rot13", "é"), ("undefined", "é"), ("no-such", "é")],
)
def test_as_a_browser_reads_it(charset: str, text: str) -> None:
    """A codec of Python's that is no charset of the web is none, and without one what is valid UTF-8 is UTF-8."""
    page = HtmlResponse(
        "http://a.example/", body="é".encode(), headers={"Content-Type": f"text/html;charset={charset}"}
    )
    assert text_of(page) == _in_its_charset(page).text == text
