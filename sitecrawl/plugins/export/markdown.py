"""A page as Markdown (CommonMark, with the tables of GitHub): one pass over the markup, and no tree.

What `text_lines` says of a page's text holds here, too: near to what a browser shows without styles and scripts. Of
its structure there are headings, paragraphs, lists, quotations, code with its language, tables, emphasis and links.

Invariant: a page costs a bounded number of steps for each of its characters, and its Markdown is at most some dozen
times as long. So nothing is deeper than a page for people has it: eight lists, four quotations and eight tables
within one another count, and what is within more stands beside them. What would be markup by chance is escaped, and
links lead to http and https alone. Tables of data become tables of Markdown, those that only lay out the page its
blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from html import unescape
from typing import Final, NamedTuple

from sitecrawl.page.markup import MARKUP, TEXT_ONLY, UNSEEN, VOID, attributes_of, end_of_content
from sitecrawl.page.text_lines import BREAKS, PARTS, is_hidden
from sitecrawl.plugins.export.inline import CODE, LINK, MARKS, Piece, address, at_start, inline

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_LISTS: Final = frozenset({"ul", "ol", "menu", "dir"})
_CELLS: Final = frozenset({"td", "th"})
_PREFORMATTED: Final = frozenset({"pre", "listing", "xmp", "plaintext"})
_OPAQUE: Final = UNSEEN | TEXT_ONLY
_MOST_LISTS: Final = 8
_MOST_QUOTES: Final = 4
_MOST_TABLES: Final = 8
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight(?:-source)?|brush:)[-\s]*+([A-Za-z0-9+#._-]{1,30})(?=\s|;|\Z)"
)
_NO_LANGUAGE: Final = frozenset({"default", "none", "text", "plaintext", "notranslate"})
_FENCES = re.compile("^ *(`{3,})", re.MULTILINE)
_MOST_COLUMNS: Final = 64


class _List:
    def __init__(self, name: str, indent: int) -> None:
        self.is_ordered = name == "ol"
        self.indent = indent
        """Of its entries' marks, in characters."""
        self.number = 0
        self.inner = indent
        """Of what else stands in the entry that has begun last."""


class _Context:
    """Where a block stands."""

    def __init__(self) -> None:
        self.lists: list[_List] = []
        self.lists_left_out = 0
        self.quotes = 0
        self.mark = ""
        """Of an entry of a list whose first block has not come yet."""

    def placed(self, block: Block) -> Block:
        """`block` as it stands in lists and quotations."""
        if not self.lists and not self.quotes:
            return block
        inner, first, kind = " " * (self.lists[-1].inner if self.lists else 0), "", block.kind
        if self.mark:
            first, self.mark, kind = " " * self.lists[-1].indent + self.mark, "", "item"
        quote = "> " * min(self.quotes, _MOST_QUOTES)
        lines = block.text.split("\n")
        placed = [f"{quote}{first or inner}{lines[0]}", *(f"{quote}{inner}{line}".rstrip() for line in lines[1:])]
        return block._replace(text="\n".join(placed), kind=kind)


