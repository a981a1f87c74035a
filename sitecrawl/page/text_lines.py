"""A page's text in lines, as a reader sees them, each with where it stands in the page's source.

One pass over the markup and no tree: a tree knows no line numbers, and a hostile page can make it dear
(`sitecrawl.page.markup`). So this is near to what a browser shows without styles and scripts, and no more: blocks,
rows and `<br>` end a line; inline elements and comments end nothing, not even a word; cells and images part words;
`<pre>` keeps its lines. Scripts, styles, templates, frames' contents, attributes, and what `hidden` or an inline
`display: none` hides are not there. The title is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from html import unescape
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.page.markup import MARKUP, TEXT_ONLY, UNSEEN, VOID, attributes_of, end_of_content


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BREAKS: Final = _names(
    "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol "
    "optgroup option p plaintext pre search section select summary table tbody textarea tfoot thead title tr ul xmp"
)
PARTS: Final = _names("audio button canvas embed iframe img input object svg td th video")
"""What stands between words without ending a line."""
_OPAQUE: Final = UNSEEN | TEXT_ONLY
_NEVER_HIDES: Final = VOID | _OPAQUE
_KEEPS_LINES: Final = frozenset({"pre", "listing", "plaintext", "textarea", "xmp"})
_MAY_HIDE = expression("hidden|display", re.IGNORECASE)
_DISPLAY_NONE = expression(r"(?:^|;)\s*+display\s*+:\s*+none\b", re.IGNORECASE)


class Line:
    """One line: its text, white space as it came, and the line of the source that each part of it stands in."""

    __slots__ = ("_numbers", "_starts", "text")

    def __init__(self, pieces: list[tuple[str, int]]) -> None:
        self.text = "".join(text for text, _ in pieces)
        self._starts = [0]
        for text, _ in pieces[:-1]:
            self._starts.append(self._starts[-1] + len(text))
        self._numbers = [number for _, number in pieces]

    def number_at(self, position: int) -> int:
        """The line of the source, from 1 on, of the character at `position`."""
        return self._numbers[bisect_right(self._starts, position) - 1]


def plain_lines(text: str) -> Iterator[Line]:
    """The lines of what is no HTML."""
    for number, line in enumerate(_unix(text).split("\n"), 1):
        if line.strip():
            yield Line([(line, number)])


def html_lines(html: str) -> Iterator[Line]:
    """The lines of an HTML page that are not empty."""
    return _Reader(_unix(html)).lines()


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class _Builder:
    """Gathers text until a line ends."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, int]] = []
        self.ended: list[Line] = []

    def add(self, text: str, number: int) -> None:
        self._pieces.append((text, number))

    def end(self) -> None:
        pieces = self._pieces
        if not pieces:
            return
        if not pieces[0][0].isspace() or any(not text.isspace() for text, _ in pieces):
            self.ended.append(Line(pieces))
        self._pieces = []

    def taken(self) -> list[Line]:
        lines, self.ended = self.ended, []
        return lines


class _Hidden:
    """An element that is not shown, while it is open."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.depth = 1
        self.content = _Builder()
        """To be shown after all if the element never ends: a page must not hide its rest by a slip."""


class _Reader:
    def __init__(self, html: str) -> None:
        self._html = html
        self._shown = _Builder()
        self._hidden: _Hidden | None = None
        self._preformatted = 0
        self._counted = 0
        self._number = 1

    def lines(self) -> Iterator[Line]:
        html, position = self._html, 0
        while match := MARKUP.search(html, position):
            self._text(position, match.start())
            position = self._tag(match)
            if self._shown.ended:
                yield from self._shown.taken()
        self._text(position, len(html))
        self._shown.end()
        yield from self._shown.taken()
        if self._hidden is not None:
            self._hidden.content.end()
            yield from self._hidden.content.taken()

    @property
    def _builder(self) -> _Builder:
        return self._shown if self._hidden is None else self._hidden.content

    def _text(self, start: int, end: int) -> None:
        if start == end:
            return
        builder = self._builder
        number = self._number_at(start)
        text = self._html[start:end]
        if "\n" not in text:
            builder.add(_unescaped(text), number)
            return
        first, *others = text.split("\n")
        builder.add(_unescaped(first), number)
        for text in others:
            number += 1
            if self._preformatted:
                builder.end()
            builder.add(("" if self._preformatted else "\n") + _unescaped(text), number)

    def _number_at(self, position: int) -> int:
        self._number += self._html.count("\n", self._counted, position)
        self._counted = position
        return self._number

    def _tag(self, match: re.Match[str]) -> int:
        """Deal with a tag or a comment; returns where reading goes on."""
        name = (match["name"] or "").lower()
        if not name:
            return match.end()
        if match["slash"]:
            self._end_tag(name)
            return match.end()
        if self._hidden is not None:
            self._nest(self._hidden, name)
        if self._hidden is None and name not in _NEVER_HIDES and is_hidden(match["attributes"]):
            self._hidden = _Hidden(name)
        self._part(name)
        if name in _OPAQUE:
            return self._opaque(name, match.end())
        self._preformatted += name in _KEEPS_LINES
        return match.end()

    def _end_tag(self, name: str) -> None:
        self._part(name)
        if name in _KEEPS_LINES and self._preformatted:
            self._preformatted -= 1
        if (hidden := self._hidden) is not None and hidden.name == name:
            hidden.depth -= 1
            if hidden.depth == 0:
                self._hidden = None

    def _nest(self, hidden: _Hidden, name: str) -> None:
        if hidden.name == "p" and name in BREAKS - {"br"}:  # HTML, section 13.1.2.4: these end a paragraph
            self._hidden = None
        elif name == hidden.name:
            hidden.depth += 1

    def _part(self, name: str) -> None:
        if name in BREAKS:
            self._builder.end()
        elif name in PARTS:
            self._builder.add(" ", self._number)

    def _opaque(self, name: str, start: int) -> int:
        """An element whose content is no markup. One that never ends takes the rest of the page."""
        end = end_of_content(self._html, name, start)
        if name in TEXT_ONLY:
            self._preformatted += name in _KEEPS_LINES
            self._text(start, end)
            self._preformatted -= name in _KEEPS_LINES
            self._builder.end()
        return end


def _unescaped(text: str) -> str:
    return unescape(text) if "&" in text else text


def is_hidden(attributes: str) -> bool:
    if not _MAY_HIDE.search(attributes):
        return False
    values = attributes_of(attributes)
    if "hidden" in values and (values["hidden"] or "").lower() != "until-found":
        return True
    return _DISPLAY_NONE.search(values.get("style") or "") is not None
