"""The two readers of a page's elements: they agree, and neither can be made to work without bound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.limits import TREE_SIZE
from sitecrawl.page import markup
from sitecrawl.page.markup import elements, too_much

PAGES = [
    b"<a href=/x>text</a>",
    b'<A HREF="/x" Rel=nofollow>a <b>bold</b>\n text</A>',
    b"<a href='/x?a=1&amp;b=2'>&lt;&eacute;&gt;</a>",
    b"<a href = /x/y/ title>t</a>",
    b"<a/href=/x/>t</a>",
    b"<a href=/x href=/y>first counts</a>",
    b"<a name=n>no href</a><a href>no value</a><a href=''>empty</a>",
    b"<!-- <a href=/no> --><a href=/yes>y</a><!--><a href=/yes>y</a><!-- <a href=/no>",
    b"<script>'<a href=/no>'</script><style><a href=/no></style><a href=/yes>y</a>",
    b"<textarea><a href=/no></textarea><title>T <a href=/no></title><a href=/yes>y</a>",
    b"<title>\n A  title </title><noscript><a href=/yes>y</a></noscript>",
    b"<template><a href=/no></template><a href=/yes>y</a>",
    b"<img alt='<a href=/no>'><a title='>' href=/yes>y</a>",
    b"<frameset><frame src=/f1><frame src=/f2></frameset><noframes><a href=/no></noframes>",
    b"<iframe src=/f><a href=/no></iframe><area href=/x alt=y>",
    b"<base href=/b><meta http-equiv=refresh content='0; url=/r'><link rel=canonical href=/c>",
    b"<?php <a href=/no> ?><a href=/yes>y</a></a href=/no>",
    b'<a href="/unterminated>text',
    b"<p>5 < 6 <a href=/yes>y</a>",
    b"<svg><a href=/yes>y</a></svg>",
    b"<!doctype html><html class=x lang=en><a href=/yes>y</a>",
    b"<html class=x><a href=/yes>y</a>",
    "<a href=/é>è</a>".encode(),
    b"<a href=/\xff>\xff</a>",
    b"<a href=/x?a=1&amp;y=1&copy=2&notit;&copyx&copy&copy;&notin;&bogus;&AMP>references</a>",
    b"<a href='/&#65&#x42;&#000000000067&#xd&#0;&#1;&#x80;&#xd800;&#xffff;&#x110000;&#;&#x;&#xg'>numbers</a>",
    b"<a href='/&#" + b"1" * 5000 + b";'>one that Python refuses</a>",
    b"<a \0href=/no href='/yes\0'>t\0</a><title>T\0</title>",
    b"<script><!--<script></script><a href=/no>--></script><a href=/yes>y</a>",
    b"<script><!--<script></script><!--></script><a href=/yes>y</a>",
    b"<script><!-- --><script></script><a href=/yes>y</a><!-- --></script>",
    b"<script><!--><script></script><a href=/yes>y</a>",
    b"<script><!-- <scripts></script><a href=/yes>y</a>",
    b"<script><!-- <SCRIPT/></script\n></script><a href=/yes>y</a>",
    b"<script><!--<script></script><a href=/no>",
    b"<a href=/yes>y</a><plaintext></plaintext><a href=/no>",
    b"<svg><title>no title</title><base href=/no/></svg><title>T</title><a href=/yes>y</a>",
    b"<svg><link rel=next href=/no><area href=/no><iframe src=/no></iframe></svg><iframe src=/f></iframe>",
    b"<svg><a xlink:href=/1 /><a href=/2 xlink:href=/no /></svg><a xlink:href=/3>none</a>",
    b"<svg><foreignObject><a xlink:href=/3>none</a><link href=/yes></foreignObject><link href=/no></svg>",
    b"<svg><desc><title>T</title></desc><title><a href=/yes>y</a></title><title></title></svg><title>T</title>",
    b"<svg><textarea><a href=/yes>y</a></textarea><script>'<a href=/yes>y</a>'</script><title/></svg>",
    b"<svg><![CDATA[ > <a href=/no> ]]><style>a { b: c }</style><style/><a href=/yes>y</a></svg>",
    b"<svg><![CDATA[ > <a href=/no>",
    b"<![CDATA[ > <a href=/yes>y</a> ]]>",
    b"<svg><g><p><base href=/yes><title>T</title><svg/><base href=/yes>",
    b"<p><svg></p><base href=/yes>",
    b"<svg><svg></svg><base href=/no></svg><base href=/yes>",
    b"<svg><desc><svg></svg><base href=/yes></desc><base href=/no></svg></svg><base href=/yes>",
    b"<svg><desc></svg><base href=/yes>",
    b"<math><title>no title</title><mi><base href=/yes></mi><a href=/yes>y</a><base href=/no></math>",
    b"<math><annotation-xml><base href=/no></annotation-xml><annotation-xml encoding=text/html><base href=/yes>",
    b"<math><annotation-xml encoding=text/html><math><annotation-xml></annotation-xml><base href=/no></math></math>",
    b"<svg><template><a href=/yes>y</a></template></svg><a href=/yes>y</a>",
    b"<template><template></template><a href=/no></template></template><a href=/yes>y</a>",
    b"<template><script>'</template>'</script><a href=/no></template><a href=/yes>y</a>",
    b"<a href=/yes>y</a><template><a href=/no>",
    b"<div><template shadowrootmode=open><a href=/yes>y</a></template><a href=/yes>y</a></div><template><a href=/no>",
    b"<x-own><TEMPLATE class='>' shadowrootmode='Closed'><p><a href=/yes>y</a></TEMPLATE></x-own><a href=/yes>y</a>",
    b"<div><template shadowrootmode=none><a href=/no></template></div><template shadowrootmode><a href=/no>",
    b"<div><template title=' shadowrootmode=open'><a href=/no></template></div>",
    b"",
]


def by_tags(html: bytes, monkeypatch: pytest.MonkeyPatch) -> list[markup.Element]:
    with monkeypatch.context() as patch:
        patch.setattr(markup, "native", None)
        patch.setattr(markup, "too_much", lambda html, options: TREE_SIZE)
        return elements(html, 1000).found


@pytest.mark.parametrize("html", PAGES)
def test_both_readers_agree(html: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree and the tags of a page give the same elements, attributes and texts."""
    assert too_much(html) is None
    assert elements(html, 1000).found == by_tags(html, monkeypatch)


