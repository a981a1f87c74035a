"""The text of a stored page: the main text of what is HTML, as Resiliparse finds it (docs/export.md has the figures),
plain or as Markdown. Both have the same words.

Resiliparse leaves out what looks like navigation, and on pages of some generators that is nearly all. So where it
leaves less than a quarter of a page, the whole page is taken: on sites that it knows little of that is the better
guess, and on others it hardly happens. It builds a tree, and its time grows with the square of the depth of that. So
a page beyond the limits of `sitecrawl.page.markup`, which keep trees cheap, has all its lines for its text, as every
page has where Resiliparse is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from sitecrawl.page.budget import within
from sitecrawl.page.charset import without_bom
from sitecrawl.page.markup import too_much
from sitecrawl.page.media_type import HTML
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.plugins.export.kept import marked, unmarked
from sitecrawl.plugins.export.markdown import blocks_of
from sitecrawl.plugins.export.tables import Block

_LEAST_SHARE: Final = 0.25


def text_of(body: bytes, content_type: str, charset: str | None) -> str | None:
    """The main text of a page of HTML, all of another text, as far as pages are read; None of what is no text."""
    if charset is None:
        return None
    text = as_html(without_bom(within(body)).decode(charset, "replace"), content_type)
    if content_type not in HTML:
        return clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    extract = _extractor()
    if extract is None or too_much(text.encode("utf-8", "replace")) is not None:
        return clean_text(every_line(text))
    return clean_text(_main_text(text, extract))


def markdown_of(body: bytes, content_type: str, charset: str | None, url: str) -> Sequence[Block] | None:
    """The same as `text_of`, as Markdown. Links are relative to `url`, or to what the page says."""
    if charset is None:
        return None
    text = as_html(without_bom(within(body)).decode(charset, "replace"), content_type)
    if content_type not in HTML:
        return [Block(clean_text(text.replace("\r\n", "\n").replace("\r", "\n")), kind="code")]
    extract = _extractor()
    if extract is not None and too_much(text.encode("utf-8", "replace")) is None:
        text, whole = marked(text), text
        kept = {"preserve_formatting": "minimal_html", "links": True}
        is_main = _is_enough(str(extract(whole, main_content=True)), str(extract(whole)))
        text = unmarked(str(extract(text, main_content=is_main, **kept)))
    found = blocks_of(text, url)
    return [block._replace(text=clean_text(block.text)) for block in found]


def every_line(html: str) -> str:
    """What a reader sees of a page, a line each."""
    return "\n".join(" ".join(line.text.split()) for line in html_lines(html))


def finds_main_text() -> bool:
    """Whether Resiliparse is installed."""
    return _extractor() is not None


def _is_enough(main: str, everything: str) -> bool:
    return len(main) >= _LEAST_SHARE * len(everything)


def _main_text(html: str, extract: Callable[..., str]) -> str:
    everything, main = str(extract(html)), str(extract(html, main_content=True))
    found = main if _is_enough(main, everything) else everything
    return "\n".join(line.rstrip() for line in found.split("\n") if line.strip())


@cache
def _extractor() -> Callable[..., str] | None:
    try:
        from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    found: Callable[..., str] = extract_plain_text
    return found
