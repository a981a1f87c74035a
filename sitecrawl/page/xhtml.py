"""A page in XML, such as XHTML, as the page in HTML that says the same, for readers of HTML.

What differs between the two is what their tokenizers do (XML, sections 2 and 3; HTML, section 13.2.5): in XML any
element may close itself, `<script/>` and `<title/>` included, which in HTML swallow the rest of the page; CDATA is
text; a comment ends at `-->` alone, and a processing instruction at `?>`; names have prefixes. One pass rewrites just
that, and the lines stay where they are. So what is not well-formed, of which a browser shows the beginning and an
error, is read as far as HTML can be.
"""

from __future__ import annotations

import re
from typing import Final

from sitecrawl.page.markup import ATTRIBUTES, VOID

XHTML: Final = "http://www.w3.org/1999/xhtml"
TYPES: Final = frozenset({"application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml"})
"""Of what is read by the rules of XML."""

_TOKEN: Final = re.compile(
    rf"""<!--.*?(?:-->|\Z)
       | <!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)
       | <\?.*?(?:\?>|\Z)
       | <!DOCTYPE[^\[>]*+(?:\[[^\]]*+\])?+[^>]*+>?+
       | <(?P<slash>/?+)(?P<prefix>[\w.-]++:)?+(?P<name>[\w.-]++)(?P<attributes>{ATTRIBUTES})(?P<end>>?+)""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_KNOWN: Final = ("http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
_PREFIX: Final = re.compile(rf"""xmlns:([\w.-]+)\s*+=\s*+["'](?:{"|".join(map(re.escape, _KNOWN))})["']""")
_ROOT: Final = re.compile(
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
    return root is not None and XHTML.encode() in root[1]


def as_html(text: str, content_type: str) -> str:
    """`text` itself, unless `content_type` is one of XML."""
    if content_type not in TYPES:
        return text
    known = {f"{prefix}:" for prefix in _PREFIX.findall(text)}

    def rewritten(token: re.Match[str]) -> str:
        if token["data"] is not None:
            return token["data"].replace("&", "&amp;").replace("<", "&lt;")  # `>` is text: see `budget`
        if not token["end"] and token["name"]:
            return ""  # a tag that the page ends in is none
        if token["name"] is None:
            return "\n" * token[0].count("\n")
        prefix = token["prefix"] or ""
        name = token["name"] if prefix in known else prefix + token["name"]
        attributes = token["attributes"]
        if token["slash"] or not attributes.endswith("/") or name.lower() in VOID:
            return f"<{token['slash']}{name}{attributes}>"
        return f"<{name}{attributes[:-1]}></{name}>"

    return _TOKEN.sub(rewritten, text)