class _Reader:
    def __init__(self, html: str, base: str) -> None:
        self._html = html
        self._address = partial(address, base=base)
        self._blocks: list[Block] = []
        self._pieces: list[Piece] = []
        self._level = 0
        self._is_tight = False
        self._context = _Context()
        self._tables: list[tuple[_Table, _Context]] = []
        """Those that are open, with where each stands."""
        self._tables_left_out = 0
        self._code: list[str] | None = None
        """Of a `<pre>` that is open."""
        self._code_depth = 0
        self._language = ""
        self._hidden: tuple[str, int] | None = None
        """The name of an element that is not shown, and where it begins."""
        self._hidden_depth = 0
        self._hides = True

    def blocks(self) -> Sequence[Block]:
        self._read(0)
        if self._hidden is not None:  # it never ends: a page must not hide its rest by a slip
            start, self._hidden, self._hides = self._hidden[1], None, False
            self._read(start)
        self._end_code()
        self._flush()
        while self._tables:
            self._end_table()
        return self._blocks

    def _read(self, position: int) -> None:
        html = self._html
        while match := MARKUP.search(html, position):
            self._text(html[position : match.start()])
            position = match.end()
            name = (match["name"] or "").lower()
            if not name:
                continue
            if match["slash"]:
                self._end_tag(name)
            else:
                position = self._start_tag(name, match, position)
        self._text(html[position:])

    def _text(self, text: str) -> None:
        if not text or self._hidden is not None:
            return
        if "&" in text:
            text = unescape(text)
        if self._code is not None:
            self._code.append(text)
        else:
            self._pieces.append(Piece(text))

    def _start_tag(self, name: str, match: re.Match[str], position: int) -> int:
        """Gives where reading goes on."""
        attributes = match["attributes"]
        end = end_of_content(self._html, name, position) if name in _OPAQUE else position
        if self._hidden is not None and self._hidden[0] == "p" and name in BREAKS - {"br"}:
            self._hidden = None  # HTML, section 13.1.2.4: these end a paragraph
        if self._hidden is not None:
            self._hidden_depth += name == self._hidden[0]
        elif self._hides and name not in VOID and name not in _OPAQUE and is_hidden(attributes):
            if name in BREAKS and self._code is None:
                self._flush()
            self._hidden, self._hidden_depth = (name, position), 1
        elif name not in UNSEEN:
            self._begin(name, attributes)
            if name in TEXT_ONLY and name != "title":
                self._text(self._html[position:end])
        return end

    def _end_tag(self, name: str) -> None:
        if self._hidden is None:
            self._end(name)
        elif name == self._hidden[0]:
            self._hidden_depth -= 1
            if not self._hidden_depth:
                self._hidden = None

    def _begin(self, name: str, attributes: str) -> None:
        if "class" in attributes and (name in {"div", "pre"} or (name == "code" and self._code is not None)):
            self._language = language_of(attributes) or self._language
        if self._code is not None:
            self._begin_in_code(name)
        elif name == "br":
            self._break()
        elif name in _CELLS or name == "tr":
            self._begin_cell(name)
        elif name in BREAKS:
            self._flush()
            self._begin_block(name)
        elif name in PARTS:
            self._pieces.append(Piece(" "))
        elif name == LINK:
            self._pieces.append(Piece(opens=name, href=(attributes_of(attributes).get("href") or "").strip()))
        elif name in MARKS and not (self._level and MARKS[name] != CODE):  # a heading is bold as it is
            self._pieces.append(Piece(opens=name))

    def _begin_block(self, name: str) -> None:
        context = self._context
        if name in _HEADINGS:
            self._level = _HEADINGS[name]
        elif name in _PREFORMATTED:
            self._code, self._code_depth = [], 1
        elif name in _LISTS:
            if len(context.lists) < _MOST_LISTS:
                context.lists.append(_List(name, context.lists[-1].inner if context.lists else 0))
            else:
                context.lists_left_out += 1
        elif name == "li":
            self._begin_item()
        elif name == "blockquote":
            context.quotes += 1
        elif name == "table":
            self._begin_table()
        elif name == "hr":
            self._emit(Block("---"))

    def _begin_item(self) -> None:
        context = self._context
        if not context.lists:
            context.lists.append(_List("ul", 0))
        inside = context.lists[-1]
        inside.number += 1
        context.mark = f"{inside.number}. " if inside.is_ordered else "- "
        inside.inner = inside.indent + len(context.mark)

    def _begin_table(self) -> None:
        if len(self._tables) < _MOST_TABLES:
            self._tables.append((_Table(), self._context))
            self._context = _Context()
        else:
            self._tables_left_out += 1

    def _begin_cell(self, name: str) -> None:
        self._flush()
        if not self._tables or self._tables_left_out:
            return
        table, self._context = self._tables[-1][0], _Context()
        if name == "tr":
            table.row()
        else:
            table.cell()

    def _begin_in_code(self, name: str) -> None:
        assert self._code is not None
        if name in _PREFORMATTED:
            self._code_depth += 1
        elif name == "br" or (name in BREAKS and self._code and not self._code[-1].endswith("\n")):
            self._code.append("\n")

    def _end(self, name: str) -> None:
        if self._code is not None:
            if name in _PREFORMATTED:
                self._code_depth -= 1
                if not self._code_depth:
                    self._end_code()
            return
        context = self._context
        if name in MARKS or name == LINK:
            self._pieces.append(Piece(closes=name))
        elif name in BREAKS or name in _CELLS:
            self._flush()
            self._level = 0
            if name in _LISTS and context.lists_left_out:
                context.lists_left_out -= 1
            elif name in _LISTS and context.lists:
                context.lists.pop()
                context.mark = ""
            elif name == "li":
                context.mark = ""
            elif name == "blockquote":
                context.quotes = max(0, context.quotes - 1)
            elif name == "table" and self._tables_left_out:
                self._tables_left_out -= 1
            elif name == "table" and self._tables:
                self._end_table()

    def _end_table(self) -> None:
        table, self._context = self._tables.pop()
        for block in table.blocks():
            self._emit(block)

    def _end_code(self) -> None:
        """A block of code between fences, longer than any within."""
        text = "".join(self._code or ()).replace("\r\n", "\n").strip("\n").rstrip()
        language, self._code, self._language = self._language, None, ""
        if text.strip():
            fence = "`" * max([3, *(len(found) + 1 for found in _FENCES.findall(text))])
            self._emit(Block(f"{fence}{language}\n{text}\n{fence}", kind="code"))

    def _break(self) -> None:
        """A line ends here, and no block; two of them end one."""
        if self._level or self._tables:
            self._pieces.append(Piece(" "))
            return
        has_text = any(piece.text.strip() for piece in self._pieces)
        self._flush()
        self._is_tight = has_text

    def _flush(self) -> None:
        """A block ends here."""
        pieces, self._pieces = self._pieces, []
        is_tight, self._is_tight = self._is_tight, False
        if not any(piece.text and not piece.text.isspace() for piece in pieces):
            return
        text = inline(pieces, self._address)
        if not text:
            return
        if self._level:
            self._emit(Block(f"{'#' * self._level} {text}", self._level))
        else:
            self._emit(Block(at_start(text), is_tight=is_tight))

    def _emit(self, block: Block) -> None:
        block = self._context.placed(block)
        if self._tables:
            self._tables[-1][0].add(block)
        else:
            self._blocks.append(block)


