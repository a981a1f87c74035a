"""The elements and the text that the C reads off a page's tree are those that its twin reads, whatever stands in the
page. What they are is in tests/page/test_markup.py.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import tracemalloc
from pathlib import Path

import pytest
from compiled_core import in_c
from crawling import PROJECT
from hypothesis import given
from hypothesis import strategies as st
from selectolax import lexbor

from sitecrawl.base.compiled import Native
from sitecrawl.page import markup
from sitecrawl.page.markup import DEFAULT, Element, Elements, TreeOptions, collapsed, elements

TAGS = [
    "a", "area", "b", "base", "body", "br", "frame", "frameset", "head", "html", "i", "iframe", "img", "link", "math",
    "meta", "object", "embed", "noscript", "p", "plaintext", "script", "select", "style", "svg", "table", "tbody",
    "td", "template", "textarea", "title", "tr", "x-own", "foreignObject", "desc", "mi", "annotation-xml", "g",
]  # fmt: skip
ATTRIBUTES = [
    "", " href=/x", " xlink:href=/x", " href", ' href=""', " HREF='/y' href=/z", " title=t", ' class="a b"',
    " lang=en", " name=n id=i", ' href="/&amp;&nGt;&eacute;"', " rel=nofollow", " \x00=1", " =", " a\u00e9=\u65e5",
    " /", " encoding=text/HTML",
]  # fmt: skip
TEXTS = [
    "", "text", " two \n words\t", "\u00a0\u3000wide", "\x1c\x1d\x1e\x1f", "\x0b\x0c\r", "&nbsp;&nGt;&#0;&#x80;",
    "\0", "<!-- comment -->", "<![CDATA[data]]>", "<!doctype html>", "<?pi?>", "x" * 201, "y " * 120, "z" * 2001,
    "\u00e9" * 1500 + " end", "a" * 1999 + "\u65e5\u672c",
]  # fmt: skip
OPENED = st.tuples(st.sampled_from(TAGS), st.lists(st.sampled_from(ATTRIBUTES), max_size=3).map("".join))
PIECES = (
    OPENED.map(lambda one: f"<{one[0]}{one[1]}>") | st.sampled_from(TAGS).map("</{}>".format) | st.sampled_from(TEXTS)
)
PAGES = st.lists(PIECES, max_size=40).map("".join).map(str.encode) | st.binary(max_size=60)


@pytest.fixture(scope="module")
def native() -> Native:
    """The C, which has found lexbor."""
    found = in_c()
    assert found.use_lexbor(lexbor.__file__)
    return found


def read(native: Native | None, html: bytes, limit: int = 1000, options: TreeOptions = DEFAULT) -> Elements:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "native", native)
        return elements(html, limit, options)


def of_c(native: Native, html: bytes, most_tags: int = 10**6, limit: int = 1000) -> object:
    return native.tree(html, most_tags, limit, Element, collapsed)


@given(PAGES, st.sampled_from([1000, 3, 1, 0]))
def test_any_page(native: Native, html: bytes, limit: int) -> None:
    """Elements with their order, names, attributes and texts; whether there were more; the text of the page."""
    assert of_c(native, html, limit=limit) is not None
    assert read(native, html, limit) == read(None, html, limit)


@pytest.mark.parametrize("tag", ["<template>", "<TEMPLATE a=b>", "<templates>", "<templat", "<t"])
def test_a_template_that_nobody_shows(native: Native, tag: str) -> None:
    html = f"<p>one<!-- shadowrootmod --><a href=/x>{tag}<a href=/y>two".encode()
    assert of_c(native, html) is not None
    assert read(native, html) == read(None, html)


@pytest.mark.parametrize(
    "tag", ["<template shadowrootmode=open>", "<Template\nshadowrootmode='closed'>", "<template shadowrootmode=x>"]
)
def test_a_template_that_may_be_shown(native: Native, tag: str) -> None:
    """The twin makes it another element before."""
    html = f"<p>one<a href=/x>{tag}<a href=/y>two".encode()
    assert of_c(native, html) is None
    assert read(native, html) == read(None, html)
    assert ("two" in read(native, html).text) == ("=x" not in tag)


@pytest.mark.parametrize("before", ["", "<!doctype html>", "<!doctype html public x>", "<!doctype html><frameset>"])
@pytest.mark.parametrize("begins", ["", "<!DOCTYPE html>", "<!doctype html public x>"])
def test_a_page_after_another(native: Native, before: str, begins: str) -> None:
    """Whose document it may get: whether a table ends a paragraph hangs on the doctype of its own page."""
    html = f"{begins}<p>one<table><tr><td><a href=/x>two<x-own y=z>".encode()
    other = f"{before}<p><b><x-other z=y><a href=/y>three<table><select><svg><template>".encode()
    for one in (other, html, html, other, html):
        assert read(native, one) == read(None, one)


@pytest.mark.parametrize("depth", [10, 3000])
def test_deep_pages(native: Native, depth: int) -> None:
    html = b"<div><a href=/x>t" * depth
    options = TreeOptions(max_size=1 << 20, max_elements=1 << 40)
    assert read(native, html, options=options) == read(None, html, options=options)


def test_an_element_is_what_its_twin_makes(native: Native) -> None:
    found, text = native.tree(b"<html lang=en><a href=/x>one <b>two", 9, 9, Element, collapsed) or ([], "")
    assert found == [Element("html", {"lang": "en"}, ""), Element("a", {"href": "/x"}, "one two")]
    assert [type(one) for one in found] == [Element, Element]
    assert text == "one  two"


def test_what_it_leaves_to_its_twin(native: Native) -> None:
    """What has many tags is looked at first, for what its tree may cost; and all, where there is no lexbor."""
    assert of_c(native, b"<a>" * 9, most_tags=9) is not None
    assert of_c(native, b"<a>" * 10, most_tags=9) is None
    try:
        assert not native.use_lexbor(__file__)
        assert of_c(native, b"<a>") is None
    finally:
        assert native.use_lexbor(lexbor.__file__)


def without(function: str) -> bytes:
    """The library of selectolax with another name for one of lexbor's functions."""
    library, named = Path(lexbor.__file__).read_bytes(), f"\0{function}\0".encode()
    assert named in library
    return library.replace(named, f"\0{function[:-1]}_\0".encode())


