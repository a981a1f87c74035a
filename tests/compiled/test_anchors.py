"""The links that the C takes off a page are those that its twin takes, whatever stands in the page. What is a link is
in tests/page/test_links.py, which runs over both.
"""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from collections import Counter
from dataclasses import fields
from typing import Any, Final

import pytest
from compiled_core import in_c
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.compiled import Native
from sitecrawl.base.limits import AnyLimit
from sitecrawl.page import link_set as module
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.link_set import MADE
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.urls.url import WEB, Url

PIECES = [
    "", "a", "b/c", "/", "//", "//other.example", "http://", "https://", "HTTP://", "http:", "https:/x", "mailto:x",
    "javascript:void(0)", "ftp://f.example/", "example.com", "example.com:80", "user:pw@", "[::1]", "?", "?q=1",
    "&amp;", "#", "#top", "##", "..", "../", "./", "%41", "%2f", "%", "%zz", " ", "\t", "\n", "\0", "\u00e9",
    "\u65e5", "\u00ad", "\u017f", "\U0001f642", "\\", ";jsessionid=1", "\x7f", "\x1f", "x" * 249, "x" * 260,
    "y" * 2000,
]  # fmt: skip
OTHERS = [
    '<a rel="nofollow" href="/a">x</a>', '<a rel="" href="/b">', "<a href>", "<a>", "<a name=n>", '<a rel href="/e">',
    '<area href="/c" alt="d">', '<base href="/deep/er/">', '<base href="http://other.example/">', "<title>T</title>",
    '<meta name="robots" content="noindex">', '<meta http-equiv="refresh" content="0; url=/r">',
    '<link rel="canonical" href="/c?">', '<link rel="next" href="n">', '<iframe src="/f"></iframe>',
]  # fmt: skip
HREFS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.text(max_size=20)
ANCHORS = st.tuples(HREFS, st.sampled_from(["", "text", " two \n words ", "<b>x</b>"])).map(
    lambda one: f'<a href="{one[0].replace(chr(34), "")}">{one[1]}</a>'
)
PAGES = st.lists(ANCHORS | st.sampled_from(OTHERS), max_size=30).map("".join)
URLS = [
    "http://example.com/",
    "https://example.com/a/b?c=d",
    f"http://example.com/{'deep/' * 60}",
    "http://h.example/%7Ea/b",
]


@pytest.fixture(scope="module")
def native() -> Native:
    return in_c()


def said(native: Native | None, url: str, body: bytes, charset: bytes, options: PageOptions) -> tuple[Any, ...]:
    """All that is read off a page, and what was met."""
    met: Counter[AnyLimit] = Counter()
    headers = [(b"Content-Type", b"text/html; charset=" + charset), (b"Link", b'</h>; rel="next"')]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "native", native)
        page = read_page(url, body, headers, options=options, met=met)
    return page, met


@given(
    PAGES,
    st.sampled_from(URLS),
    st.sampled_from(["utf-8", "iso-8859-1", "shift_jis"]),
    st.sampled_from([PageOptions(), PageOptions(max_url_length=40), PageOptions(ftp=True), PageOptions(max_links=7)]),
)
def test_any_page(native: Native, markup: str, url: str, charset: str, options: PageOptions) -> None:
    """Links with their order, texts, kinds and flags, the count of hrefs, the robots directives, the limits met."""
    body = markup.encode(charset, "replace")
    assert said(native, url, body, charset.encode(), options) == said(None, url, body, charset.encode(), options)


@pytest.mark.parametrize("seed", range(4))
def test_long_pages(native: Native, seed: int) -> None:
    """Of thousands of anchors, most of them to the same targets, as menus are."""
    chosen = random.Random(seed)
    pool = ["".join(chosen.choices(PIECES, k=chosen.randint(1, 3))) for _ in range(40)]
    pool += [f"/{n}" for n in range(200)]
    parts = [f'<a href="{chosen.choice(pool)}">{n}</a>' if n % 9 else chosen.choice(OTHERS) for n in range(1500)]
    body = "".join(parts).encode()
    for url in URLS:
        assert said(native, url, body, b"utf-8", PageOptions()) == said(None, url, body, b"utf-8", PageOptions())


def joined(target: str, place: str, *_: object) -> Url:
    return Url(f"{place}/{target}", "host")


def taken(native: Native, found: list[Any], **changes: Any) -> tuple[int, dict[str, Any], list[Any]]:
    """What the C makes of `found`, and what it has left to its twin."""
    left: list[Any] = []
    links: dict[str, Any] = {}
    given = {"other": left.append, "resolve": joined, "made": MADE} | changes
    places = "http://any.invalid", "http://host", "http://host/folder"
    targets: dict[str, Any] = {}
    how = given["other"], targets, links, given["resolve"], given["made"], places
    return native.anchors(found, *how, 8000, WEB, 250), links, left


