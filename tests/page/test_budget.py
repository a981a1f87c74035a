"""How much of a page is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.limits import READ_ELEMENTS, READ_SIZE
from sitecrawl.page.budget import Budget, _elements_in, exceeded, text_within, within
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import PageOptions, text_digest
from sitecrawl.page.markup import MARKUP
from sitecrawl.page.text_lines import html_lines
from sitecrawl.page.xhtml import as_html
from sitecrawl.plugins.isolation.worker import read

HEADERS = [(b"Content-Type", b"text/html; charset=utf-8")]
SMALL = Budget(max_size=1000, max_elements=50)


@given(
    st.lists(st.sampled_from([b"<", b"&", b"\n", b"\r", b"x", b"<br>", b"\xff"])).map(b"".join), st.integers(1, 20)
)
def test_as_much_as_the_budget_allows(body: bytes, most: int) -> None:
    """What is read is the longest beginning with so many elements: one byte more would be one element more."""
    head = within(body, Budget(max_size=1000, max_elements=most))
    assert body.startswith(head)
    assert _elements_in(head) == min(most, _elements_in(body))
    assert head == body or _elements_in(body[: len(head) + 1]) == most + 1


def test_as_many_bytes() -> None:
    """What has more bytes ends there; which limit it was is said."""
    assert within(b"x" * 2000, SMALL) == b"x" * 1000
    assert exceeded(b"x" * 2000, SMALL) is READ_SIZE
    assert exceeded(b"<x" * 60, SMALL) is READ_ELEMENTS
    assert exceeded(b"<x" * 50, SMALL) is None
    assert within(b"<" * 10_000_000, Budget()) == b"<" * Budget().max_elements


@pytest.mark.parametrize(
    "one",
    [
        "<br>x",
        "<td>x",
        "&amp;",
        "x\n",
        "x\r",
        "<!---->x",
        "<p hidden>x",
        "<i/>x",
        "<![CDATA[>]]>",
        "<![CDATA[>>>>>]]>",
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
def test_no_more_steps_than_elements(one: str, content_type: str) -> None:
    """Whatever a page is full of: readers find no more tags, references and lines than the budget has elements."""
    page = PageItem("http://a.example/", content_type=content_type, charset="utf-8", body=(one * 1000).encode())
    text = as_html(text_within(page, SMALL), content_type)
    assert len(MARKUP.findall(text)) + text.count("&") <= 2 * SMALL.max_elements  # `<i/>` becomes two tags
    assert sum(1 for _ in html_lines(text)) <= SMALL.max_elements + 1


def test_links_up_to_there() -> None:
    """Links are looked for in four times as many elements; the body is whole, and the limit is counted once."""
    body = b"".join(b"<a href=/%d>x</a>" % number for number in range(200))
    budget = Budget(max_size=10_000, max_elements=50)
    reading = read("http://a.example/", body, HEADERS, PageOptions(budget=budget))
    assert [link.url.rpartition("/")[2] for link in reading.page.links] == [str(number) for number in range(100)]
    assert reading.page.body == body
    assert reading.met == {READ_ELEMENTS: 1}


def test_a_link_behind_long_text() -> None:
    """A page with more text than is read as such still leads on; XML takes as long as text does, and ends with it."""
    body = b"<p>text</p>" * 40 + b"<a href=/x>x</a>"
    for content_type, links in (b"text/html", ["http://a.example/x"]), (b"application/xhtml+xml", []):
        reading = read("http://a.example/", body, [(b"Content-Type", content_type)], PageOptions(budget=SMALL))
        assert [link.url for link in reading.page.links] == links
        assert reading.met == {READ_ELEMENTS: 1}


def test_an_endless_address_is_none() -> None:
    """Of a `href` of references only the beginning is read: the tag does not end there, so it is none."""
    body = b"<a href=/x>x</a><a href='/" + b"&amp;" * 1000 + b"'>y</a>"
    page = read("http://a.example/", body, HEADERS, PageOptions(budget=SMALL)).page
    assert [link.url for link in page.links] == ["http://a.example/x"]


def test_what_is_compared_ends_there_too() -> None:
    """Two pages that differ behind the end are the same to a revisit."""
    options = PageOptions(budget=SMALL)
    bodies = [b"<p>word" * 100 + end for end in (b"one", b"two")]
    assert len({text_digest("text/html", None, body, options) for body in bodies}) == 1
