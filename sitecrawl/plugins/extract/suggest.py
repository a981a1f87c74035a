"""Rules out of two example pages: what stands in one place on both, and is another text on each.

A place is a tag with its first class, `itemprop` or id that is there once on every page; so what a site says on all
of its pages is none. What JSON-LD says comes first, then the pages' places in their order. In an answer in JSON it is
the list of objects, or the answer itself. A person renames and deletes what is proposed, and tries it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from os.path import commonprefix
from typing import Any, Final
from urllib.parse import urlsplit

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.export.sources import PageText

_MOST: Final = 20
"""Fields."""
_LONGEST: Final = 2_000
"""Characters of a text."""
_NAME = re.compile(r"[A-Za-z][\w-]*")
_CURRENCY: Final = r"(?:[A-Z]{3}|kr\.?|zł|[^\w-]{0,2})"
_NUMBER = re.compile(rf"{_CURRENCY}\s?\d[\d.,]*\s?{_CURRENCY}")
"""An amount. In `Bike 7` and `SKU-7` the words belong to it."""
_PLAIN: Final = frozenset({"h1", "time"})
"""Tags that need no class."""

_Field = tuple[str, str]
"""The name that is proposed, and the source in YAML's flow style."""


def suggested(pages: Sequence[PageText]) -> str:
    """A file of rules. Raises `OptionError` where nothing can be proposed."""
    answers = [page.answer for page in pages]
    each, fields = "", list[_Field]()
    if all(isinstance(answer, dict | list) for answer in answers):
        each, fields = _of_json(answers[0])
    else:
        fields = [*_linked(pages), *_placed(pages)][:_MOST]
    if not fields:
        raise OptionError(
            "These pages have nothing in one place that differs: take two pages of one kind, as two products"
        )
    lines = ["rules:", "  - name: thing"]
    path = commonprefix([urlsplit(page.url).path for page in pages])  # noqa: RUF071 - characters, and no folders
    if len(pages) > 1 and path not in ("", "/"):
        lines.append(f"    url: {json.dumps(re.escape(path))}")
    lines += [f"    each: {each}"] if each else []
    return "\n".join([*lines, "    fields:", *(f"      {name}: {source}" for name, source in _unique(fields))]) + "\n"


def _unique(fields: Sequence[_Field]) -> Iterator[_Field]:
    taken = Counter[str](["rule", "url"])
    for name, source in fields:
        plain = re.sub(r"\W+", "_", name.replace("-", "_")).strip("_").lower() or "field"
        taken[plain] += 1
        yield (plain if taken[plain] == 1 else f"{plain}_{taken[plain]}"), source


def _of_json(answer: Any) -> tuple[str, list[_Field]]:
    """`each`, if there is a list of objects, and what an object says."""
    path, start = "", answer
    if isinstance(answer, dict):
        lists = [key for key, value in answer.items() if _are_objects(value)]
        path, start = (lists[0], answer[lists[0]]) if lists else ("", answer)
    if isinstance(start, list):
        keys = dict.fromkeys(key for one in start[:100] if isinstance(one, dict) for key in one)
        source = f"{_quoted(path)}[]" if path else "[]"
        return _flow("json", source), [(key, _flow("json", _quoted(key))) for key in list(keys)[:_MOST]]
    return "", [(key, _flow("json", _quoted(key))) for key in list(start)[:_MOST]]


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _quoted(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key)


def _flow(key: str, text: str, *more: str) -> str:
    return "{" + ", ".join([f"{key}: {json.dumps(text)}", *more]) + "}"


def _linked(pages: Sequence[PageText]) -> Iterator[_Field]:
    """What JSON-LD says of things, one of a type on each page."""
    for kind in ("Product", "Article", "NewsArticle", "BlogPosting", "Recipe", "Event", "JobPosting"):
        things = [page.data.of_type(kind) for page in pages]
        if all(len(found) == 1 for found in things):
            for key, value in things[0][0].items():
                others = [found[0].get(key) for found in things]
                if _NAME.fullmatch(key) and isinstance(value, str | int | float) and _differ(others):
                    yield key, _flow("jsonld", f"{kind}.{key}")


def _differ(values: Sequence[Any]) -> bool:
    return all(value not in (None, "") for value in values) and (len(values) == 1 or len(set(map(str, values))) > 1)


def _placed(pages: Sequence[PageText]) -> Iterator[_Field]:
    found = [_places(page) for page in pages]
    for selector, (name, text) in found[0].items():
        texts = [text, *(other[selector][1] for other in found[1:] if selector in other)]
        if len(texts) == len(pages) and _differ(texts):
            is_number = all(_NUMBER.fullmatch(one) for one in texts)
            yield name, _flow("css", selector, *(["regex: '[\\d.,]+'"] if is_number else []))


def _places(page: PageText) -> dict[str, tuple[str, str]]:
    """By selector: a name, and the text; of what is there once."""
    met, places = Counter[str](), dict[str, tuple[str, str]]()
    for element in () if page.root is None else page.root.iter("*"):
        if (place := _place(element)) is None:
            continue
        selector, name = place
        met[selector] += 1
        has_own = element.text is not None and element.text.strip()
        text = " ".join("".join(element.itertext()).split()) if has_own else ""
        if 0 < len(text) <= _LONGEST:
            places[selector] = name, text
    return {selector: place for selector, place in places.items() if met[selector] == 1}


def _place(element: Any) -> tuple[str, str] | None:
    tag = element.tag
    if not isinstance(tag, str) or tag in {"script", "style", "option", "title"}:
        return None
    if prop := _first_name(element.get("itemprop")):
        return f'[itemprop="{prop}"]', prop
    if word := _first_name(element.get("class")):
        return f"{tag}.{word}", word
    if name := _first_name(element.get("id")):
        return f"{tag}#{name}", name
    return (tag, tag) if tag in _PLAIN else None


def _first_name(text: str | None) -> str:
    return next((word for word in (text or "").split() if _NAME.fullmatch(word)), "")
