"""SVG and MathML in HTML pages (HTML, section 13.2.6.5).

A namespace is "svg", "math", or "" for HTML. An element has that of the content it is in; `<svg>` and `<math>` in
HTML begin their own, and the content of some of their elements, such as `<foreignObject>`, is HTML again.
"""

from __future__ import annotations

import re
from typing import Final

from sitecrawl.base.expressions import expression

ROOTS: Final = frozenset({"svg", "math"})
_HOLDS_HTML: Final = {
    "svg": frozenset({"desc", "foreignobject", "title"}),
    "math": frozenset({"mi", "mn", "mo", "ms", "mtext"}),
}
_MAY_HOLD_HTML: Final = "annotation-xml"
_ENCODINGS: Final = frozenset({"text/html", "application/xhtml+xml"})
_STARTS_OF_HTML: Final = frozenset([
    "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1",
    "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol",
    "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul",
    "var",
])  # fmt: skip
"""HTML tags that end enclosing SVG and MathML."""
_ENDS_OF_HTML: Final = frozenset({"br", "p"})


def may_be_in(html: bytes) -> bool:
    """Whether a page could have SVG or MathML."""
    html = html.lower()
    return b"<svg" in html or b"<math" in html


def entered(inside: str, tag: str) -> str:
    """The namespace of an element whose parent's content is of the namespace `inside`."""
    return tag if not inside and tag in ROOTS else inside


def content_of(namespace: str, tag: str, encoding: str | None) -> str:
    """The namespace of the content of an element; `encoding` is its attribute."""
    if tag == _MAY_HOLD_HTML and namespace == "math":
        return "" if (encoding or "").lower() in _ENCODINGS else namespace
    return "" if tag in _HOLDS_HTML.get(namespace, ()) else namespace


class Nesting:
    """Open SVG and MathML elements, tracked tag by tag: as in the tree, if they are nested well."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []
        """Open roots and elements that may hold HTML, each with its content's namespace."""

    @property
    def inside(self) -> str:
        """Namespace of the next content."""
        return self.open[-1][1] if self.open else ""

    def start(self, tag: str, attributes: str) -> str:
        """The namespace of the element that a tag begins."""
        if tag in _STARTS_OF_HTML:
            return self._leave()
        namespace = entered(self.inside, tag)
        if namespace and not attributes.endswith("/"):
            encoding = _ENCODING.search(attributes) if tag == _MAY_HOLD_HTML else None
            inside = content_of(namespace, tag, encoding and encoding[1])
            if tag in ROOTS or tag == _MAY_HOLD_HTML or not inside:
                self.open.append((tag, inside))
        return namespace

    def end(self, tag: str) -> None:
        if tag in _ENDS_OF_HTML:
            self._leave()
        names = [name for name, _ in self.open[:-3:-1]]  # all would cost a page of such tags the square of them
        if tag in names:
            del self.open[-1 - names.index(tag) :]

    def _leave(self) -> str:
        while self.inside:
            self.open.pop()
        return ""


_ENCODING: Final = expression(r"""(?<![^\s/])encoding\s*+=\s*+["']?+([^\s"'>]*+)""", re.IGNORECASE)
