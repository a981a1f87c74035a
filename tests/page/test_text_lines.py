"""A page's text in lines, as a reader sees them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.page.text_lines import html_lines, plain_lines


def texts(html: str) -> list[str]:
    return [" ".join(line.text.split()) for line in html_lines(html)]


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>one<p>two", ["one", "two"]),
        ("key<b>wo</b>rd", ["keyword"]),
        ("key<!-- a > b -->word", ["keyword"]),
        ("a<br>b<br/>c", ["a", "b", "c"]),
        ("one\n  and\nthe same", ["one and the same"]),
        ("<pre>one\ntwo</pre>three", ["one", "two", "three"]),
        ("<tr><td>a<td>b<tr><td>c", ["a b", "c"]),
        ("one<img alt=x>two", ["one two"]),
        ("&lt;b&gt; &amp;eacute; &#233;&nbsp;x", ["<b> &eacute; é x"]),
        ("<title>A &amp; <b></title>B", ["A & <b>", "B"]),
        ("a<script>x</script>b<style>y</style>c<template>z</template>d", ["abcd"]),
        ("a<script>if (1 < 2) '</scrip>' </script >b", ["ab"]),
        ("<noscript>seen</noscript><iframe>not</iframe>", ["seen"]),
        ("a<span hidden>b<span>c</span>d</span>e", ["ae"]),
        ("a<div style='color: red; display:none'>b</div>c", ["ac"]),
        ("<div aria-hidden=true data-display=none>a</div>", ["a"]),
        ("<div hidden=until-found>a</div>", ["a"]),
        ("<p hidden>a<p>b", ["b"]),
        ("<div hidden>never closed", ["never closed"]),
        ("<input hidden>a", ["a"]),
        ("a <b title='x > y'>b</b> c < d", ["a b c < d"]),
        ("a<b", ["a"]),
        ("a<script>the rest", ["a"]),
        ("<textarea>a\nb <i></textarea>", ["a", "b <i>"]),
        ("<!doctype html><?php x ?>a</p >b", ["a", "b"]),
        ("", []),
    ],
)
def test_lines(html: str, lines: list[str]) -> None:
    """What ends a line, what ends no word, and what nobody sees."""
    assert texts(html) == lines


def test_each_part_knows_its_line_of_the_source() -> None:
    """All three line ends count one; comments and tags of several lines count theirs."""
    (line,) = html_lines("\r\n<!--\n\n-->\r<b\nclass=x>one\ntwo <i>\nthree</i>")
    assert [line.number_at(line.text.index(word)) for word in ("one", "two", "three")] == [6, 7, 8]


def test_plain_text() -> None:
    """What is no HTML has the lines that it has, and tags are text."""
    assert [(line.text, line.number_at(0)) for line in plain_lines("a\r\n\n<b>c\rd")] == [
        ("a", 1),
        ("<b>c", 3),
        ("d", 4),
    ]


@given(st.text("<>/!-ab p='\"\n&;", max_size=60))
def test_nothing_raises_and_numbers_are_lines(html: str) -> None:
    """Whatever the markup: no error, and no number beyond the page."""
    for line in html_lines(html):
        assert 1 <= line.number_at(len(line.text) - 1) <= html.count("\n") + 1


@pytest.mark.parametrize(
    "html",
    ["<div hidden>", "<a b=", "<!--", "<script", "<title>", "<pre>\n", "<p hidden>", "<a b='"],
)
def test_hostile_markup_takes_linear_time(html: str) -> None:
    """Looking through the rest of the page again and again would not end today; and no text comes twice."""
    page = html * 50_000 + "</script></title>'>--></pre>the end"
    assert sum(len(line.text) for line in html_lines(page)) <= len(page)
