"""The links and facts of a page, by the Python and by the C; on the real sites, against another parser."""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from pathlib import Path
from random import Random
from urllib.parse import urldefrag

import lxml.html
import pytest
from compiled_core import both_ways
from hypothesis import given
from hypothesis import strategies as st
from realweb import tool

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.limits import LINKS, SCHEMES, TREE_SIZE, URL_LENGTH, AnyLimit
from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.links import PageOptions, read_page
from sitecrawl.urls.url import parse

URL = "http://a.b/dir/page?q"
HTML = (b"Content-Type", b"text/html; charset=utf-8")

both = both_ways("sitecrawl.page.link_set.native")


def read(body: bytes | str, *headers: tuple[bytes, bytes], url: str = URL) -> PageItem:
    return read_page(url, body.encode() if isinstance(body, str) else body, [HTML, *headers])


def targets(page: PageItem) -> list[str]:
    return [link.url for link in page.links]


@pytest.mark.parametrize(
    ("html", "link"),
    [
        ("<a href=x>A <i>text</i>\n here</a>", Link("http://a.b/dir/x", "a.b", "A text here")),
        ("<a href='//c.d:81/#f'>", Link("http://c.d:81/", "c.d:81")),
        ("<a href=?r>", Link("http://a.b/dir/page?r", "a.b")),
        ("<a href=' /x\n'>", Link("http://a.b/x", "a.b")),
        ("<a href=/x rel='NoFollow noopener'>", Link("http://a.b/x", "a.b", nofollow=True)),
        ("<a href=/x rel=ugc>", Link("http://a.b/x", "a.b", nofollow=True)),
        ("<a href=/x rel=sponsored>", Link("http://a.b/x", "a.b", nofollow=True)),
        ("<map><area href=/x alt='An area'></map>", Link("http://a.b/x", "a.b", "An area", "area")),
        ("<frameset><frame src=/x title=T></frameset>", Link("http://a.b/x", "a.b", "T", "frame")),
        ("<iframe src=/x></iframe>", Link("http://a.b/x", "a.b", "", "iframe")),
        ("<iframe src=/y srcdoc='<title>T</title><a href=x>A'></iframe>", Link("http://a.b/dir/x", "a.b", "A")),
        ("<object data=/x title=T></object>", Link("http://a.b/x", "a.b", "T", "object")),
        ("<embed src=/x type=text/html>", Link("http://a.b/x", "a.b", "", "embed")),
        ("<svg><title/><script/><a xlink:href=/x>A</a></svg>", Link("http://a.b/x", "a.b", "A")),
        ("<p>" + "x" * 70_000 + "<svg><title/><a xlink:href=/x>A</a></svg>", Link("http://a.b/x", "a.b", "A")),
        ("<meta http-equiv=Refresh content='0;url=/x'>", Link("http://a.b/x", "a.b", "", "refresh")),
        ("<link rel=canonical href=/x>", Link("http://a.b/x", "a.b", "", "canonical")),
        ("<link rel='alternate' hreflang=de href=/x>", Link("http://a.b/x", "a.b", "", "alternate")),
        ("<link rel=next href=/x>", Link("http://a.b/x", "a.b", "", "next")),
    ],
)
def test_links(html: str, link: Link) -> None:
    """Every kind of link is found, absolute and with what is known about it."""
    assert read(html).links == [link]


def test_documents_in_frames_have_bases() -> None:
    """Their own, or that of the document around them, which goes on with its own."""
    inner = escape("<a href=2><base href=e/><iframe srcdoc='<a href=3>'></iframe><a href=4>")
    page = read(
        f"<base href=/b/><a href=1></a><iframe srcdoc='{inner}'></iframe><iframe srcdoc='<a href=5>'></iframe>"
    )
    assert targets(page) == [f"http://a.b/b/{path}" for path in ("1", "e/2", "e/3", "e/4", "5")]


def test_links_in_frames_count_for_the_page() -> None:
    """So many are read of all of them together."""
    body = b"<a href=/1></a><iframe srcdoc='<a href=/2><a href=/3>'></iframe><a href=/4></a>"
    page = read_page(URL, body, [HTML], options=PageOptions(max_links=3))
    assert targets(page) == ["http://a.b/1", "http://a.b/2", "http://a.b/3"]


