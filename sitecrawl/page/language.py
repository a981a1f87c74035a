"""The language that a page declares, which need not be the one that it is written in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.page.markup import Element

_PRIMARY: Final = expression(r"\s*+([A-Za-z]{2,3})(?![A-Za-z0-9])")


def is_language(value: str) -> bool:
    """Whether it is one that `declared_language` can give."""
    return value.isascii() and value.isalpha() and value.islower() and 2 <= len(value) <= 3


def declared_language(markup: Iterable[Element], headers: Iterable[str]) -> str | None:
    """The primary subtag (RFC 5646), lower case: of `<html lang>`, of `<meta http-equiv=content-language>`, or of the
    Content-Language `headers`; the first of these that is there counts (HTML, section 3.2.6.2). None where it names
    no language, or several.
    """
    pragma = None
    for element in markup:
        if element.tag == "html":
            return primary_language(element.attributes["lang"] or "")
        if pragma is None and element.tag == "meta" and _is_pragma(element):
            pragma = element.attributes.get("content") or ""
    return primary_language(",".join(headers) if pragma is None else pragma)


def _is_pragma(element: Element) -> bool:
    return (element.attributes.get("http-equiv") or "").lower() == "content-language"


def primary_language(tag: str) -> str | None:
    """The primary subtag of one `tag`, lower case; None where it is none, or a list of several."""
    found = _PRIMARY.match(tag)
    return found[1].lower() if found is not None and "," not in tag else None
