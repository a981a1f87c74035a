"""A page as Markdown (CommonMark, with the tables of GitHub), written off its tree.

Of its structure there are headings, paragraphs, lists, quotations, code with its language, tables, emphasis and
links. What would be markup by chance is escaped, and links lead to http and https alone. What is deeper than
`_MOST_DEEP` is text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from lxml import etree

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.page.markup import UNSEEN, attributes_of
from sitecrawl.page.text_lines import BREAKS, PARTS
from sitecrawl.plugins.export.lean import lean
from sitecrawl.urls.url import parse

_MARKS: Final = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LISTS: Final = frozenset({"ul", "ol", "menu", "dir"})
_PREFORMATTED: Final = frozenset({"pre", "listing", "xmp", "plaintext"})
_STRUCTURE: Final = (*_HEADINGS, *_LISTS, *_PREFORMATTED, "table", "blockquote")
"""What no cell of a table of data has."""
_SKIPPED: Final = UNSEEN | {"title", "head"}
_MOST_DEEP: Final = 100
"""Elements within one another."""
_MOST_INDENT: Final = 24
"""Characters before a line: what is within more lists or quotations stands beside them."""
_MOST_COLUMNS: Final = 64
_MOST_URL: Final = 2_000
"""Characters of a link's target; with more it is text alone."""
_ANCHORS: Final = frozenset({"", "#", "¶", "§", "🔗", "\uf0c1"})
"""What generators put beside a heading, to link to it."""
_SPACES = re.compile(r"[ \t\n\r\f\xa0]+")
_TICKS = re.compile("`+")
_SPECIAL = re.compile(r"_{2,}|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[:]|\Z)")
"""Beside backslashes, backticks and asterisks."""
_AT_START = re.compile(r"(?:#{1,6}(?=\s|\Z)|[-+](?=\s|\Z)|[>|]|[-=~]{2,}|~~~)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|\Z)")
_IN_URL: Final = {" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\\": "%5C", "|": "%7C"}
_URL_SPECIAL = re.compile(r"[ ()<>\\|]")
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight(?:-source)?|brush:)[-\s]*+([A-Za-z0-9+#._-]{1,30})(?=\s|;|\Z)"
)
_NO_LANGUAGE: Final = frozenset({"default", "none", "text", "plaintext", "notranslate"})


class Block(NamedTuple):
    """A heading, a paragraph, an entry of a list, a table, or code."""

    text: str
    """As Markdown, of one line or several."""
    level: int = 0
    """Of a heading, from 1 to 6; 0 for all else."""
    kind: str = "text"
    """`text`, or `item` or `code`."""
    is_tight: bool = False
    """Whether no empty line parts it from the one before."""


def blocks_of(html: str, base: str) -> Sequence[Block]:
    """The blocks of a page, whose links are relative to `base`."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True)
    root = etree.HTML(lean(html).replace("\0", "").encode("utf-8", "replace") or b" ", parser)
    writer = _Writer(base)
    if root is not None:
        writer.walk(root, 0)
        writer.flush()
    return writer.blocks


def blocks_of_lines(lines: Iterable[str]) -> Sequence[Block]:
    """A text without structure: a paragraph a line."""
    return [Block(_at_start(_escaped(line))) for line in lines if line.strip()]


def joined(blocks: Iterable[Block]) -> str:
    """Blocks as one text."""
    parts: list[str] = []
    last: Block | None = None
    for block in blocks:
        if last is not None:
            parts.append("\n" if block.is_tight or last.kind == block.kind == "item" else "\n\n")
        parts.append(block.text)
        last = block
    return "".join(parts)


class _Writer:
    def __init__(self, base: str) -> None:
        self.blocks: list[Block] = []
        self._base = base
        self._line: list[str] = []
        """Of the block that is being written."""
        self._is_tight = False
        self._rest = ""
        """Before each line, in lists and quotations."""
        self._first: str | None = None
        """Before the first line of an entry of a list that has begun."""

    def walk(self, element: Any, depth: int) -> None:
        self._text(element.text)
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _SKIPPED and child.get("hidden") is None:
                self._child(child, depth + 1)
            self._text(child.tail)

    def _text(self, text: str | None) -> None:
        if text:
            self._line.append(_escaped(text))

    def _child(self, element: Any, depth: int) -> None:
        tag = element.tag
        if depth > _MOST_DEEP:
            self._text(" ".join(element.itertext()))
        elif tag == "br":
            has_text = any(part.strip() for part in self._line)
            self.flush()
            self._is_tight = has_text
        elif tag in BREAKS or tag in {"td", "th", "tr"}:
            self.flush()
            self._block(element, depth)
            self.flush()
        elif next(element.iter(*_BLOCKS), None) is not None:
            self.walk(element, depth)
        else:
            self._line.append(self._inline(element, depth))

    def _block(self, element: Any, depth: int) -> None:
        tag = element.tag
        if tag in _HEADINGS:
            self.walk(element, depth)
            self.flush(_HEADINGS[tag])
        elif tag in _PREFORMATTED:
            self._preformatted(element)
        elif tag == "table":
            self._table(element, depth)
        elif tag == "hr":
            self._emit(Block("---"))
        elif tag == "blockquote":
            self._indented(element, depth, "> ", "> ")
        elif tag == "li":
            mark = "- "
            if (parent := element.getparent()) is not None and parent.tag == "ol":
                mark = f"{1 + sum(1 for _ in element.itersiblings('li', preceding=True))}. "
            self._indented(element, depth, mark, " " * len(mark))
            self._first = None
        else:
            self.walk(element, depth)

    def _indented(self, element: Any, depth: int, first: str, rest: str) -> None:
        before = self._rest
        if len(before) < _MOST_INDENT:
            if first != rest:
                self._first = before + first
            self._rest = before + rest
        self.walk(element, depth)
        self.flush()
        self._rest = before

    def flush(self, level: int = 0) -> None:
        """A block ends here."""
        text = _SPACES.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        is_tight, self._is_tight = self._is_tight, False
        if text and level:
            self._emit(Block(f"{'#' * level} {text}", level))
        elif text:
            self._emit(Block(_at_start(text), is_tight=is_tight))

    def _emit(self, block: Block) -> None:
        first, self._first = self._first, None
        if first is not None or self._rest:
            kind = "item" if first is not None else block.kind
            start, *lines = block.text.split("\n")
            placed = [f"{first or self._rest}{start}", *(f"{self._rest}{line}".rstrip() for line in lines)]
            block = block._replace(text="\n".join(placed), kind=kind)
        self.blocks.append(block)

    def _preformatted(self, element: Any) -> None:
        """A block of code between fences, longer than any within."""
        text = "".join(_code_of(element)).replace("\r\n", "\n").strip("\n").rstrip()
        if text.strip():
            longest = max(map(len, re.findall("^ *(`{3,})", text, re.MULTILINE)), default=2)
            fence = "`" * (longest + 1)
            self._emit(Block(f"{fence}{_language(element)}\n{text}\n{fence}", kind="code"))

    # Within a line

    def _inline(self, element: Any, depth: int) -> str:
        tag = element.tag
        if tag in _CODE:
            text = _SPACES.sub(" ", "".join(element.itertext())).strip()
            return _spaced(element, _code(text)) if text else " "
        content = self._content(element, depth)
        inner = content.strip()
        if tag == "a":
            whole = self._link(inner, (element.get("href") or "").strip())
        elif tag in _MARKS and inner and next(element.iterancestors(*_HEADINGS), None) is None:
            whole = f"{_MARKS[tag]}{inner}{_MARKS[tag]}"
        else:
            return f" {content} " if tag in PARTS else content
        before, after = content[:1].isspace(), content[-1:].isspace()
        return f"{' ' * before}{whole}{' ' * after}"

    def _content(self, element: Any, depth: int) -> str:
        parts = [_escaped(element.text or "")]
        for child in element:
            if not isinstance(child.tag, str) or child.tag in _SKIPPED or child.get("hidden") is not None:
                pass
            elif depth > _MOST_DEEP:
                parts.append(_escaped(" ".join(child.itertext())))
            else:
                parts.append(self._inline(child, depth + 1))
            parts.append(_escaped(child.tail or ""))
        return "".join(parts)

    def _link(self, text: str, href: str) -> str:
        if text.lstrip("\\") in _ANCHORS and (href.startswith("#") or not text):
            return ""
        url = _address(href, self._base)
        return f"[{text}]({url})" if url and "](" not in text else text

    # Tables

    def _table(self, element: Any, depth: int) -> None:
        """One of data becomes a table; one that only lays out the page, its blocks."""
        rows = [_own(row, "td", "th") for row in _own(element, "tr")]
        cells = [[self._blocks_in(cell, depth) for cell in row] for row in rows]
        cells = [row for row in cells if any(row)]
        width = max(map(len, cells), default=0)
        filled = sum(map(bool, (cell for row in cells for cell in row)))
        is_data = len(cells) > 1 and 1 < width <= _MOST_COLUMNS and 2 * filled >= width * len(cells)
        if is_data and all(next(cell.iter(*_STRUCTURE), None) is None for row in rows for cell in row):
            lines = [_table_line(row, width) for row in cells]
            self._emit(Block("\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])))
            return
        for row in cells:
            found = [block for cell in row for block in cell]
            if all(len(cell) < 2 for cell in row) and all(_is_plain(block) for block in found):
                found = [Block(" ".join(block.text for block in found))]
            for block in found:
                self._emit(block)

    def _blocks_in(self, cell: Any, depth: int) -> list[Block]:
        writer = _Writer(self._base)
        if depth <= _MOST_DEEP:
            writer.walk(cell, depth + 1)
        else:
            writer._text(" ".join(cell.itertext()))
        writer.flush()
        return writer.blocks


_BLOCKS: Final = (*BREAKS, "td", "th")


def _own(element: Any, *tags: str) -> list[Any]:
    """The rows of a table, or the cells of a row, and not those of tables within."""
    return [one for one in element.iter(*tags) if next(one.iterancestors(element.tag), None) is element]


def _table_line(row: list[list[Block]], width: int) -> str:
    cells = ("<br>".join(block.text for block in cell).replace("|", "\\|") for cell in row)
    return "| " + " | ".join(cells) + " |" + " |" * (width - len(row))


def _is_plain(block: Block) -> bool:
    return block.kind == "text" and not block.level and "\n" not in block.text


def _code_of(element: Any) -> Iterator[str]:
    for node in element.iter():
        if isinstance(node.tag, str):
            if node.tag == "br":
                yield "\n"
            yield node.text or ""
        if node is not element:
            yield node.tail or ""


def _language(element: Any) -> str:
    """Of code, by the class of what it is in, of itself, or of what is in it; empty where none names one."""
    near = (element, *element.iter("code"), *([] if (parent := element.getparent()) is None else [parent]))
    for one in near:
        found = _LANGUAGE.search(one.get("class") or "")
        if found is not None and found[1].lower() not in _NO_LANGUAGE:
            return found[1]
    return ""


def _spaced(element: Any, text: str) -> str:
    content = "".join(element.itertext())
    return f"{' ' * content[:1].isspace()}{text}{' ' * content[-1:].isspace()}"


def _escaped(text: str) -> str:
    text = _SPACES.sub(" ", text)
    for mark in "\\`*":  # by far the fastest way, and a page may have nothing else
        text = text.replace(mark, f"\\{mark}")
    return _SPECIAL.sub(lambda found: "".join([f"\\{sign}" for sign in found[0]]), text)


def _at_start(text: str) -> str:
    """`text` as a line of its own: what begins a heading, a list or a quotation there is escaped."""
    if _AT_START.match(text):
        return f"\\{text}"
    return _NUMBERED.sub(r"\1\\\2", text, count=1) if _NUMBERED.match(text) else text


def _code(text: str) -> str:
    """A span of code, between more backticks than stand in it."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence, pad = "`" * (longest + 1), " " * (text[0] == "`" or text[-1] == "`")
    return f"{fence}{pad}{text}{pad}{fence}"


def _address(href: str, base: str) -> str:
    """The absolute URL of a link, as it can stand in Markdown; empty for what leads to no other page of the web."""
    if not href or href.startswith("#"):
        return ""
    try:
        url = parse(href, base).href
    except InvalidUrl:
        return ""
    return _URL_SPECIAL.sub(lambda found: _IN_URL[found[0]], url) if len(url) <= _MOST_URL else ""


def language_of(attributes: str) -> str:
    """Of the code in an element with these attributes, as they stand; empty where they name none."""
    found = _LANGUAGE.search(attributes_of(attributes).get("class") or "")
    return "" if found is None or found[1].lower() in _NO_LANGUAGE else found[1]
