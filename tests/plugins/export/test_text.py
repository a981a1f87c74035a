"""The text of a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from unittest import mock

import pytest

from sitecrawl.base.limits import READ_ELEMENTS, READ_SIZE
from sitecrawl.plugins.export import text
from sitecrawl.plugins.export.markdown import joined
from sitecrawl.plugins.export.text import _every_line, markdown_of, text_of

ARTICLE = "".join(f"<p>Sentence {number} of an article, which says what it is about.</p>" for number in range(20))
PAGE = f"""<html><title>T</title><body><nav><ul><li><a href=/>Home</a><li><a href=/b>Imprint</a></ul></nav>
<main><h1>Heading</h1>{ARTICLE}<p>Caf&eacute; {{}}</p></main><footer>Copyright</footer>"""


@pytest.fixture
def without_resiliparse() -> Iterator[None]:
    text._extractor.cache_clear()
    with mock.patch.dict(sys.modules, {"resiliparse.extract.html2text": None}):
        yield
    text._extractor.cache_clear()


def html(page: str, charset: str = "utf-8") -> str:
    found = text_of(page.encode(charset), "text/html", charset)
    assert found is not None
    return found


def test_the_main_text() -> None:
    """What is around an article is left out, and each block has a line."""
    lines = html(PAGE.format("ö"), "windows-1252").splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("Heading", "Café ö", 22)


def test_a_page_that_is_all_frame() -> None:
    """Where the main text would be next to nothing, the whole page is taken."""
    page = "<body><div class=sidebar>" + "<p>All that there is to say stands here.</p>" * 20 + "</div><p>End</p>"
    assert html(page).count("All that there is to say") == 20


def test_a_page_that_is_dear() -> None:
    """What would cost a parser more than it may has its lines for its text: it ends soon."""
    assert html("<div>" * 200_000 + "deep") == "deep"


def test_without_resiliparse(without_resiliparse: None) -> None:
    """Every line of the page is its text."""
    assert not text.finds_main_text()
    assert html(PAGE.format("")) == _every_line(PAGE.format(""))
    assert "Imprint" in html(PAGE.format(""))


def test_other_texts() -> None:
    """They are as they came, with the line ends of Unix and without what no database takes."""
    assert text_of(b"\xef\xbb\xbfa\r\nb\x00\xff", "text/plain", "utf-8") == "a\nb\ufffd\ufffd"
    assert text_of(b"\x89PNG", "image/png", None) is None


def test_no_more_than_is_read_of_a_page() -> None:
    """The text ends where the links of a page would, whatever the type."""
    body = b"&amp;" * (READ_ELEMENTS.value + 1)
    assert text_of(body, "text/html", "utf-8") == "&" * READ_ELEMENTS.value
    assert text_of(b"x" * (READ_SIZE.value + 1), "text/plain", "utf-8") == "x" * READ_SIZE.value


def markdown(page: str) -> str:
    blocks = markdown_of(page.encode(), "text/html", "utf-8", "http://site.example/")
    assert blocks is not None
    return joined(blocks)


STRUCTURE = (
    "<blockquote>said</blockquote><div class=language-sh><pre><code>ls | wc</code></pre></div>"
    "<table><tr><th>a<th>b<tr><td><code>1</code><td>2</table><p>The <b>end</b> of <a href=/x>it</a>, one<br>two"
)


def test_the_main_text_as_markdown() -> None:
    """It has the words of the text, and the structure that Resiliparse alone would lose."""
    found = markdown(PAGE.format(STRUCTURE))
    assert found.startswith("# Heading\n\nSentence 0 of an article")
    assert "Imprint" not in found
    assert found.endswith(
        "> said\n\n```sh\nls | wc\n```\n\n| a | b |\n| --- | --- |\n| `1` | 2 |\n\n"
        "The **end** of [it](http://site.example/x), one\ntwo"
    )


def test_a_long_pages_markdown() -> None:
    """A page without a tree has all of its blocks, and ends as soon as its text does."""
    assert markdown(f"<nav><a href=/>Home</a></nav><h1>Long</h1>{ARTICLE * 60}").startswith(
        "[Home](http://site.example/)\n\n# Long\n\nSentence 0"
    )
    assert markdown("<div>" * 200_000 + "deep") == "deep"


def test_markdown_without_resiliparse(without_resiliparse: None) -> None:
    """It is that of the whole page."""
    assert "Imprint" in markdown(PAGE.format(""))


def test_other_texts_as_markdown() -> None:
    """They are as they came; what is no text has none."""
    blocks = markdown_of(b"# a\r\nb\x00", "text/markdown", "utf-8", "http://site.example/")
    assert joined(blocks or ()) == "# a\nb\ufffd"
    assert markdown_of(b"x", "image/png", None, "http://site.example/") is None


def test_a_page_with_our_marks() -> None:
    """The characters that carry tags through Resiliparse are nobody else's: a page's own are left out."""
    assert markdown("<p>a\U0010f010b \U0010f0f0c\U0010f0f1 <b>d</b>") == "ab c **d**"
