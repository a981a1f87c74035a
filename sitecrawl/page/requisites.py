"""Requisites of a page: the images, style sheets, scripts, media and frames that a browser fetches to show it.

As the markup names them (HTML, sections 4.2.4, 4.8 and 12); what scripts would fetch is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression
from sitecrawl.page import css
from sitecrawl.page.markup import Element


class Part(NamedTuple):
    """A requisite, with its address as written."""

    kind: str
    address: str


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
KINDS: Final = frozenset({*_PARTS_OF, *_RELATIONS, "input", "background", css.IMPORT, css.SHOWN})
"""What a `Part` can be."""
HOLDERS: Final = frozenset({_STYLE_SHEET, css.IMPORT, "frame", "iframe", "object", "embed"})
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


def parts_of_style(text: str) -> Iterator[Part]:
    """Requisites that a style sheet, or an attribute `style`, names."""
    return (Part(*found) for found in css.references(text))


def relation_of(rel: str | None, kind: str | None = None) -> str | None:
    """The kind of part that a link with this `rel` leads to, loaded as a `kind` (its `as`); None for none."""
    tokens = (rel or "").lower().split()
    relation = next((relation for relation in _RELATIONS if relation in tokens), None)
    return _STYLE_SHEET if relation == "preload" and (kind or "").strip().lower() == "style" else relation


def _parts(kind: str, name: str, value: str) -> Iterator[Part]:
    found = srcset(value) if name in _SETS else (value,)
    return (Part(kind, address) for address in found if not _is_inside(address))


def _is_inside(address: str) -> bool:
    """Whether it is a fragment or a data URL, so that nothing has to be fetched."""
    start = address[:_SPACE_LOOKED_AT].lstrip()
    return start[:1] in {"", "#"} or start[:5].lower() == "data:"


_SPACE_LOOKED_AT = 64
_CANDIDATE = expression(r"[\s,]*+(?P<url>\S++)")
_DESCRIPTORS = expression(r"(?:[^,(]|\([^)]*+\)?+)*+")


def srcset(text: str) -> Iterator[str]:
    """The addresses in an attribute `srcset` (HTML, section 4.8.4.2.2), whatever their descriptors say."""
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
