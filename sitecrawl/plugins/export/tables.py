"""Tables of a page: those of data become tables of Markdown, those that only lay out the page its blocks."""

from __future__ import annotations

from typing import Final, NamedTuple

_MOST_COLUMNS: Final = 64


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


class Table:
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