def test_documents_in_frames_are_read_so_deep() -> None:
    """A frame that holds itself over and over costs no more than a few."""
    html = "<a href=/x>"
    for _ in range(6):
        html = f'<a href=/y{len(html)}><iframe srcdoc="{escape(html)}"></iframe>'
    assert len(read(html).links) == 5


@pytest.mark.parametrize(
    "html",
    [
        "<a>",
        "<a name=x>",
        "<a href='javascript:void(0)'>",
        "<a href='mailto:a@b.c'>",
        "<a href='data:text/html,x'>",
        "<a href='file:///etc/passwd'>",
        "<a href='http://'>",
        "<a href='http://a.b:99999/'>",
        "<a href='/" + "x" * 10_000 + "'>",
        "<iframe src>",
        "<object data=/x type=image/png></object>",
        "<embed src=/x type=video/mp4>",
        "<img src=/x srcset='/y 2x'>",
        "<script src=/x></script>",
        "<link rel=stylesheet href=/x>",
        "<link rel='alternate stylesheet' href=/x>",
        "<link rel=alternate type=application/rss+xml href=/x>",
        "<link rel=icon href=/x>",
        "<form action=/x>",
        "<!-- <a href=/x> -->",
        "<template><a href=/x></template>",
        "<a xlink:href=/x>",
        "<svg><link rel=next href=/x></svg>",
        "<script>document.write('<a href=/x>')</script>",
    ],
)
def test_no_links(html: str) -> None:
    """What leads to no page is no link."""
    assert read(html).links == []


def test_skipped() -> None:
    """Links that lead nowhere are counted, each target once."""
    met = Counter[AnyLimit]()
    body = b"<a href=mailto:a@b.c><a href='/" + b"x" * 9000 + b"'><a href=mailto:a@b.c><a href=/y>"
    read_page(URL, body, [HTML], met=met)
    assert met == {SCHEMES: 1, URL_LENGTH: 1}


def test_one_link_a_target() -> None:
    """A page's links to one target are one link, with the first one's text and place."""
    page = read("<a href=/x>first</a><a href=/y>y</a><a href='http://A.B/x#f'>second</a>")
    assert [(link.url, link.text) for link in page.links] == [("http://a.b/x", "first"), ("http://a.b/y", "y")]


def test_nofollow_only_if_all_are() -> None:
    """A target that is linked with and without nofollow is followed."""
    assert not read("<a href=/x rel=nofollow></a><a href=/x>").links[0].nofollow
    assert not read("<a href=/x></a><a href=/x rel=nofollow>").links[0].nofollow
    assert read("<a href=/x rel=nofollow></a><a href=/x rel=ugc>").links[0].nofollow


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "http://a.b/other/x"),
        ("http://c.d/", "http://c.d/x"),
        ("mailto:a@b.c", "http://a.b/dir/x"),
        ("http://[", "http://a.b/dir/x"),
    ],
)
def test_base(base: str, expected: str) -> None:
    """The first base counts for all links, also those before it; one that is no URL counts for none."""
    assert targets(read(f"<a href=x></a><base target=_top><base href='{base}'><base href='/second/'>")) == [expected]


def test_what_is_html_alone_means_nothing_in_a_drawing() -> None:
    """Neither a base nor a title there is the page's."""
    page = read("<svg><title>A drawing</title><base href=/no/></svg><title>A page</title><a href=x>x</a>")
    assert (page.title, targets(page)) == ("A page", ["http://a.b/dir/x"])


def test_link_header() -> None:
    """A Link header's links are relative to the document, and only those to pages of their own count."""
    value = b'<x>; rel=next; title="T", </s.css>; rel=stylesheet, </y>; rel=next; anchor="/z", </c>; rel=canonical'
    page = read("<base href=/other/>", (b"link", value))
    assert page.links == [Link("http://a.b/dir/x", "a.b", "T", "header"), Link("http://a.b/c", "a.b", "", "header")]
    assert page.canonical == "http://a.b/c"


def test_headers_of_what_is_no_html() -> None:
    """Headers lead on also from a body that holds no links."""
    headers = [
        (b"Content-Type", b"application/pdf"),
        (b"Link", b"</page>; rel=canonical"),
        (b"Refresh", b"1; url=/next"),
        (b"X-Robots-Tag", b"noindex"),
    ]
    page = read_page(URL, b"%PDF-", headers)
    assert targets(page) == ["http://a.b/next", "http://a.b/page"]
    assert (page.noindex, page.canonical, page.charset, page.title) == (True, "http://a.b/page", None, None)