@pytest.mark.skipif(sys.platform != "linux", reason="the file is another elsewhere")
def test_a_library_without_one_function(native: Native, tmp_path: Path) -> None:
    """Whichever of those that tree.c names is missing: it takes none of them then."""
    names = re.findall(r'^    "(lxb_\w+)",$', (PROJECT / "sitecrawl/base/native/tree.c").read_text(), re.MULTILINE)
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.restype = ctypes.c_void_p
    try:
        for name in names:
            (file := tmp_path / f"{name}.so").write_bytes(without(name))
            assert dlopen(bytes(file), os.RTLD_LAZY)
            assert not native.use_lexbor(str(file))
    finally:
        assert native.use_lexbor(lexbor.__file__)
    assert len(names) == 20


@pytest.mark.parametrize(
    "wrong", [(b"", 1, 1, dict, collapsed), (b"", 1, 1, None, collapsed), ("", 1, 1, Element, collapsed)]
)
def test_wrong_input(native: Native, wrong: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        native.tree(*wrong)


def test_an_error_in_the_middle(native: Native) -> None:
    """Of the function that collapses what is not all ASCII."""

    def fails(text: str) -> str:
        raise KeyError(text)

    for _ in range(100):
        with pytest.raises(KeyError, match="\u00e9"):
            native.tree("<a>x</a><a>\u00e9</a>".encode(), 9, 9, Element, fails)


def test_nothing_is_kept(native: Native) -> None:
    """Of thousands of pages neither memory nor references."""
    html = ("<html lang=en>" + "<a href=/x title='t'>text \u00e9</a><meta name=n content=c>" * 50).encode()
    for _ in range(50):
        of_c(native, html)
    gc.collect()
    before = sys.getrefcount(Element), sys.getrefcount(collapsed), sys.getrefcount(html)
    tracemalloc.start()
    try:
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(300):
            of_c(native, html)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - first < 20_000
    finally:
        tracemalloc.stop()
    assert (sys.getrefcount(Element), sys.getrefcount(collapsed), sys.getrefcount(html)) == before
