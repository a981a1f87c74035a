"""Tags with few attributes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsel import Selector

from sitecrawl.page.markup import MOST_ATTRIBUTES
from sitecrawl.plugins.export.sources import _lean

PIECES = [
    "<script>", "</script>", "<script/>", "<script a=x/>", "<script =/>", "</script", "<title>", "</title>",
    "<title/>",
    "<style>", "</style>", "<style/", "<textarea>", "</textarea>", "<iframe>", "</iframe>", "<xmp>", "</xmp>",
    "<noembed>",
    "</noembed>", "<noframes>", "</noframes>", "<template>", "</template>", "<noscript>", "<svg>", "<plaintext>",
    "<!--", "-->", "--!>", "<!-->", "<![CDATA[", "]]>", "<?x", "<!doctype", "</", "<", ">", "/>", "/ >",
    "<p ", "</p a b", "<x y='", "'", '"', "=", "='", "x", " b", " c d", "\n", "\0",
]  # fmt: skip
MANY = " a b c d e f>"


def most_attributes(html: str) -> int:
    """Of an element of the tree that rules see."""
    root = Selector(text=html, type="html").root
    elements = () if root is None else root.iter()
    return max((len(element.attrib) for element in elements if isinstance(element.tag, str)), default=0)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_tag_has_more(start: str) -> None:
    """Whatever stands before a tag, and whether it is one to libxml2: no element has more attributes than it may."""
    assert most_attributes(_lean(start + MANY, most=3, short=0)) <= 3


@pytest.mark.parametrize(
    "html",
    [
        "<p a b c>x</p>",
        "<p a='1 2 3 4 5 6' b=\"<p a b c d>\">x",
        "<script>if (a < b) { c = '<p a b c d e>' }</script>",
        "<!-- <p a b c d e> -->",
        "<title><p a b c d e></title>",
    ],
)
def test_others_stay(html: str) -> None:
    """What has no more is as it was, and so is what only looks like a tag."""
    assert _lean(html, most=3, short=0) == html


def test_the_first_stay() -> None:
    """With their values, and the element with its content; a tag that closes itself does so still."""
    assert _lean("<p a=1 b='2' c  d=4 e>x</p>", most=3, short=0) == "<p a=1 b='2' c >x</p>"
    assert _lean("<script a b c d/>x", most=3, short=0) == "<script a b c />x"


def test_a_long_tag() -> None:
    """Of a page of attributes a thousand are left: with all of them its tree would take an hour."""
    html = _lean("<p" + "".join(f" a{number:x}" for number in range(1_000_000)) + ">x</p>")
    assert most_attributes(html) == MOST_ATTRIBUTES
