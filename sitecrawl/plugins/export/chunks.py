"""A page cut into parts for retrieval: each of a bounded size, and with the headings above it.

Blocks of Markdown are taken one after the other. A part ends where the next block would make it too long, and at a
heading once it has a quarter of the size: sections of a line or two stay together. Code and tables are cut only where
one alone is too long. In scripts without spaces between words, such as Chinese, each two characters count as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.formats import Field
from sitecrawl.plugins.export.markdown import Block, joined

WORDS: Final = 300
"""Of a part at most, where nothing else is said: about 400 tokens of English, which models with room for 512 take."""
LEAST_WORDS, MOST_WORDS = 20, 10_000
FIELDS: Final = (
    Field("url", "text", lambda part: part.page.capture.url),
    Field("title", "text", lambda part: part.page.title),
    Field("headings", "texts", lambda part: part.chunk.headings),
    Field("text", "text", lambda part: part.chunk.text),
    Field("position", "integer", lambda part: part.position),
    Field("words", "integer", lambda part: part.chunk.words),
)
_MOST_WORD: Final = 40
"""Characters that count as one word: what is longer is cut."""
_WORD = re.compile(rf"\s*+(?:[!-~\xa1-\u0dff\u10a0-\u10ff\u1e00-\u1fff\u2010-\u2bff]{{1,{_MOST_WORD}}}|\S{{1,2}})")
"""Scripts from Latin to Sinhala part words by spaces, and a few beyond; those of most others do not."""
_FENCED = re.compile(r"(`{3,}+[^\n]*+\n)(.*)(\n`{3,}+)", re.DOTALL)
_MARKUP = re.compile(r"^#+ |[*`]|\\(?=[^\w\s])|\]\([^()\s]*\)|\[")


class _Chunk(NamedTuple):
    """A part of a page."""

    headings: Sequence[str]
    """That stand above all of it, the highest first."""
    text: str
    """As Markdown, with the headings that begin in it."""
    words: int


def _chunks(blocks: Iterable[Block], most: int = WORDS) -> Iterator[_Chunk]:
    """The parts of a page, none of more than `most` words."""
    held: list[Block] = []
    words = 0
    path: list[tuple[int, str]] = []
    common: list[tuple[int, str]] = []
    for block in blocks:
        if block.level and held and words >= most // 4:
            yield _made(held, common, words)
            held, words = [], 0
        if block.level:
            path = [(level, text) for level, text in path if level < block.level]
            path.append((block.level, _plain(block.text)))
        for part, size in _parts(block, most):
            if held and words + size > most:
                yield _made(held, common, words)
                held, words = [], 0
            common = list(path) if not held else _shared(common, path)
            held.append(part)
            words += size
    if held:
        yield _made(held, common, words)


class _Part(NamedTuple):
    """What a row of `FIELDS` is made of."""

    page: ExportedPage
    position: int
    chunk: _Chunk


def parts_of(page: ExportedPage, most: int) -> Iterator[_Part]:
    """The parts of a page; none of a page without text."""
    return (_Part(page, number, chunk) for number, chunk in enumerate(_chunks(page.blocks or (), most)))


def _made(held: Sequence[Block], path: Sequence[tuple[int, str]], words: int) -> _Chunk:
    return _Chunk([text for _, text in path], joined(held), words)


def _shared(one: Sequence[tuple[int, str]], other: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """With which both begin."""
    found: list[tuple[int, str]] = []
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        found.append(a)
    return found


def _parts(block: Block, most: int) -> Iterator[tuple[Block, int]]:
    """The block, in parts where it alone is too long, with the words of each."""
    size = len(_WORD.findall(block.text))
    if size <= most:
        yield block, size
        return
    fenced = _FENCED.fullmatch(block.text)
    before, text, after = fenced.groups() if fenced else ("", block.text, "")
    around = len(_WORD.findall(before + after))
    for piece, words in _cut(text, most - around):
        yield block._replace(text=f"{before}{piece}{after}"), words + around


def _cut(text: str, most: int) -> Iterator[tuple[str, int]]:
    """`text` in pieces of `most` words, the last one of fewer."""
    start = words = 0
    for found in _WORD.finditer(text):
        words += 1
        if words == most:
            yield text[start : found.end()].strip("\n"), words
            start, words = found.end(), 0
    if words:
        yield text[start:].strip("\n"), words


def _plain(heading: str) -> str:
    return _MARKUP.sub("", heading)