def test_page_facts() -> None:
    """A page's title, address and directives are read."""
    page = read("<title> A\n title </title><link rel=canonical href=/c#f><meta name=ROBOTS content=noindex>")
    assert (page.title, page.canonical, page.noindex, page.nofollow) == ("A title", "http://a.b/c", True, False)
    assert (page.content_type, page.charset, page.base) == ("text/html", "utf-8", URL)


def test_robots_of_all_sources() -> None:
    """Directives of headers and elements add up; those for another crawler do not count."""
    robots = (b"X-Robots-Tag", b"otherbot: none")
    assert not read("<meta name=otherbot content=none>", robots).noindex
    page = read("<meta name=sitecrawl content=nofollow>", (b"X-Robots-Tag", b"noindex"))
    assert (page.noindex, page.nofollow) == (True, True)
    assert [link.nofollow for link in read("<meta name=robots content=nofollow><a href=/x>").links] == [False]


@pytest.mark.parametrize(
    "body", [b"%PDF-1.7 <a href=/x>", b"\x89PNG\r\n\x1a\n<a href=/x>", bytes(range(20)) + b"<a href=/x>"]
)
def test_mislabelled_body(body: bytes) -> None:
    """A binary body declared as HTML has no links, and is not called HTML."""
    page = read(body)
    assert (page.links, page.charset) == ([], None)
    assert page.content_type != "text/html"


@pytest.mark.parametrize(
    ("content_type", "found"),
    [
        (None, True),
        (b"text/html", True),
        (b"application/xhtml+xml", True),
        (b"text/plain", False),
        (b"nonsense", True),
    ],
)
def test_which_bodies_are_html(content_type: bytes | None, found: bool) -> None:
    """Links are looked for in what is declared as HTML, and in what is declared as nothing and starts like it."""
    headers = [(b"content-type", content_type)] if content_type is not None else []
    assert bool(read_page(URL, b"<!doctype html><a href=/x>", headers).links) is found


@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ("<a href=/é?é>".encode(), [HTML], "http://a.b/%C3%A9?%C3%A9"),
        ("<a href=/é?é>".encode("latin-1"), [(b"Content-Type", b"text/html")], "http://a.b/%C3%A9?%E9"),
        ("<meta charset=windows-1251><a href=/д?д>".encode("cp1251"), [], "http://a.b/%D0%B4?%E4"),
        ("\ufeff<a href=/é?é>".encode("utf-16"), [HTML], "http://a.b/%C3%A9?%C3%A9"),
        (
            "<a href=/日?日>".encode("shift_jis"),
            [(b"Content-Type", b"text/html;charset=sjis")],
            "http://a.b/%E6%97%A5?%93%FA",
        ),
        (b"<a href=/\xff>", [HTML], "http://a.b/%EF%BF%BD"),
        (b"<a href='/a\0b'>", [HTML], "http://a.b/a%EF%BF%BDb"),
    ],
)
def test_encodings(body: bytes, headers: list[tuple[bytes, bytes]], expected: str) -> None:
    """A link is decoded as a browser decodes it: path in UTF-8, query in the page's encoding."""
    html = [] if body.startswith(b"<meta") else headers
    assert targets(read_page(URL, body, html or [(b"Content-Type", b"text/html")])) == [expected]


def test_limits() -> None:
    """No more than `max_links` elements and `max_url_length` characters are taken, and it says so."""
    body = b"".join(b"<a href=/%d>" % number for number in range(100_000))
    met = Counter[AnyLimit]()
    assert len(read_page(URL, body, [HTML], met=met).links) == 50_000
    assert met == {LINKS: 1, TREE_SIZE: 1}
    assert len(read_page(URL, body, [HTML], options=PageOptions(max_links=10)).links) == 10
    short = PageOptions(max_url_length=20)
    met.clear()
    body = b"<a href=/12345678901234567890></a><a href=mailto:a@b.example></a>"
    assert read_page(URL, body, [HTML], options=short, met=met).links == []
    assert met == {URL_LENGTH: 1, SCHEMES: 1}


def test_hostile_charsets() -> None:
    """A page cannot choose a codec that is none."""
    for label in (b"rot13", b"base64", b"utf-7", b"\0", b"x" * 10_000):
        page = read_page(URL, b"<a href=/x>", [(b"Content-Type", b"text/html; charset=" + label)])
        assert (targets(page), page.charset) == (["http://a.b/x"], "windows-1252")


