"""What a page says of its language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.limits import TREE_SIZE
from sitecrawl.page import markup
from sitecrawl.page.directives import declared_language, is_language
from sitecrawl.page.links import read_page
from sitecrawl.page.markup import Element

PRAGMA = "<meta http-equiv=Content-Language content={}>"


def language(html: str, header: str = "") -> str | None:
    headers = [(b"Content-Type", b"text/html"), *([(b"Content-Language", header.encode())] if header else [])]
    return read_page("http://a.example/", html.encode(), headers).language


@pytest.mark.parametrize("reader", ["tree", "tags"])
@pytest.mark.parametrize(
    ("html", "header", "found"),
    [
        ("<html lang=en><p>", "de", "en"),
        ("<HTML class=x LANG='pt-BR'><p>", "", "pt"),
        ("<!doctype html><html lang=zh_Hant>", "", "zh"),
        ("<!--<html lang=fr>--><html lang=nds>", "", "nds"),
        ("<html lang=''>", "de", None),
        ("<html lang=english>", "", None),
        ("<html lang=x-klingon>", "", None),
        ("<html lang>", "", None),
        ("<html class=lang>" + PRAGMA.format("fr-CA"), "de", "fr"),
        (PRAGMA.format("'en, fr'"), "de", None),
        ("<p>", "DE-at", "de"),
        ("<p>", "en, fr", None),
        ("<p>", "", None),
    ],
)
def test_the_nearest_word_counts(
    reader: str, html: str, header: str, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root element, then the pragma, then the header; several languages are none. With a tree and without."""
    if reader == "tags":
        monkeypatch.setattr(markup, "too_much", lambda html, options: TREE_SIZE)
    assert language(html, header) == found


def test_of_what_is_no_html() -> None:
    """The header speaks for any content."""
    headers = [(b"Content-Type", b"application/pdf"), (b"content-language", b" it ")]
    assert read_page("http://a.example/", b"%PDF-", headers).language == "it"


@given(st.text(), st.lists(st.text()))
def test_whatever_is_said_is_a_language_or_none(lang: str, headers: list[str]) -> None:
    """So there are never more of them than three letters can make."""
    for found in (declared_language([Element("html", {"lang": lang}, "")], headers), declared_language([], headers)):
        assert found is None or is_language(found)
