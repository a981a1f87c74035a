"""The text of one block as Markdown: emphasis, code, links, and what would be Markdown by chance, escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from sitecrawl.urls.url import parse_or_none

MARKS: Final = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "kbd": "`", "samp": "`", "tt": "`"}
"""What stands around the content of an element."""
LINK: Final = "a"
CODE: Final = "`"
_MOST_OPEN: Final = 8
"""Elements within one another that count: each makes its content anew."""
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


class Piece(NamedTuple):
    """A text, or where an element begins or ends in it."""

    text: str = ""
    opens: str = ""
    """Its name, if an element begins."""
    closes: str = ""
    href: str = ""
    """Of a link that begins, as it stands on the page."""


class _Open(NamedTuple):
    mark: str
    href: str
    start: int


class _Line:
    """Puts pieces together."""

    def __init__(self, address: Callable[[str], str]) -> None:
        self._address = address
        self._parts: list[str] = []
        self._open: list[_Open] = []

    def add(self, piece: Piece) -> None:
        mark = MARKS.get(piece.opens or piece.closes, LINK)
        if not (piece.opens or piece.closes):
            text = _SPACES.sub(" ", piece.text)
            self._parts.append(text if self._is_code else _escaped(text))
        elif mark == LINK and self._is_code:  # in code there is no link: the code is in the link, and goes on behind
            self._close(CODE)
            self._turn(piece, mark)
            self._begin(CODE)
        else:
            self._turn(piece, mark)

    def _turn(self, piece: Piece, mark: str) -> None:
        if piece.opens:
            self._begin(mark, piece.href)
        else:
            self._close(mark)

    def _begin(self, mark: str, href: str = "") -> None:
        if len(self._open) < _MOST_OPEN:
            self._open.append(_Open(mark, href, len(self._parts)))

    @property
    def _is_code(self) -> bool:
        return any(one.mark == CODE for one in self._open)

    def _close(self, mark: str) -> None:
        """What began within it, and has not ended, is text."""
        at = next((at for at in range(len(self._open) - 1, -1, -1) if self._open[at].mark == mark), None)
        if at is None:
            return
        opened = self._open[at]
        del self._open[at:]
        content = "".join(self._parts[opened.start :])
        del self._parts[opened.start :]
        self._parts.append(self._wrapped(content, opened))

    def _wrapped(self, content: str, opened: _Open) -> str:
        inner = content.strip()
        if opened.mark == LINK:
            whole = self._link(inner, opened.href)
        elif not inner:
            return content
        elif opened.mark == CODE:
            whole = _code(inner)
        else:
            whole = f"{opened.mark}{inner}{opened.mark}"
        before, after = content[:1].isspace(), content[-1:].isspace()
        return f"{' ' * before}{whole}{' ' * after}"

    def _link(self, text: str, href: str) -> str:
        if text.lstrip("\\") in _ANCHORS and (href.startswith("#") or not text):
            return ""
        url = self._address(href)
        return f"[{text}]({url})" if url and "](" not in text else text

    def text(self) -> str:
        """A link that has not ended ends here."""
        if any(one.mark == LINK for one in self._open):
            self._close(LINK)
        return _SPACES.sub(" ", "".join(self._parts)).strip()


def _escaped(text: str) -> str:
    for mark in "\\`*":  # by far the fastest way, and a page may have nothing else
        text = text.replace(mark, f"\\{mark}")
    return _SPECIAL.sub(lambda found: "".join([f"\\{sign}" for sign in found[0]]), text)


def inline(pieces: Iterable[Piece], address: Callable[[str], str]) -> str:
    """The line that `pieces` make. `address` gives the target of a link; empty for none."""
    line = _Line(address)
    for piece in pieces:
        line.add(piece)
    return line.text()


def at_start(text: str) -> str:
    """`text` as a line of its own: what begins a heading, a list or a quotation there is escaped."""
    if _AT_START.match(text):
        return f"\\{text}"
    return _NUMBERED.sub(r"\1\\\2", text, count=1) if _NUMBERED.match(text) else text


def _code(text: str) -> str:
    """A code span, fenced by more backticks than it contains."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence, pad = "`" * (longest + 1), " " * (text[0] == "`" or text[-1] == "`")
    return f"{fence}{pad}{text}{pad}{fence}"


def address(href: str, base: str) -> str:
    """The absolute URL of a link, as it can stand in Markdown; empty for what leads to no other page of the web."""
    url = parse_or_none(href, base) if href and not href.startswith("#") else None
    if url is None or len(url.href) > _MOST_URL:
        return ""
    return _URL_SPECIAL.sub(lambda found: _IN_URL[found[0]], url.href)