@given(
    st.binary(max_size=200),
    st.sampled_from([b"text/html", b"text/html;charset=iso-2022-jp", b"text/html;charset=utf-16", b""]),
)
def test_any_body(body: bytes, content_type: bytes) -> None:
    """Whatever the bytes, a page is read without an error, and every link of it is a URL."""
    page = read_page(URL, b"<a href='?" + body + b"'>" + body, [(b"Content-Type", content_type)])
    assert all(parse(link.url).host == link.host for link in page.links)


@given(
    st.lists(
        st.tuples(st.sampled_from([b"Link", b"Refresh", b"X-Robots-Tag", b"Content-Type"]), st.binary(max_size=50))
    )
)
def test_any_headers(headers: list[tuple[bytes, bytes]]) -> None:
    """Whatever the headers, a page is read without an error."""
    read_page(URL, b"<a href=/x>", headers)


BASES = st.sampled_from(
    ["http://a.b/", "https://a.b/c/d?e/f", "http://a.b/c//d", "http://a.b/?/", f"http://a.b/{'x' * 300}/y"]
)
TARGETS = st.text(st.sampled_from("./?\\:;@ \t\nhtp%2ex[]é"), max_size=12) | st.sampled_from(
    ["http:x", "https:/x", "//c.d", " ?q"]
)


@given(BASES, TARGETS)
def test_resolution_is_the_parsers(base: str, target: str) -> None:
    """A link resolves as the URL parser says, though what it resolved to before is remembered."""
    try:
        expected = [parse(target, base).href]
    except InvalidUrl:
        expected = []
    for _ in range(2):
        assert targets(read(f"<a href='{target}'>", url=base)) == expected


def test_url_that_is_none() -> None:
    """A page without a URL is the caller's mistake."""
    with pytest.raises(InvalidUrl):
        read_page("about:blank", b"", [])


SAMPLE = 300


@pytest.fixture(scope="session")
def real_pages(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    """Pages of the seven real sites: URL and body."""
    module = tool()
    cache = Path(tmp_path_factory.mktemp("sites"))
    module.unpack(cache)
    pages = [
        (f"http://{host}/{file.relative_to(cache / name)}", file)
        for host, name in sorted(module.HOSTS.items())
        for file in sorted((cache / name).rglob("*.html"))
        if file.is_file()
    ]
    assert len(pages) > 5000
    return [(url, file.read_bytes()) for url, file in Random(2).sample(pages, SAMPLE)]


@pytest.fixture(scope="session")
def targets_by_lxml(real_pages: list[tuple[str, bytes]]) -> list[set[str]]:
    """Of each of them."""
    return [lxml_targets(url, body) for url, body in real_pages]


def lxml_targets(url: str, body: bytes) -> set[str]:
    """The targets of a page by another HTML parser."""
    if not body.strip():
        return set()
    document = lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(encoding="utf-8"))
    hrefs = [element.get("href") for element in document.iter("a", "area")]
    hrefs += [element.get("src") for element in document.iter("frame", "iframe", "embed")]
    hrefs += [element.get("data") for element in document.iter("object")]
    hrefs += [
        element.get("href")
        for element in document.iter("link")
        if {"canonical", "next", "prev", "alternate"} & set(element.get("rel", "").lower().split())
        and element.get("type", "text/html") == "text/html"
    ]
    hrefs += [
        re.sub("^url=", "", element.get("content").partition(";")[2].strip(), flags=re.IGNORECASE)
        for element in document.iter("meta")
        if element.get("http-equiv", "").lower() == "refresh"
    ]
    base = next((element.get("href") for element in document.iter("base") if element.get("href")), "")
    base = parse(base, url).href
    found = set()
    for href in hrefs:
        if href is not None:
            try:
                found.add(parse(urldefrag(href.strip())[0] or "", base).href)
            except InvalidUrl:
                continue
    return found


def test_real_pages(real_pages: list[tuple[str, bytes]], targets_by_lxml: list[set[str]]) -> None:
    """On pages of real sites, another parser finds the same targets, and there are many."""
    differences = {}
    count = 0
    for (url, body), theirs in zip(real_pages, targets_by_lxml, strict=True):
        ours = set(targets(read_page(url, body, [HTML])))
        count += len(ours)
        if ours != theirs:
            differences[url] = (ours - theirs, theirs - ours)
    assert differences == {}
    assert count > 10 * SAMPLE
