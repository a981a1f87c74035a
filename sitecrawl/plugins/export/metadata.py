"""What a page says of itself to machines: JSON-LD, Microdata, and OpenGraph with its relatives.

As it stands there, and not judged: which of it is true a reader has to know. JSON-LD is a list of what its scripts
hold. Microdata is read as HTML says (WHATWG HTML, section 5.2.4), into the JSON that it defines (section 5.4). Of
`<meta>` the properties of OpenGraph and of Twitter's cards are taken, by name.

A page costs a bounded number of steps: an element may belong to any number of items, by `itemref`, and its text to
any number of elements around it, so both are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from sitecrawl.base.limits import EXTRACT_SIZE
from sitecrawl.pagestore.capture import clean_text
from sitecrawl.plugins.export.formats import Data
from sitecrawl.plugins.export.sources import PageText
from sitecrawl.urls.url import parse_or_none

_PROPERTY = re.compile(r"(?:og|article|book|profile|music|video|product|fb|twitter):[\w:.-]{1,100}", re.IGNORECASE)
_MOST_STEPS: Final = 200_000
"""Elements that are looked at for items."""
_MOST_CHARACTERS: Final = 2_000_000
"""Of their texts."""
_MOST_DEPTH: Final = 50
"""Of what is within something else, in Microdata and JSON-LD."""
_URLS: Final = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_VALUES: Final = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}
_UNSEEN: Final = frozenset({"script", "style", "template"})


class Metadata:
    """Of one page. `text` is what is read of it; of more than `EXTRACT_SIZE` nothing is."""

    def __init__(self, url: str, text: str, content_type: str) -> None:
        self._page = PageText(url, text if len(text) <= EXTRACT_SIZE.value else "", content_type)

    @property
    def jsonld(self) -> Data | None:
        found = [value for value in self._page.data.scripts if _is_flat(value)]
        return found or None

    @property
    def opengraph(self) -> Data | None:
        """Names in lower case; of one that comes several times a list."""
        found: dict[str, list[str]] = {}
        root = self._page.root
        for element in () if root is None else root.iter("meta"):
            name, content = element.get("property") or element.get("name") or "", element.get("content")
            if content is not None and _PROPERTY.fullmatch(name.strip()):
                found.setdefault(name.strip().lower(), []).append(clean_text(content.strip()))
        return {name: values[0] if len(values) == 1 else values for name, values in found.items()} or None

    @property
    def microdata(self) -> Data | None:
        return _Microdata(self._page).items() or None


class _Microdata:
    def __init__(self, page: PageText) -> None:
        self._page = page
        self._steps = _MOST_STEPS
        self._characters = _MOST_CHARACTERS
        self._named: dict[str, Any] | None = None

    def items(self) -> list[dict[str, Any]]:
        root = self._page.root
        found = () if root is None else root.iter()
        return [self._item(one, ()) for one in found if _has(one, "itemscope") and not _has(one, "itemprop")]

    def _item(self, element: Any, within: tuple[Any, ...]) -> dict[str, Any]:
        properties: dict[str, list[Any]] = {}
        for one in self._properties(element):
            value = self._value(one, (*within, element))
            for name in dict.fromkeys(one.get("itemprop").split()):
                properties.setdefault(name, []).append(value)
        said = {"type": (element.get("itemtype") or "").split(), "id": self._address(element.get("itemid"))}
        return {**{name: value for name, value in said.items() if value}, "properties": properties}

    def _properties(self, item: Any) -> Iterator[Any]:
        """The elements that are properties of `item`, in their order, those that it refers to behind the others."""
        pending = list(reversed([*item, *self._referred(item)]))
        met = {item}
        while pending and self._steps:
            self._steps -= 1
            element = pending.pop()
            if element in met or not isinstance(element.tag, str):
                continue
            met.add(element)
            if not _has(element, "itemscope"):
                pending.extend(reversed(element))
            if (element.get("itemprop") or "").strip():
                yield element

    def _referred(self, item: Any) -> list[Any]:
        if not (names := (item.get("itemref") or "").split()):
            return []
        if self._named is None:
            self._named = {}
            for element in self._page.root.iter():
                if isinstance(element.tag, str) and (name := element.get("id")):
                    self._named.setdefault(name, element)
        return [self._named[name] for name in dict.fromkeys(names) if name in self._named]

    def _value(self, element: Any, within: tuple[Any, ...]) -> Any:
        if _has(element, "itemscope"):
            is_circle = element in within or len(within) > _MOST_DEPTH
            return "" if is_circle else self._item(element, within)
        tag = element.tag
        if tag in _URLS:
            return self._address(element.get(_URLS[tag]))
        value = element.get(_VALUES[tag]) if tag in _VALUES else element.get("content")
        return clean_text(value.strip() if value is not None else self._text(element))

    def _address(self, href: str | None) -> str:
        url = parse_or_none(href, self._page.base_url) if href else None
        return clean_text(url.href) if url is not None else clean_text(href or "").strip()

    def _text(self, element: Any) -> str:
        parts: list[str] = []
        for one in element.iter():
            inside = one.text if isinstance(one.tag, str) and one.tag not in _UNSEEN else None
            behind = one.tail if one is not element else None
            parts += [inside or "", behind or ""]
            self._characters -= 1 + len(parts[-1]) + len(parts[-2])
            if self._characters < 0:
                break
        return " ".join("".join(parts).split())


def _has(element: Any, name: str) -> bool:
    return isinstance(element.tag, str) and element.get(name) is not None


def _is_flat(value: Any) -> bool:
    """Whether nothing in it is deeper than what writes it can go."""
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return True
    return False