@pytest.mark.parametrize("html", PAGES)
def test_only_what_is_a_link(html: bytes) -> None:
    """What stands in comments, scripts and attributes is no element."""
    assert not any("/no" in (element.attributes.get("href") or "") for element in elements(html, 1000).found)


@given(
    st.lists(
        st.sampled_from(
            [
                *("<a", "<a href='", '"', "'", "=", ">", " ", "/", "<!--", "-->", "</a>", "<script>", "x", "<"),
                *("<p>", "<br/>", "<P title='", "<html ", "lang", "<svg>", "<svg/>", "</svg>", "<Script/>"),
                *("</script", "<title>", "</title>", "<!", "</", "<\u0130", "<ahref>", "\n"),
            ]
        )
    )
)
def test_tags_of_anything(parts: list[str]) -> None:
    """Reading tags off any text ends, and gives what is wanted, whether or not what has none is passed over."""
    html = "".join(parts)
    found = list(markup._links_of(html))
    assert {element.tag for element in found} <= {"a", "html", "title"}
    assert found == list(markup.tags(html, markup._is_wanted))


@pytest.mark.parametrize(
    "html",
    [
        b"<p>" + b"".join(b"<b id=%d>" % i for i in range(2000)) + b"<p>x" * 2000,
        b"<div>" * 100_000,
        b"<a " + b" ".join(b"a%d" % i for i in range(20_000)) + b">",
        b"x" * (TREE_SIZE.value + 1),
    ],
    ids=["formatting made anew", "open elements", "attributes", "long"],
)
def test_no_tree_where_it_may_cost_too_much(html: bytes) -> None:
    """A page whose tree could take more than a bounded time or memory gets none."""
    assert too_much(html) is not None


def test_ordinary_page_gets_a_tree() -> None:
    """A page with hundreds of links and much bold text gets a tree."""
    assert too_much(b"<p><b>bold</b> <a href=/x>link</a></p>\n" * 200) is None


@pytest.mark.parametrize(
    ("html", "count"),
    [
        (b"<a href=/x>" * 100_000, 100_000),
        (b"<div>" * 100_000 + b"<a href=/x>", 1),
        (b"<a " + b" ".join(b"a%d=1" % i for i in range(100_000)) + b" href=/x>", 1),
        (b"<a b='" * 100_000, 0),
        (b"<" * 1_000_000 + b"a href=/x>", 1),
        (b"<!--" * 300_000, 0),
        (b"<script>" * 200_000, 0),
        (b"<script><!--" * 100_000, 0),
        (b"<svg>" * 100_000 + b"</math>" * 100_000 + b"<p><a href=/x>", 1),
        (b"<svg><desc>" * 100_000 + b"</svg>" * 100_000 + b"<a href=/x>", 1),
        (b"<svg>" + b"<![CDATA[" * 100_000, 0),
        (b"<svg>" + b"<style>" * 100_000, 0),
        (b"<template shadowrootmode=open " * 50_000, 0),
        (b"<script><!--<script></script></script>" * 30_000 + b"--></script><a href=/x>", 1),
        (b"<a href='" + b"&#" * 200_000 + b"1" * 200_000 + b"&a" * 200_000 + b"'>", 1),
        (b"<a href=/x><object>" * 20_000, 40_000),
        (b"<a =" * 200_000, 0),
        (b"</" * 500_000, 0),
        (b"<a href=" + b"x" * 10_000_000 + b">", 1),
        (b"&" * 1_000_000 + b"<a href=/x>", 1),
        (b"\0" * 1_000_000 + b"<a href=/x>", 1),
    ],
)
def test_hostile_pages(html: bytes, count: int) -> None:
    """Pages made to be expensive are read in one pass, and what is in them is found."""
    assert len(elements(html, 1_000_000).found) == count


def test_limit() -> None:
    """No more elements than asked for are read, however many there are."""
    assert elements(b"<a href=/x>" * 7, 7).cut is False
    assert len(elements(b"<a href=/x>" * 10_000, 7).found) == 7
    assert elements(b"<a href=/x>" * 8, 7).cut is True


def test_text() -> None:
    """An anchor's text is collapsed and cut, also where the anchor does not end."""
    (element,) = elements(b"<a href=/x>" + b" \n word" * 1000, 10).found
    assert element.text.startswith("word word")
    assert len(element.text) == 200


def test_attributes_without_a_tree() -> None:
    """What begins with `=` is a name, as in a tree; of a tag's attributes the first thousand are kept."""
    assert markup.attributes_of(" = href=/x") == {"=": None, "href": "/x"}
    many = markup.attributes_of("".join(f" a{number}=&lt;" for number in range(2000)))
    assert (len(many), many["a999"]) == (markup.MOST_ATTRIBUTES, "<")
