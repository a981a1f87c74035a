"""The elements of an HTML page that say something about links, in the order in which they stand.

Two readers give the same elements:

- `_tree` builds the tree as a browser does (lexbor), 10 us a KB;
- `_tags` reads the tags off the text, one pass, without a tree, 12 us a KB.

Why two. The tree construction of the HTML standard has costs that a hostile page can drive up, and lexbor, like
other parsers, pays them: a start tag looks through all open elements (100,000 nested `<div>`: 12 s), a new
attribute is compared with all before it (500 KB of attributes in one tag: a minute), and after every closed block
the open formatting elements are made anew (29 KB of `<b id=1><b id=2>... <p>x<p>x`: four million elements, 1.4 GB).
So only what cannot cost more than 0.1 to 0.4 s and 100 MB gets a tree. The bounds do not look at the markup's
meaning, so there is nothing to be outwitted: a cost is at most the product of the counts that it grows with.

Invariant of `_tags`: every character is looked at a bounded number of times. Its quantifiers are possessive, and
whatever is unterminated extends to the end of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import Final, NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

MAX_TREE_BYTES: Final = 64 << 10
"""UTF-8 bytes. At most 16,000 attributes in one tag: 0.4 s. One real page in twenty is longer."""
MAX_TREE_ELEMENTS: Final = 250_000
"""Formatting elements times other tags: what making the former anew can make, at 370 bytes each."""

_WANTED = frozenset({"a", "area", "frame", "iframe", "base", "meta", "link", "title"})
_SELECTOR = ",".join(sorted(_WANTED))
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)  # nothing listens to the tree; a fifth of the time
_WITH_TEXT = frozenset({"a", "title"})
_TEXT_READ = 2000  # characters: whitespace goes when the text is collapsed
_TEXT_KEPT = 200
_FEW_TAGS = 1000  # n formatting among m tags make n * (m - n) <= 250,000 elements, whatever they are
_FORMATTING = re.compile(rb"<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\t\n\f\r />]", re.IGNORECASE)


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str | None]
    """Names in lower case; None for an attribute without value."""
    text: str
    """Of `a` and `title`: whitespace collapsed, at most 200 characters."""


def elements(html: bytes, limit: int) -> list[Element]:
    """The first `limit` elements of a page in UTF-8 that can hold links or facts about them."""
    if can_afford_tree(html):
        return _tree(html, limit)
    return list(islice(_tags(html.decode("utf-8", "replace")), limit))


def can_afford_tree(html: bytes) -> bool:
    """Whether the tree of `html` costs a bounded time, whatever is in it."""
    if len(html) > MAX_TREE_BYTES:
        return False
    tags = html.count(b"<")
    if tags <= _FEW_TAGS:
        return True
    formatting = len(_FORMATTING.findall(html))
    return formatting * (tags - formatting) <= MAX_TREE_ELEMENTS


def collapsed(text: str) -> str:
    """`text` with its whitespace collapsed, and at most 200 characters of it."""
    return " ".join(text[:_TEXT_READ].split())[:_TEXT_KEPT]


def _tree(html: bytes, limit: int) -> list[Element]:
    found = []
    for node in LexborHTMLParser(html, options=_OPTIONS).css(_SELECTOR)[:limit]:
        tag = node.tag or ""
        found.append(Element(tag, node.attributes, collapsed(node.text_lexbor()) if tag in _WITH_TEXT else ""))
    return found


# HTML, sections 13.2.5.32 to 40: what an attribute is, and that `>` in a quoted value does not end a tag.
_VALUE = r"""(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >]*+))"""
_ATTRIBUTE = rf"(=?+[^\t\n\f\r />=]*+)(?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+{_VALUE})?+"
_UNGROUPED = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(
    rf"""<!--(?:-?>|.*?(?:--!?>|\Z))
       | <(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?:[\t\n\f\r /]++|(?=[^>]){_UNGROUPED})*+)(?P<end>>?+)
       | <[/!?][^>]*+""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
# Elements whose content is no markup, or (template) no part of the page.
_OPAQUE = frozenset({"script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe", "template"})
_ENDS = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in _OPAQUE}
_END_OF_ANCHOR = re.compile(r"</?a(?=[\t\n\f\r />])", re.IGNORECASE)  # anchors do not nest
_ANY_TAG = re.compile(r"<[^>]*+>?")


def _tags(html: str) -> Iterator[Element]:
    position = 0
    while match := _TAG.search(html, position):
        position = content_end = match.end()
        tag = (match["name"] or "").lower()
        if tag in _OPAQUE:
            end = _ENDS[tag].search(html, position)
            content_end = end.start() if end else len(html)
        if tag in _WANTED and match["end"]:  # a tag that the page ends in is none
            yield Element(tag, _attributes(match["attributes"]), _text(html, tag, position, content_end))
        position = content_end


def _attributes(text: str) -> dict[str, str | None]:
    values: dict[str, str | None] = {}
    for name, equals, double, single, bare in _ATTRIBUTES.findall(text):
        if name:
            values.setdefault(name.lower(), unescape(double or single or bare) if equals else None)
    return values


def _text(html: str, tag: str, start: int, content_end: int) -> str:
    if tag == "title":
        return collapsed(unescape(html[start : min(content_end, start + _TEXT_READ)]))
    if tag == "a":
        end = _END_OF_ANCHOR.search(html, start, start + _TEXT_READ)
        return collapsed(unescape(_ANY_TAG.sub("", html[start : end.start() if end else start + _TEXT_READ])))
    return ""