def language_of(attributes: str) -> str:
    """Of the code in an element with these attributes; empty where they name none."""
    found = _LANGUAGE.search(attributes_of(attributes).get("class") or "")
    return "" if found is None or found[1].lower() in _NO_LANGUAGE else found[1]


def blocks_of(html: str, base: str) -> Sequence[Block]:
    """The blocks of a page, whose links are relative to `base`."""
    return _Reader(html, base).blocks()


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


class _Table:
    """A table as read so far."""

    def __init__(self) -> None:
        self._before: list[Block] = []
        self._rows: list[list[list[Block]]] = []

    def row(self) -> None:
        self._rows.append([])

    def cell(self) -> None:
        if not self._rows:
            self.row()
        self._rows[-1].append([])

    def add(self, block: Block) -> None:
        """To the cell that has begun last."""
        if self._rows and self._rows[-1]:
            self._rows[-1][-1].append(block)
        else:
            self._before.append(block)

    def blocks(self) -> list[Block]:
        rows = [row for row in self._rows if any(row)]
        width = max(map(len, rows), default=0)
        filled = sum(bool(cell) for row in rows for cell in row)
        is_data = len(rows) > 1 and 1 < width <= _MOST_COLUMNS and 2 * filled >= width * len(rows)
        if is_data and all(_is_plain(block) for row in rows for cell in row for block in cell):
            lines = [_line(row, width) for row in rows]
            return [*self._before, Block("\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]))]
        return [*self._before, *(block for row in rows for block in _laid_out(row))]


def _laid_out(row: list[list[Block]]) -> list[Block]:
    """The blocks of a row that is not of data: cells of a line each are one line, as they are seen."""
    found = [block for cell in row for block in cell]
    if all(len(cell) < 2 for cell in row) and all(_is_plain(block) for block in found):
        return [Block(" ".join(block.text for block in found))] if found else []
    return found


def _is_plain(block: Block) -> bool:
    return block.kind == "text" and not block.level and "\n" not in block.text


def _line(row: list[list[Block]], width: int) -> str:
    cells = ("<br>".join(block.text for block in cell).replace("|", "\\|") for cell in row)
    return "| " + " | ".join(cells) + " |" + " |" * (width - len(row))