@pytest.mark.parametrize(
    "element",
    [
        None, (), ("a",), ("a", {"href": "/x"}), ["a", {"href": "/x"}, ""], (b"a", {"href": "/x"}, ""),
        ("a", None, ""), ("a", [("href", "/x")], ""), ("a", {"href": b"/x"}, ""), ("a", {"href": 5}, ""),
        ("A", {}, ""), ("", {}, ""), ("area", {"href": "/x"}, ""), ("a", {"href": "/x", "rel": "nofollow"}, ""),
        ("a", {"href": ""}, ""), ("a", {"href": "?q"}, ""), ("a", {"href": "mailto:me"}, ""),
        ("a", {"href": "\n/x"}, ""), ("a", {"href": "\ud800"}, ""), ("a", {"href": "/\u00e9"}, ""),
        ("a", {"href": "/" + "x" * 250}, ""),
    ],
)  # fmt: skip
def test_what_it_leaves_alone(native: Native, element: object) -> None:
    """What is no plain anchor is handed to the twin as it is, and nothing else has happened."""
    assert taken(native, [element]) == (0, {}, [element])


def test_what_it_takes(native: Native) -> None:
    """Plain anchors; what stands twice is one link, and one without a value may have it by another name."""
    found = [("a", {"href": href}, "t") for href in ("/x", "/x#y", "http://h/", "#", "z", None)] + [("a", {}, "t")]
    count, links, left = taken(native, found)
    assert count == 4
    assert list(links) == ["http://host//x", "http://any.invalid/http://h/", "http://host/folder/z"]
    assert left == [("a", {"href": "#"}, "t"), *found[-2:]]


def fail(*_: object) -> Any:
    raise ZeroDivisionError


class NoLink(Link):
    """A link that cannot be made."""

    __new__ = fail  # type: ignore[assignment]


FAILING: Final = {"other": fail, "resolve": fail, "made": (NoLink, *MADE[1:])}


@pytest.mark.parametrize("part", FAILING)
def test_an_error_on_the_way(native: Native, part: str) -> None:
    """What the twin's functions raise comes out as it is."""
    with pytest.raises(ZeroDivisionError):
        taken(native, [("a", {"href": "/x"}, ""), ("b", {}, "")], **{part: FAILING[part]})


@pytest.mark.parametrize(
    "made",
    [
        Link, (None, *MADE[1:]), (Link, MADE[1][:4], ()), (Link, MADE[1], MADE[2][:2]), (Link, MADE[1][:5], ("",)),
        (Link, (5,) * 8, MADE[2]), (Link, (*MADE[1][:7], 5), MADE[2]), (Url, *MADE[1:]), (object, *MADE[1:]),
    ],
)  # fmt: skip
def test_what_no_link_is_made_with(native: Native, made: object) -> None:
    """A class without those slots, or other numbers of slots and defaults."""
    with pytest.raises(TypeError):
        taken(native, [("a", {"href": "/x"}, "")], made=made)


def test_a_link_is_what_its_init_makes(native: Native) -> None:
    """Field by field."""
    _, links, _ = taken(native, [("a", {"href": "/x"}, "text")])
    (link,) = links.values()
    assert type(link) is Link
    assert link == Link("http://host//x", "host", "text", "a")
    assert MADE[2] == tuple(getattr(Link("", ""), field.name) for field in fields(Link)[5:])


def test_a_list_that_shrinks_meanwhile(native: Native) -> None:
    """What is asked of the twin may change what is read: nothing is read that is gone."""
    found: list[Any] = [("b", {}, "") for _ in range(10)]
    assert taken(native, found, other=lambda _: found.clear())[0] == 0


@pytest.mark.parametrize("wrong", [(), ([],), (None,) * 10, ([], None, {}, {}, None, None, ("a", "b"), 1, WEB, 1)])
def test_other_arguments(native: Native, wrong: tuple[object, ...]) -> None:
    """A caller's mistake is a TypeError."""
    with pytest.raises(TypeError):
        native.anchors(*wrong)


def test_nothing_is_kept(native: Native) -> None:
    """After hundreds of pages more than after the first no memory is held, and no reference to what went in."""
    url = Url("http://host/x", "host")
    hrefs = ["/x", "/x#y", "z", "?q", "\u00e9", "\ud800", None]
    found: list[Any] = [("a", {"href": href}, "t") for href in hrefs] + [("a", {}, ""), ("b", {}, ""), None]

    def work() -> None:
        taken(native, found, resolve=lambda *_: url)
        taken(native, found, resolve=lambda *_: None)
        for part, failing in FAILING.items():
            with pytest.raises(ZeroDivisionError):
                taken(native, found, **{part: failing})

    work()
    gc.collect()
    counted = [sys.getrefcount(one) for one in (url, found, *found[:-1], url.href, Link, WEB)]
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            work()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 2000
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(one) for one in (url, found, *found[:-1], url.href, Link, WEB)] == counted


def test_page_items_compare() -> None:
    """The comparison above sees links: pages that differ in one are not equal."""
    assert PageItem("u", links=[Link("a", "b")]) != PageItem("u", links=[Link("a", "b", nofollow=True)])
