"""The text of a stored page: the main text of what is HTML, as Resiliparse finds it (docs/export.md has the figures).

Resiliparse leaves out what looks like navigation, and on pages of some generators that is nearly all. So where it
leaves less than a quarter of a page, the whole page is taken: on sites that it knows little of that is the better
guess, and on others it hardly happens. It builds a tree, and its time grows with the square of the depth of that. So
a page beyond the limits of `sitecrawl.page.markup`, which keep trees cheap, has all its lines for its text, as every
page has where Resiliparse is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from sitecrawl.page.budget import within
from sitecrawl.page.charset import without_bom
from sitecrawl.page.markup import too_much
from sitecrawl.page.media_type import HTML
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.pagestore.capture import clean_text

_LEAST_SHARE: Final = 0.25


def text_of(body: bytes, content_type: str, charset: str | None) -> str | None:
    """The main text of a page of HTML, all of another text, as far as pages are read; None of what is no text."""
    if charset is None:
        return None
    text = as_html(without_bom(within(body)).decode(charset, "replace"), content_type)
    if content_type not in HTML:
        return clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    find = _main_text()
    if find is None or too_much(text.encode("utf-8", "replace")) is not None:
        return clean_text(every_line(text))
    return clean_text(find(text))


def every_line(html: str) -> str:
    """What a reader sees of a page, a line each."""
    return "\n".join(" ".join(line.text.split()) for line in html_lines(html))


def finds_main_text() -> bool:
    """Whether Resiliparse is installed."""
    return _main_text() is not None


@cache
def _main_text() -> Callable[[str], str] | None:
    try:
        from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 - an extra
    except ImportError:
        return None

    def main_text(html: str) -> str:
        everything = str(extract_plain_text(html))
        main = str(extract_plain_text(html, main_content=True))
        found = main if len(main) >= _LEAST_SHARE * len(everything) else everything
        return "\n".join(line.rstrip() for line in found.split("\n") if line.strip())

    return main_text
