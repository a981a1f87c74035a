"""The elements of an HTML page that say something about links, in the order in which they stand.

Two readers give the same elements:

- `_elements_of` builds the tree as a browser does (lexbor), 10 us a KB;
- `tags` reads the tags off the text, one pass, without a tree, 12 us a KB.

`sitecrawl/base/native/tree.c` does the first one's work on the same tree, in a third of the time beside the parse.

Why two. The tree construction of the HTML standard has costs that a hostile page can drive up, and lexbor, like
other parsers, pays them: a start tag looks through all open elements (100,000 nested `<div>`: 12 s), a new
attribute is compared with all before it (500 KB of attributes in one tag: a minute), and after every closed block
the open formatting elements are made anew (29 KB of `<b id=1><b id=2>... <p>x<p>x`: four million elements, 1.4 GB).
So only what cannot cost more than 0.1 to 0.4 s and 100 MB gets a tree. The bounds do not look at the markup's
meaning, so there is nothing to be outwitted: a cost is at most the product of the counts that it grows with.

Invariant of `tags`: every character is looked at a bounded number of times. Its quantifiers are possessive, and
whatever is unterminated extends to the end of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from html.entities import html5
from itertools import islice
from math import isqrt
from typing import Final, NamedTuple

from selectolax import lexbor
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from sitecrawl.base.compiled import native
from sitecrawl.base.expressions import expression
from sitecrawl.base.limits import TREE_ELEMENTS, TREE_SIZE, AnyLimit
from sitecrawl.page import foreign
from sitecrawl.page.foreign import ROOTS, Nesting

_WANTED = frozenset({"a", "area", "frame", "iframe", "object", "embed", "base", "meta", "link", "title"})
_OF_HTML = _WANTED - {"a"}
_SELECTOR = ",".join(sorted(_WANTED))
_MEDIA = {"audio", "embed", "img", "input", "object", "script", "source", "style", "track", "video"}
_PARTS = frozenset({*_MEDIA, "feimage", "frame", "iframe", "image", "link", "use"})
_PARTS_SELECTOR = ",".join([*sorted(_PARTS - {"feimage"}), "feImage", "[background]", '[style*="("]'])
_PART_ATTRIBUTE = expression(r"[\t\n\f\r /](?:background|style)[\t\n\f\r ]*+=", re.IGNORECASE)
_OPTIONS = int(LexborDocumentOptions.WO_EVENTS)  # nothing listens to the tree; a fifth of the time
_WITH_TEXT = frozenset({"a", "title"})
_TEXT_READ = 2000  # characters: whitespace goes when the text is collapsed
TEXT_KEPT: Final = 200
"""Characters of a link's text, or of a title."""
MOST_ATTRIBUTES: Final = 1000
"""Of a tag, where there is no tree. Each is kept."""
_FORMATTING = expression(rb"<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\t\n\f\r />]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """What a page may have at most to get a tree."""

    max_size: int = TREE_SIZE.value
    """UTF-8 bytes. 64 KiB: at most 16,000 attributes in one tag, 0.4 s. One real page in twenty is longer."""
    max_elements: int = TREE_ELEMENTS.value
    """Formatting elements times other tags: what making the former anew can make, at 370 bytes each."""


DEFAULT: Final = TreeOptions()


class Element(NamedTuple):
    tag: str
    attributes: dict[str, str | None]
    """Names in lower case; None for an attribute without value."""
    text: str
    """Of `a` and `title`: whitespace collapsed, at most 200 characters. Of `style`: all of it."""


class Elements(NamedTuple):
    found: list[Element]
    cut: bool
    """Whether there were more."""
    no_tree: AnyLimit | None
    """Beyond which limit the page is, so that they were read off the text."""
    text: str
    """What a reader sees of the page, near enough for comparing; the markup as well where there is no tree."""
    parts: Sequence[Element] = ()
    """Those that can name what the page is made of, if they are wanted: some are among `found`, too."""


def elements(html: bytes, limit: int, options: TreeOptions = DEFAULT, *, parts: bool = False) -> Elements:
    """The first `limit` elements of a page in UTF-8 that can hold links or facts about them; with `parts` as many
    of those that can name what it is made of.
    """
    no_tree, made_of = None, list[Element]()
    read = None if parts else _read_in_c(html, limit + 1, options)
    if read is None and b"shadowrootmode" in html:
        html = _TEMPLATE.sub(_shown, html)
        read = None if parts else _read_in_c(html, limit + 1, options)
    if read is not None:
        found, text = read
    elif (no_tree := too_much(html, options)) is None:
        tree = LexborHTMLParser(html, options=_OPTIONS)
        has_foreign = foreign.may_be_in(html)
        found = [*_root_of(tree), *_elements_of(tree, _SELECTOR, limit + 1, has_foreign=has_foreign)]
        made_of = _elements_of(tree, _PARTS_SELECTOR, limit, has_foreign=has_foreign) if parts else []
        text = tree.body.text(separator=" ") if tree.body is not None else ""
    else:
        text = html.decode("utf-8", "replace")
        found = list(islice(_links_of(text), limit + 1))
        made_of = list(islice(tags(text, _is_part), limit)) if parts else []
    return Elements(found[:limit], len(found) > limit, no_tree, text, made_of)


def _read_in_c(html: bytes, limit: int, options: TreeOptions) -> tuple[list[Element], str] | None:
    """Elements and text by way of the tree; None without C, and where it must be asked first whether that costs too
    much or a template is shown.
    """
    if native is None or len(html) > options.max_size:
        return None
    return native.tree(html, isqrt(4 * options.max_elements), limit, Element, collapsed)


def too_much(html: bytes, options: TreeOptions = DEFAULT) -> AnyLimit | None:
    """The limit beyond which the tree of `html` could cost too much; None where it costs a bounded time."""
    if len(html) > options.max_size:
        return TREE_SIZE
    tags = html.count(b"<")
    if tags * tags <= 4 * options.max_elements:  # n formatting among m tags make n * (m - n) at most
        return None
    formatting = len(_FORMATTING.findall(html))
    return TREE_ELEMENTS if formatting * (tags - formatting) > options.max_elements else None


def collapsed(text: str) -> str:
    """`text` with its whitespace collapsed, and at most 200 characters of it."""
    return " ".join(text[:_TEXT_READ].split())[:TEXT_KEPT]


def _root_of(tree: LexborHTMLParser) -> Iterator[Element]:
    """`<html>`, if it declares a language. Asked for by the selector it would cost ten times as much."""
    if tree.root is not None and "lang" in (attributes := tree.root.attributes):
        yield Element("html", attributes, "")


def _elements_of(tree: LexborHTMLParser, selector: str, limit: int, *, has_foreign: bool) -> list[Element]:
    nodes = tree.css(selector)
    if not has_foreign:
        return [_element(node) for node in nodes[:limit]]
    namespaces: dict[int, tuple[str, str]] = {}
    made = (_of_namespace(_element(node), _namespace_of(node, namespaces)) for node in nodes)
    return list(islice(filter(None, made), limit))


def _element(node: LexborNode) -> Element:
    tag = (node.tag or "").lower()  # SVG has names with capitals
    return Element(tag, node.attributes, _text_of(node, tag))


def _namespace_of(node: LexborNode, known: dict[int, tuple[str, str]]) -> str:
    """What selectolax does not say. `known`, by the node, has the namespace of an element and of its content."""
    passed, parent = list[LexborNode](), node
    while parent.mem_id not in known and parent.parent is not None:
        passed.append(parent)
        parent = parent.parent
    namespace, inside = known.get(parent.mem_id, ("", ""))
    for one in reversed(passed):
        tag = (one.tag or "").lower()
        namespace = foreign.entered(inside, tag)
        inside = foreign.content_of(namespace, tag, one.attributes.get("encoding") if namespace == "math" else None)
        known[one.mem_id] = namespace, inside
    return namespace


def _text_of(node: LexborNode, tag: str) -> str:
    if tag in _WITH_TEXT:
        return collapsed(node.text_lexbor())
    return node.text_lexbor() if tag == "style" else ""


HAS_TREE: Final = native is not None and native.use_lexbor(lexbor.__file__)
"""Whether trees are read in C."""


# HTML, sections 13.2.5.32 to 40: what an attribute is, and that `>` in a quoted value does not end a tag.
_VALUE = r"""(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >]*+))"""
_ATTRIBUTE = rf"(=?+[^\t\n\f\r />=]*+)(?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+{_VALUE})?+"
_UNGROUPED = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
ATTRIBUTE: Final = expression(rf"[\t\n\f\r /]*+{_ATTRIBUTE}")
"""One of them, with what stands before it; without a name at the end."""
ATTRIBUTES: Final = rf"(?:[\t\n\f\r /]++|(?=[^>]){_UNGROUPED})*+"
"""What stands in a tag behind its name, as a pattern."""
MARKUP: Final = expression(
    rf"""<!--(?:-?>|.*?(?:--!?>|\Z))
       | <(?P<slash>/?+)(?P<name>[a-z][^\t\n\f\r />]*+)
         (?P<attributes>{ATTRIBUTES})(?P<end>>?+)
       | <[/!?][^>]*+>?+""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""A comment, a tag, or what is neither and no text."""
UNSEEN: Final = frozenset({"script", "style", "template", "noembed", "noframes", "iframe"})
"""Elements whose content is no part of the page."""
TEXT_ONLY: Final = frozenset({"title", "textarea", "xmp", "plaintext"})
"""Elements whose content is no markup."""
VOID: Final = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
"""Elements that have no content and no end (HTML, section 13.1.2)."""
_ENDS = {name: expression(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in UNSEEN | TEXT_ONLY}
_OF_USE = rf"(?i:(?:{'|'.join(sorted(_WANTED | UNSEEN | TEXT_ONLY | ROOTS))})[\t\n\f\r />]|html(?!>))"
_NO_LINKS = expression(rf"(?:[^<]*+</?+(?!{_OF_USE})[A-Za-z][^\t\n\f\r />]*+(?:>|{ATTRIBUTES}>))*+")
"""Texts and tags in which nothing begins that `_is_wanted`, no content that is no markup, and no drawing: by one
search in a fifth of the time that they take one by one."""
_ENDS["plaintext"] = expression(r"(?!)")
# HTML, sections 13.2.5.18 to 31: in a comment in a script another may stand, whose end is not that of the first.
_IN_SCRIPT = expression(r"<!--(?!-?>)|-->|<(/?+)script(?=[\t\n\f\r />])", re.IGNORECASE)
_END_OF_ANCHOR = expression(r"</?a(?=[\t\n\f\r />])", re.IGNORECASE)  # anchors do not nest
_ANY_TAG = expression(r"<[^>]*+>?")


_TEMPLATE = expression(rf"<template(?=[\t\n\f\r />])({ATTRIBUTES})".encode(), re.IGNORECASE)


def _shown(template: re.Match[bytes]) -> bytes:
    """What is as well the shadow root of its parent (HTML, section 4.12.3) by another name: its content is shown.

    The end of the template, which has none then, ends nothing.
    """
    mode = attributes_of(template[1].decode("utf-8", "replace")).get("shadowrootmode") or ""
    return b"<shadow-root%b" % template[1] if mode.lower() in {"open", "closed"} else template[0]


def _is_wanted(tag: str, attributes: str) -> bool:
    return tag in _WANTED or (tag == "html" and "lang" in attributes_of(attributes))


def _is_part(tag: str, attributes: str) -> bool:
    return tag in _PARTS or _PART_ATTRIBUTE.search(attributes) is not None


def _links_of(html: str) -> Iterator[Element]:
    """The elements of a page that can hold links or facts about them, read off its text."""
    return tags(html, _is_wanted, _NO_LINKS)


def tags(
    html: str, is_wanted: Callable[[str, str], bool], passed: re.Pattern[str] = re.compile("")
) -> Iterator[Element]:
    """The elements of a page that are wanted, by name and attributes, read off its text.

    What `passed` matches has none of them. In SVG and MathML what is no markup in HTML is markup, but for style
    sheets.
    """
    position = templates = 0
    nesting = Nesting()
    is_open = nesting.open  # looked at once a tag
    while match := MARKUP.search(html, position if is_open else _end_of(passed, html, position)):
        position = match.end()
        if not match["name"]:
            if nesting.inside and match[0].startswith("<![CDATA["):
                position = _end_of_cdata(html, match.start())
            continue
        tag, attributes = match["name"].lower(), match["attributes"]
        if tag == "template" and not nesting.inside:
            templates = max(0, templates + (-1 if match["slash"] else 1))
        elif match["slash"]:
            if is_open:
                nesting.end(tag)
        else:
            namespace = nesting.start(tag, attributes) if is_open or tag in ROOTS else ""
            is_markup = namespace and (tag != "style" or attributes.endswith("/"))
            content_end = position if is_markup else end_of_content(html, tag, position)
            if match["end"] and not templates and is_wanted(tag, attributes):  # a tag that the page ends in is none
                made = Element(tag, attributes_of(attributes), _text(html, tag, position, content_end))
                if (element := _of_namespace(made, namespace)) is not None:
                    yield element
            position = content_end


def _end_of_cdata(html: str, start: int) -> int:
    end = html.find("]]>", start)
    return end if end >= 0 else len(html)


def _of_namespace(element: Element, namespace: str) -> Element | None:
    """What an element is in its namespace: in SVG and MathML there are anchors, and no others that say something
    about links. SVG 1.1 has another name for `href`.
    """
    if not namespace:
        return element
    if element.tag == "a" and "xlink:href" in element.attributes:
        element.attributes.setdefault("href", element.attributes["xlink:href"])
    return None if element.tag in _OF_HTML else element


def _end_of(passed: re.Pattern[str], html: str, start: int) -> int:
    match = passed.match(html, start)
    return match.end() if match else start


def end_of_content(html: str, tag: str, start: int) -> int:
    """Where the content that is no markup ends, which begins at `start`: at once where the tag has none."""
    end = first_end(html, tag, start)
    return _end_of_script(html, start) if tag == "script" and html.find("<!--", start, end) >= 0 else end


def first_end(html: str, tag: str, start: int) -> int:
    """The same to who knows no comments in scripts."""
    if tag not in _ENDS:
        return start
    end = _ENDS[tag].search(html, start)
    return end.start() if end else len(html)


def _end_of_script(html: str, start: int) -> int:
    in_comment = is_nested = False
    for match in _IN_SCRIPT.finditer(html, start):
        if match[1] is None:
            in_comment, is_nested = match[0] == "<!--", is_nested and match[0] == "<!--"
        elif match[1] and not is_nested:
            return match.start()
        else:
            is_nested = in_comment and not match[1]
    return len(html)


def attributes_of(text: str) -> dict[str, str | None]:
    """The attributes that stand in a tag: names in lower case, None for one without value."""
    values: dict[str, str | None] = {}
    for match in ATTRIBUTE.finditer(text.replace("\0", "\ufffd")):
        name, equals, double, single, bare = match.groups()
        if name:
            values.setdefault(name.lower(), _decoded(double or single or bare or "") if equals else None)
            if len(values) == MOST_ATTRIBUTES:
                break
    return values


def _decoded(value: str) -> str:
    return _REFERENCE.sub(_character, value) if "&" in value else value


# HTML, sections 13.2.5.72 to 84: of a text `unescape` takes more for references, such as `&copy=`.
_REFERENCE = expression(r"&(?:#(?:[xX]0*+([0-9a-fA-F]*+)|0*+([0-9]*+))(?<![#xX]);?+|([A-Za-z0-9]++(?:;|(?!=))))")


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    if name is not None:
        return html5.get(name, reference[0])
    digits = hexadecimal or decimal or "0"
    if len(digits) > _MOST_DIGITS:
        return "\ufffd"
    number = int(digits, 16 if hexadecimal else 10)
    return unescape(f"&#{number};") or chr(number)  # a control character is one, to HTML


_MOST_DIGITS = 7
"""Of the number of a character."""


def _text(html: str, tag: str, start: int, content_end: int) -> str:
    if tag == "style":
        return html[start:content_end]
    if tag == "title":
        return collapsed(unescape(html[start : min(content_end, start + _TEXT_READ)].replace("\0", "\ufffd")))
    if tag == "a":
        end = _END_OF_ANCHOR.search(html, start, start + _TEXT_READ)
        inside = _ANY_TAG.sub("", html[start : end.start() if end else start + _TEXT_READ])
        return collapsed(unescape(inside.replace("\0", "")))
    return ""
