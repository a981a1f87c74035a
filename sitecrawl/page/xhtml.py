"""A page in XML, such as XHTML, as the page in HTML that says the same, for readers of HTML.

What differs between the two is what their tokenizers do (XML, sections 2 and 3; HTML, section 13.2.5): in XML any
element may close itself, `<script/>` and `<title/>` included, which in HTML swallow the rest of the page; CDATA is
text; a comment ends at `-->` alone, and a processing instruction at `?>`; names have prefixes and namespaces, and
`<A>` is no `<a>`. One pass rewrites just that, and the lines stay where they are. What HTML would take for its own is
put behind a prefix, `x:`. So what is not well-formed, of which a browser shows the beginning and an error, is read as
far as HTML can be; that goes for a root without a namespace as well.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.page.markup import ATTRIBUTE, ATTRIBUTES, TEXT_ONLY, VOID, attributes_of

_XHTML: Final = "http://www.w3.org/1999/xhtml"
TYPES: Final = frozenset({"application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml"})
"""Of what is read by the rules of XML."""

_TOKEN: Final = expression(
    rf"""<!--.*?(?:-->|\Z)
       | <!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)
       | <\?.*?(?:\?>|\Z)
       | <!DOCTYPE[^\[>]*+(?:\[[^\]]*+\])?+[^>]*+>?+
       | <(?P<slash>/?+)(?P<prefix>[\w.-]++:)?+(?P<name>[\w.-]++)(?P<attributes>{ATTRIBUTES})(?P<end>>?+)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_KNOWN: Final = ("http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
_XLINK: Final = "http://www.w3.org/1999/xlink"
_NAMES: Final = "|".join(map(re.escape, (*_KNOWN, _XLINK)))
_PREFIX: Final = expression(rf"""xmlns:([\w.-]+)\s*+=\s*+["']({_NAMES})["']""")
_CAPITAL: Final = expression(r"""[\s"'][A-Z][\w.:-]*+\s*+=""")
_HOLD_MARKUP: Final = TEXT_ONLY - {"title"}
"""What is text alone to HTML, and to XML need not be."""
_ROOT: Final = expression(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\])?+[^>]*+>)*+<(?:[\w.-]++:)?+html(?=[\s>])([^>]*+)>",
    re.IGNORECASE | re.DOTALL,
)
_LOOKED_AT: Final = 8192
"""Bytes in which a root has to begin."""
_BOMS: Final = (b"\xfe\xff", b"\xff\xfe")


def is_page(body: bytes) -> bool:
    """Whether the root of some XML is that of a page."""
    head = body[:_LOOKED_AT]
    if head.startswith(_BOMS):
        head = head.decode("utf-16", "replace").encode()
    root = _ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return root is not None and _XHTML.encode() in root[1]


def as_html(text: str, content_type: str) -> str:
    """`text` itself, unless `content_type` is one of XML."""
    if content_type not in TYPES:
        return text
    return _TOKEN.sub(_Rewriter(text).rewritten, text)


class _Open(NamedTuple):
    """An element that has not ended."""

    name: str
    """With its prefix, as it stands there."""
    is_known: bool
    """Whether names without a prefix are known to HTML in it."""
    html: str
    """Its name in HTML."""
    after: str
    """What stands behind its end in HTML."""


class _Rewriter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Open] = []
        prefixes = _PREFIX.findall(text)
        self._known = {f"{prefix}:" for prefix, namespace in prefixes if namespace != _XLINK}
        self._xlinks = {prefix for prefix, namespace in prefixes if namespace == _XLINK} - {"xlink"}

    def rewritten(self, token: re.Match[str]) -> str:
        if token["data"] is not None:
            return token["data"].replace("&", "&amp;").replace("<", "&lt;")  # `>` is text: see `budget`
        if not token["end"] and token["name"]:
            return ""  # a tag that the page ends in is none
        if token["name"] is None:
            return "\n" * token[0].count("\n")
        return self._end(token) if token["slash"] else self._start(token)

    def _end(self, token: re.Match[str]) -> str:
        prefix = token["prefix"] or ""
        if self._open and self._open[-1].name == prefix + token["name"]:
            ended = self._open.pop()
            return f"</{ended.html}{token['attributes']}>{ended.after}"
        return f"</{'' if prefix in self._known else prefix}{token['name']}{token['attributes']}>"

    def _start(self, token: re.Match[str]) -> str:
        prefix, attributes = token["prefix"] or "", token["attributes"]
        is_known = self._open[-1].is_known if self._open else not prefix
        if "xmlns" in attributes and (namespace := attributes_of(attributes).get("xmlns")) is not None:
            is_known = namespace in _KNOWN
        name = self._name(token, is_known=is_known)
        before = after = ""
        if name == "title" and len(self._open) == 1 and self._open[0].html == "svg":  # the document's, not to HTML
            before, after = "</svg>", "<svg>"
        if self._xlinks or _CAPITAL.search(attributes):
            attributes = ATTRIBUTE.sub(self._attribute, attributes)
        if name.lower() in VOID:
            return f"<{name}{attributes}>"
        if attributes.endswith("/"):
            return f"{before}<{name}{attributes[:-1]}></{name}>{after}"
        self._open.append(_Open(prefix + token["name"], is_known, name, after))
        return f"{before}<{name}{attributes}>"

    def _name(self, token: re.Match[str], *, is_known: bool) -> str:
        prefix, name = token["prefix"] or "", token["name"]
        if prefix and prefix not in self._known:
            return prefix + name
        is_known = (is_known or bool(prefix)) and not name[0].isupper()  # of SVG's names a later letter may be
        return name if is_known and not self._holds_markup(name, token.end()) else f"x:{name}"

    def _holds_markup(self, name: str, start: int) -> bool:
        return name in _HOLD_MARKUP and not self._text.startswith("</", self._text.find("<", start))

    def _attribute(self, attribute: re.Match[str]) -> str:
        if not attribute[1]:
            return attribute[0]
        before, name, after = attribute[0].partition(attribute[1])
        prefix, colon, local = name.partition(":")
        if colon and prefix in self._xlinks:
            name = f"xlink:{local}"
        return f"{before}{'x:' if name[:1].isupper() else ''}{name}{after}"
