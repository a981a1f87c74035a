"""The text of a stored page: the main text of what is HTML, as Resiliparse finds it (docs/export.md has the figures),
plain or as Markdown. Both have the same words.

Resiliparse leaves out what looks like navigation, and on pages of some generators that is nearly all. So where it
leaves less than a quarter of a page, the whole page is taken: on sites that it knows little of that is the better
guess, and on others it hardly happens. It builds a tree, and its time grows with the square of the depth of that. So
a page beyond the limits of `sitecrawl.page.markup`, which keep trees cheap, has all its lines for its text, as every
page has where Resiliparse is not installed.

For Markdown, structure that Resiliparse leaves out is carried through it as characters of the text. Its minimal HTML
has headings, paragraphs, lists, links and preformatted text. Tables, quotations, code within a line,
emphasis, and in which language code is are not in it. So each of these tags gets a character beside it, of those that
mean nothing to anybody (Unicode's last private plane), which is made the tag again afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from sitecrawl.page.budget import within
from sitecrawl.page.charset import without_bom
from sitecrawl.page.markup import MARKUP, end_of_content, too_much
from sitecrawl.page.media_type import HTML
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.plugins.export.markdown import Block, blocks_of, language_of

_INLINE: Final = ("blockquote", "code", "kbd", "samp", "tt", "strong", "b", "em", "i")
"""Elements of which both tags are kept."""
_TAGS: Final = (
    *(f"<{name}>" for name in _INLINE), *(f"</{name}>" for name in _INLINE),
    "<table>", "</table>", "<tr>", "<td>", "<th>",
)  # fmt: skip
_FIRST: Final = 0x10F000
_MARK: Final = {tag: chr(_FIRST + number) for number, tag in enumerate(_TAGS)}
_TAG: Final = {mark: tag for tag, mark in _MARK.items()}
_SPEAKS, _SPOKEN = "\U0010f0f0", "\U0010f0f1"
"""Around the language of code."""
_OURS = re.compile("[\U0010f000-\U0010f0ff]")
_CODE = re.compile("(<pre>.*?</pre>)", re.DOTALL)
_LANGUAGE = re.compile(f"{_SPEAKS}([A-Za-z0-9+#._-]{{1,30}}){_SPOKEN}")


class _Marker:
    def __init__(self) -> None:
        self._language = ""
        self._code_depth = 0
        self._row = ""
        """What has begun of a table, and has no cell yet."""
        self._tables: list[bool] = []
        """Of those that are open, whether they have a cell."""

    def mark(self, name: str, attributes: str) -> str:
        """What stands behind a tag that begins an element."""
        if name == "table":
            self._tables.append(False)
            self._row = "<table>"
        elif name == "tr":
            self._row = f"{'<table>' if self._row.startswith('<table>') else ''}<tr>"
        elif name in {"td", "th"}:
            return self._cell(name)
        elif name in {"div", "pre", "code"}:
            return self._code(name, attributes)
        else:
            return _MARK.get(f"<{name}>", "")
        return ""

    def _cell(self, name: str) -> str:
        tags, self._row = f"{self._row}<{name}>", ""
        if self._tables:
            self._tables[-1] = True
        return "".join(_MARK[f"<{tag}>"] for tag in tags[1:-1].split("><"))

    def _code(self, name: str, attributes: str) -> str:
        if "class" in attributes and (name != "code" or self._code_depth):
            self._language = language_of(attributes) or self._language
        self._code_depth += name == "pre"
        spoken = ""
        if self._code_depth and self._language:
            spoken, self._language = f"{_SPEAKS}{self._language}{_SPOKEN}", ""
        return spoken if self._code_depth else _MARK.get(f"<{name}>", "")

    def mark_end(self, name: str) -> str:
        """What stands before a tag that ends an element, or behind that of a table, where text can stand."""
        if name == "table":
            return _MARK["</table>"] if self._tables and self._tables.pop() else ""
        if name == "pre":
            self._code_depth = max(0, self._code_depth - 1)
        return "" if self._code_depth else _MARK.get(f"</{name}>", "")


def _marked(html: str) -> str:
    """`html` with a character for each tag that is to be kept."""
    html = _OURS.sub("", html)
    parts: list[str] = []
    marker, position = _Marker(), 0
    while match := MARKUP.search(html, position):
        parts.append(html[position : match.start()])
        position = match.end()
        name = (match["name"] or "").lower()
        if match["slash"]:
            mark = marker.mark_end(name)
            parts += [match[0], mark] if name == "table" else [mark, match[0]]
        elif name:
            content, position = position, end_of_content(html, name, position)
            parts += [match[0], marker.mark(name, match["attributes"]), html[content:position]]
        else:
            parts.append(match[0])
    return "".join([*parts, html[position:]])


def _unmarked(html: str) -> str:
    """The same with the tags in the places of the characters, wherever these are now.

    Where a line ends outside of preformatted text, Resiliparse has left a block out.
    """
    parts = _CODE.split(html)
    parts[::2] = [part.replace("<br>\n", "<br>").replace("\n", "<div>") for part in parts[::2]]
    html = _LANGUAGE.sub(r'<code class="language-\1">', "".join(parts))
    return _OURS.sub(lambda mark: _TAG.get(mark[0], ""), html)


_LEAST_SHARE: Final = 0.25


def text_of(body: bytes, content_type: str, charset: str | None) -> str | None:
    """The main text of a page of HTML, all of another text, as far as pages are read; None of what is no text."""
    if charset is None:
        return None
    text = _decoded(body, content_type, charset)
    if content_type not in HTML:
        return clean_text(text)
    extract = _extractor()
    if extract is None or too_much(text.encode("utf-8", "replace")) is not None:
        return clean_text(_every_line(text))
    return clean_text(_main_text(text, extract))


def markdown_of(body: bytes, content_type: str, charset: str | None, url: str) -> Sequence[Block] | None:
    """`text_of` as Markdown. Links are resolved against `url` or the page's own base."""
    if charset is None:
        return None
    text = _decoded(body, content_type, charset)
    if content_type not in HTML:
        return [Block(clean_text(text), kind="code")]
    extract = _extractor()
    if extract is not None and too_much(text.encode("utf-8", "replace")) is None:
        text, whole = _marked(text), text
        kept = {"preserve_formatting": "minimal_html", "links": True}
        is_main = _is_enough(str(extract(whole, main_content=True)), str(extract(whole)))
        text = _unmarked(str(extract(text, main_content=is_main, **kept)))
    found = blocks_of(text, url)
    return [block._replace(text=clean_text(block.text)) for block in found]


def _decoded(body: bytes, content_type: str, charset: str) -> str:
    """Markup as HTML; of what is not markup, lines that end as Python's do."""
    text = as_html(without_bom(within(body)).decode(charset, "replace"), content_type)
    return text if content_type in HTML else text.replace("\r\n", "\n").replace("\r", "\n")


def _every_line(html: str) -> str:
    """The text that a reader sees, line by line, with spaces collapsed."""
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
