"""Requisites of a page: the images, style sheets, scripts, media and frames that a browser fetches to show it.

As the markup names them (HTML, sections 4.2.4, 4.8 and 12); what scripts would fetch is unknown.

In style sheets and attributes `style` they are what `url()`, `image-set()` and `@import` name. Of CSS's tokens (CSS
Syntax 3, section 4.3) only those matter that hold an address, or could hide one: comments, strings, `url()`. So no
tree is made: tinycss2 takes 1.6 s and 40 MB for a megabyte of rules, this 0.25 s and no memory. What is left out for
it: names that are written with escapes (`\\75rl(x)`), which nobody writes.

Invariant: every character is looked at a bounded number of times. The quantifiers are possessive, and whatever is
unterminated extends to the end of the sheet, as the standard has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.page.markup import Element

_BREAK = r"\n\r\f"
_ESCAPED = rf"\\(?:[0-9a-f]{{1,6}}\s?|[^{_BREAK}])"
_TOKEN = expression(
    rf"""/\*.*?(?:\*/|\Z)
       | (?<![\w-])url\([\s]*+(?P<url>(?:[^"'()\\\s]|{_ESCAPED})*+)[\s]*+(?:\)|\Z)
       | (?P<function>(?<![\w-])(?:url|src|(?:-webkit-)?image-set)\([\s]*+)(?=["']|(?<=image-set\())
       | (?<![\w-])url\((?:[^)\\]|\\.)*+\)?
       | (?P<quoted>"(?P<double>(?:[^"\\{_BREAK}]|\\.)*+)|'(?P<single>(?:[^'\\{_BREAK}]|\\.)*+))["']?
       | \\.
       | @(?P<rule>import|namespace|charset)(?![\w-])
       | (?P<mark>[(){{}};])""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ESCAPE = expression(rf"\\(?:([0-9a-f]{{1,6}})(?:\r\n|\s)?|(\r\n|[{_BREAK}])|(.))", re.IGNORECASE | re.DOTALL)
_LAST_CHARACTER = 0x10FFFF
_MAX_LENGTH: Final = 4 << 20
"""Most characters read, a second of work; longer than any sheet written by a person."""


_IMPORT: Final = "import"
"""Kind of another style sheet that a style sheet imports."""
_SHOWN: Final = "style"
"""Kind of what a rule of a style sheet shows."""


class Part(NamedTuple):
    """A requisite, with its address as written."""

    kind: str
    address: str


class _State:
    """State of the tokenizer."""

    rule = ""
    """At-rule whose address has yet to come."""
    depth = 0
    """Open parentheses of `image-set(`, its own included; 0 outside."""
    is_wanted = False
    """Whether the next string is an address."""


def parts_of_style(css: str) -> Iterator[Part]:
    """The addresses in `css`, a style sheet or the declarations of a `style` attribute, in their order. Of more than
    `_MAX_LENGTH` characters the rest is not read.
    """
    state = _State()
    for token in _TOKEN.finditer(css, 0, _MAX_LENGTH):
        if token["url"] is not None:
            found = _reference(state, css, token.start("url"), token.end("url"))
        elif token["quoted"] is not None:
            is_address = state.is_wanted or state.depth == 1 or state.rule == _IMPORT
            start, end = token.span("double" if token["double"] is not None else "single")
            found = _reference(state, css, start, end) if is_address else None
            state.is_wanted = False
        else:
            found = None
            _move(state, token)
        if found is not None:
            yield found


def _move(state: _State, token: re.Match[str]) -> None:
    """Note a token that is no address."""
    if token["function"]:
        is_set = "image-set" in token["function"].lower()
        state.is_wanted = not is_set
        state.depth += is_set or state.depth > 0
    elif token["rule"]:
        state.rule = token["rule"].lower()
    elif token["mark"] in {";", "{", "}"}:
        state.rule, state.depth = "", 0
    elif token["mark"] and state.depth:
        state.depth += 1 if token["mark"] == "(" else -1


def _reference(state: _State, css: str, start: int, end: int) -> Part | None:
    """The reference from `start` to `end`; None for a namespace, a fragment, or a data URL."""
    rule, state.rule = state.rule, ""
    if start == end or css[start] == "#" or rule not in {"", _IMPORT} or css[start : start + 5].lower() == "data:":
        return None
    text = css[start:end]
    return Part(rule or _SHOWN, _ESCAPE.sub(_unescaped, text) if "\\" in text else text)


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        number = int(escape[1], 16)
        return chr(number) if 0 < number <= _LAST_CHARACTER and not 0xD800 <= number < 0xE000 else "\ufffd"
    return escape[3] or ""


_STYLE_SHEET: Final = "stylesheet"
_PARTS_OF: Final = {
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "script": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "frame": ("src",),
    "iframe": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
    "feimage": ("href", "xlink:href"),
}
"""The attributes of elements that name a part; `image`, `use` and `feimage` are those of SVG."""
_SETS = frozenset({"srcset", "imagesrcset"})
_RELATIONS: Final = (
    "stylesheet",
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "mask-icon",
    "modulepreload",
    "preload",
    "manifest",
)
"""Of a `<link>`, those by which its target is a part of the page. The first that it has is the part's kind."""
KINDS: Final = frozenset({*_PARTS_OF, *_RELATIONS, "input", "background", _IMPORT, _SHOWN})
"""What a `Part` can be."""
HOLDERS: Final = frozenset({_STYLE_SHEET, _IMPORT, "frame", "iframe", "object", "embed"})
"""Kinds of parts that may be made of others."""
_TAGS: Final = frozenset({*_PARTS_OF, "link", "input", "style"})
"""Elements that can name a part; any other can by an attribute `style` or `background`."""


def parts_of(element: Element) -> Iterator[Part]:
    """Requisites that `element` names."""
    tag, attributes = element.tag, element.attributes
    for name in _PARTS_OF.get(tag, ()):
        if value := attributes.get(name):
            yield from _parts(tag, name, value)
    if tag in _OTHERS:
        yield from _OTHERS[tag](element)
    if value := attributes.get("background"):
        yield from _parts("background", "background", value)
    if value := attributes.get("style"):
        yield from parts_of_style(value)


def relation_of(rel: str | None, kind: str | None = None) -> str | None:
    """The kind of part that a link with this `rel` leads to, loaded as a `kind` (its `as`); None for none."""
    tokens = (rel or "").lower().split()
    relation = next((relation for relation in _RELATIONS if relation in tokens), None)
    return _STYLE_SHEET if relation == "preload" and (kind or "").strip().lower() == "style" else relation


def _parts(kind: str, name: str, value: str) -> Iterator[Part]:
    found = _srcset(value) if name in _SETS else (value,)
    return (Part(kind, address) for address in found if not _is_inside(address))


def _is_inside(address: str) -> bool:
    """Whether it is a fragment or a data URL, so that nothing has to be fetched."""
    start = address[:_SPACE_LOOKED_AT].lstrip()
    return start[:1] in {"", "#"} or start[:5].lower() == "data:"


_SPACE_LOOKED_AT = 64
_CANDIDATE = expression(r"[\s,]*+(?P<url>\S++)")
_DESCRIPTORS = expression(r"(?:[^,(]|\([^)]*+\)?+)*+")


def _srcset(text: str) -> Iterator[str]:
    """The addresses in an attribute `_srcset` (HTML, section 4.8.4.2.2), whatever their descriptors say."""
    position = 0
    while match := _CANDIDATE.match(text, position):
        address = match["url"]
        position = match.end()
        if address.endswith(","):
            address = address.rstrip(",")
        elif descriptors := _DESCRIPTORS.match(text, position):
            position = descriptors.end()
        yield address


def _of_link(element: Element) -> Iterator[Part]:
    attributes = element.attributes
    kind = relation_of(attributes.get("rel"), attributes.get("as"))
    if kind is not None:
        for name in ("href", "imagesrcset"):
            if value := attributes.get(name):
                yield from _parts(kind, name, value)


def _of_input(element: Element) -> Iterator[Part]:
    source = element.attributes.get("src")
    if source and (element.attributes.get("type") or "").strip().lower() == "image":
        yield from _parts("input", "src", source)


def _of_style(element: Element) -> Iterator[Part]:
    return parts_of_style(element.text)


_OTHERS: dict[str, Callable[[Element], Iterator[Part]]] = {"link": _of_link, "input": _of_input, "style": _of_style}
