"""What pages are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sitecrawl.base.limits import REQUISITES, TREE_SIZE, AnyLimit
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.page.markup import TreeOptions
from sitecrawl.page.requisites import _srcset

URL = "http://a.b/dir/page?q"
HTML = (b"Content-Type", b"text/html; charset=utf-8")
CSS = (b"Content-Type", b"text/css")
WANTED = PageOptions(max_requisites=2000)
WITHOUT_TREE = replace(WANTED, tree=TreeOptions(max_size=0))


def read(
    body: str, *headers: tuple[bytes, bytes], options: PageOptions = WANTED, met: Counter[AnyLimit] | None = None
) -> PageItem:
    return read_page(URL, body.encode(), headers or [HTML], options=options, met=met)


def parts(page: PageItem) -> list[tuple[str, str]]:
    return [(link.kind, link.url.removeprefix("http://a.b/")) for link in page.requisites]


@pytest.mark.parametrize("options", [WANTED, WITHOUT_TREE], ids=["tree", "tags"])
@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<img src=x>", [("img", "dir/x")]),
        ("<img src=/x srcset='/y 1x, /z 2x'>", [("img", "x"), ("img", "y"), ("img", "z")]),
        ("<picture><source srcset='/a 100w,/b 200w' media=print><img src=/c></picture>", [
            ("source", "a"), ("source", "b"), ("img", "c")]),
        ("<script src=/x></script>", [("script", "x")]),
        ("<link rel=stylesheet href=/x>", [("stylesheet", "x")]),
        ("<link rel='alternate stylesheet' href=/x>", [("stylesheet", "x")]),
        ("<link rel='Shortcut Icon' href=/x>", [("icon", "x")]),
        ("<link rel=preload as=font href=/x>", [("preload", "x")]),
        ("<link rel=preload as=style href=/x>", [("stylesheet", "x")]),
        ("<link rel=preload as=image imagesrcset='/x 1x, /y 2x'>", [("preload", "x"), ("preload", "y")]),
        ("<video src=/v poster=/p><source src=/w><track src=/t></video>", [
            ("video", "v"), ("video", "p"), ("source", "w"), ("track", "t")]),
        ("<audio src=/x></audio>", [("audio", "x")]),
        ("<object data=/x></object>", [("object", "x")]),
        ("<embed src=/x>", [("embed", "x")]),
        ("<iframe src=/x></iframe>", [("iframe", "x")]),
        ("<input type=Image src=/x><input type=text src=/no>", [("input", "x")]),
        ("<svg><image xlink:href=/x /><use href='/y#a'/><use href='#a'/></svg>", [("image", "x"), ("use", "y")]),
        ("<table background=/x><tr><td></table>", [("background", "x")]),
        ("<p style='background:url(/x)'>", [("style", "x")]),
        ("<style>@import '/i.css'; a{b:url(/x)}</style>", [("import", "i.css"), ("style", "x")]),
        ("<noscript><img src=/x></noscript>", [("img", "x")]),
        ("<a href=/no>", []),
        ("<link rel=next href=/no><link rel=canonical href=/no>", []),
        ("<template><img src=/no></template>", []),
        ("<!-- <img src=/no> --><script>'<img src=/no>'</script>", []),
        ("<img src><img src=''><img src=' #x'><img src=data:,x><img src='javascript:x'>", []),
    ],
)  # fmt: skip
def test_parts(html: str, found: list[tuple[str, str]], options: PageOptions) -> None:
    """All that a browser would fetch to show the page, with a tree and without."""
    assert parts(read(html, options=options)) == found


def test_nothing_unless_it_is_wanted() -> None:
    """Off by default."""
    assert read("<img src=/x>", options=PageOptions()).requisites == []


def test_links_are_as_before() -> None:
    """What a page is made of takes no link's place."""
    page = read("<a href=/p><img src=/x></a><iframe src=/f></iframe>")
    assert [link.url for link in page.links] == ["http://a.b/p", "http://a.b/f"]
    assert parts(page) == [("iframe", "f"), ("img", "x")]


def test_a_base_counts() -> None:
    """Of a page, addresses are relative to its `<base>`; of a header to the document."""
    page = read("<base href=/base/><img src=x>", HTML, (b"Link", b"<y>; rel=preload; as=font, <z>; rel=next"))
    assert parts(page) == [("preload", "dir/y"), ("img", "base/x")]


def test_a_style_sheet() -> None:
    """It is made of what it names, relative to itself."""
    page = read("@import url(more.css); a{b:url(../x.png)}", CSS)
    assert parts(page) == [("import", "dir/more.css"), ("style", "x.png")]
    assert page.links == []


def test_one_a_target() -> None:
    """However often it stands there."""
    assert parts(read("<img src=/x><img src=/x#f><img srcset='/x 2x'>")) == [("img", "x")]


@pytest.mark.parametrize("options", [WANTED, WITHOUT_TREE], ids=["tree", "tags"])
def test_too_many(options: PageOptions) -> None:
    """So many and no more, which is counted; what may be made of others comes first."""
    html = "".join(f"<img src=/{n}>" for n in range(100)) + "<link rel=stylesheet href=/s><iframe src=/f></iframe>"
    met: Counter[AnyLimit] = Counter()
    page = read(html, options=replace(options, max_requisites=60), met=met)
    assert parts(page)[:3] == [("stylesheet", "s"), ("iframe", "f"), ("img", "0")]
    assert len(page.requisites) == 60
    assert met[REQUISITES] == 1


def test_a_hundred_thousand_images() -> None:
    """No more of them is kept than is wanted, and links do not suffer."""
    met: Counter[AnyLimit] = Counter()
    page = read("".join(f"<img src=/{n}>" for n in range(100_000)) + "<a href=/p>", met=met)
    assert len(page.requisites) == WANTED.max_requisites
    assert [link.url for link in page.links] == ["http://a.b/p"]
    assert met == {REQUISITES: 1, TREE_SIZE: 1}


def test_ten_megabytes_of_data() -> None:
    """An image that is in the page is not fetched, and no URL."""
    page = read(f"<img src='data:image/png;base64,{'A' * 10_000_000}'><img src=/x>")
    assert page.requisites == [Link("http://a.b/x", "a.b", kind="img")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a 1x, b 2x", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ("a,b 2x", ["a,b"]),
        ("a 1x,b 2x", ["a", "b"]),
        (" , a\n100w 50h ,, b ,", ["a", "b"]),
        ("a calc(1px, 2px), b", ["a", "b"]),
        ("a (, b", ["a"]),
        ("data:image/png;base64,AA== 1x, b 2x", ["data:image/png;base64,AA==", "b"]),
        ("", []),
        (" ,,, ", []),
        (",".join("a" * 3), ["a,a,a"]),
    ],
)
def test_srcset(text: str, found: list[str]) -> None:
    """Candidates are what the standard's parser takes for such, garbage or not."""
    assert list(_srcset(text)) == found


def test_a_long_srcset() -> None:
    """It costs what it is long."""
    assert sum(1 for _ in _srcset("x (" * 300_000)) <= 2
    assert sum(1 for _ in _srcset("x 1x, " * 300_000)) == 300_000
