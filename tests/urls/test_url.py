"""URLs: the vectors of the WHATWG and of crawler-commons, properties, and the differences we intend."""

from __future__ import annotations

import socket
import string
from pathlib import Path
from urllib.parse import urlsplit

import ada_url
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from shareddata import csv_vectors, json_vectors
from w3lib.url import canonicalize_url

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.page import charset
from sitecrawl.urls.url import (
    CRAWLED,
    MAX_URL_LENGTH,
    Canonicalizer,
    Url,
    _plain,
    guess_url,
    is_public_name,
    parse,
    path_start,
    site_of,
)

PIECES = st.sampled_from(
    [
        *"/.?#:@ %&=~A-_a1",
        "..",
        "%2e",
        "%41",
        "example.com",
        "1.2.3.4",
        "0x7f",
        ":80",
        ":8080",
        "xn--",
        "b\u00fc",
        "\n",
    ]
)
"""Of which URLs are made that a parser changes, and some that it does not."""

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "urls.md"

INVALID = "(invalid)"

# Input -> our result where it is not the one that crawler-commons expects.
CRAWLER_COMMONS_DIFFERENCES = {
    # an empty path segment is a segment
    "http://foo.com//aa/bb/foo.html": "http://foo.com//aa/bb/foo.html",
    "http://foo.com/aa//bb/foo.html": "http://foo.com/aa//bb/foo.html",
    "http://foo.com/aa/bb//foo.html": "http://foo.com/aa/bb//foo.html",
    "http://foo.com//aa//bb//foo.html": "http://foo.com//aa//bb//foo.html",
    "http://foo.com////aa////bb//foo.html": "http://foo.com////aa////bb//foo.html",
    "http://foo.com////aa////bb////foo.html": "http://foo.com////aa////bb////foo.html",
    # only http and https are crawled, and they have a host
    "file:///foo/bar.txt": INVALID,
    "ftp:/": INVALID,
    "http:////": INVALID,
    "http:///////": INVALID,
    "ftp://foo.com/index.html": INVALID,
    "file:/path/index.html": INVALID,
    "file:/var/www/html/////./bar/index.html": INVALID,
    "file:/var/www/html/foo/../bar/index.html": INVALID,
    # the host stays as it is
    "https://www.example.org./": "https://www.example.org./",
    # an empty value is not the same as none, and an empty name is a name
    "http://foo.com/index?a=1&b=": "http://foo.com/index?a=1&b=",
    "http://foo.com/index?b=&a=1": "http://foo.com/index?a=1&b=",
    "http://foo.com/index?&=1&a=1": "http://foo.com/index?=1&a=1",
    "http://foo.com/index?=1&b=1&a=1": "http://foo.com/index?=1&a=1&b=1",
    # a percent sign that begins no escape is not the same as %25
    "http://www.example.com/a/c/../b/search?q=foobar%": "http://www.example.com/a/b/search?q=foobar%",
    "http://www.example.com/p%zz%77%v": "http://www.example.com/p%zzw%v",
    "http://www.example.com/search?q=foobar%": "http://www.example.com/search?q=foobar%",
    "http://www.example.com/search?q=foobar%2": "http://www.example.com/search?q=foobar%2",
    "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You": "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You",
}
RESOLVE_DIFFERENCES = {
    ("http://user:pass@foo:21/bar;par?b#c", "http://example.org/foo/bar"): "http://foo:21/bar;par?b",
    ("//server/file", "file:///tmp/mock/path"): INVALID,
    ("#right-menu", "https://example.org/product/red-table"): "https://example.org/product/red-table",
}
# URL -> (w3lib's canonical form, ours)
W3LIB_DIFFERENCES = {
    "http://a.b/?b=2&a=2&a=1": ("http://a.b/?a=1&a=2&b=2", "http://a.b/?a=2&a=1&b=2"),
    "http://a.b/?q=a%20b": ("http://a.b/?q=a+b", "http://a.b/?q=a%20b"),
    "http://a.b/?a": ("http://a.b/?a=", "http://a.b/?a"),
    "http://a.b/?q=a,b": ("http://a.b/?q=a%2Cb", "http://a.b/?q=a,b"),
    "http://a.b/?p&utm_source=x": ("http://a.b/?p=&utm_source=x", "http://a.b/?p"),
    "http://a.b/x;jsessionid=1F": ("http://a.b/x;jsessionid=1F", "http://a.b/x"),
    "http://a.b:80/": ("http://a.b:80/", "http://a.b/"),
    "http://u:p@a.b/": ("http://u:p@a.b/", "http://a.b/"),
    "http://a.b/[": ("http://a.b/[", "http://a.b/%5B"),
    "http://a.b/%%34%31": ("http://a.b/%41", "http://a.b/%2541"),
    "http://1/": ("http://1/", "http://0.0.0.1/"),
}


def normalised(url: str, base: str | None = None) -> str:
    try:
        return parse(url, base).href
    except InvalidUrl:
        return INVALID


def canonical(text: str) -> str:
    try:
        return Canonicalizer().canonical(guess_url(text))
    except InvalidUrl:
        return INVALID


def is_web(vector: dict[str, str]) -> bool:
    return vector.get("href", "").startswith(("http://", "https://"))


def test_whatwg_vectors() -> None:
    """Every http(s) URL of the WHATWG's vectors parses as the standard says, but for fragment and credentials."""
    web = [vector for vector in json_vectors("urls/urltestdata.json") if is_web(vector)]
    assert len(web) > 200
    for vector in web:
        url = parse(vector["input"], vector["base"])
        parts = (url.scheme + ":", url.host, url.path, url.query)
        assert parts == (vector["protocol"], vector["host"], vector["pathname"], vector["search"][1:])
        assert url.href == f"{url.scheme}://{url.host}{url.path}{_kept_query(vector)}"


def _kept_query(vector: dict[str, str]) -> str:
    """As in the vector's href, where an empty query keeps its question mark."""
    _, mark, query = vector["href"].partition("#")[0].partition("?")
    return mark + query


def test_whatwg_failures_and_other_schemes() -> None:
    """Whatever the WHATWG's vectors call a failure or give another scheme is no URL to us."""
    other = [vector for vector in json_vectors("urls/urltestdata.json") if not is_web(vector)]
    assert len(other) > 400
    assert {normalised(vector["input"], vector.get("base")) for vector in other} == {INVALID}


def test_to_ascii_vectors() -> None:
    """Host names become ASCII, or are refused, as the WHATWG's vectors say."""
    for vector in json_vectors("urls/toascii.json"):
        expected = f"https://{vector['output']}/x" if vector["output"] is not None else INVALID
        assert normalised(f"https://{vector['input']}/x") == expected


# Where Python's codec differs from the standard's: (input, encoding) -> what we send
PERCENT_ENCODING_DIFFERENCES = {
    ("\u000eA", "iso-2022-jp"): "%0EA",
    ("\ue5e5", "gb18030"): "%A3%A0",
}


def test_percent_encoding_vectors() -> None:
    """A query is percent-encoded in the page's encoding as the WHATWG's vectors say, or as the table above."""
    found = {}
    for vector in json_vectors("urls/percent-encoding.json"):
        for encoding, expected in vector["output"].items():
            name = charset.of_label(encoding)
            assert name is not None
            query = "?" + vector["input"]
            href = query if name == "utf-8" else charset.with_encoded_query(query, name)
            result = parse(href + "#", "https://a.b/").query
            if result != expected:
                found[vector["input"], encoding] = result
    assert found == PERCENT_ENCODING_DIFFERENCES


def test_crawler_commons_vectors() -> None:
    """Every normalisation vector of crawler-commons passes, or differs as the table of differences says."""
    rows = csv_vectors("urls/weirdToNormalizedUrls.csv")
    assert len(rows) > 100
    found = {row[0]: canonical(row[0]) for row in rows if canonical(row[0]) != row[1]}
    assert found == CRAWLER_COMMONS_DIFFERENCES


def test_crawler_commons_resolution() -> None:
    """Every resolution vector of crawler-commons passes, or differs as the table of differences says."""
    rows = csv_vectors("urls/url-resolve.csv")
    assert len(rows) > 15
    results = {(url, base): (normalised(url, base or None), expected) for url, base, expected in rows}
    found = {key: result for key, (result, expected) in results.items() if result != expected}
    assert found == RESOLVE_DIFFERENCES


def test_crawler_commons_invalid() -> None:
    """What crawler-commons calls invalid is invalid."""
    for (url,) in csv_vectors("urls/invalidUrls.csv"):
        assert normalised(url) == INVALID


def test_w3lib_differences() -> None:
    """Our canonical form differs from w3lib's as the table of differences says."""
    found = {url: (canonicalize_url(url), Canonicalizer().canonical(parse(url))) for url in W3LIB_DIFFERENCES}
    assert found == W3LIB_DIFFERENCES
    assert all(theirs != ours for theirs, ours in found.values())


def test_differences_are_documented() -> None:
    """Every intended difference from w3lib, which Scrapy's fingerprints use, stands in the documentation."""
    text = DOCUMENTATION.read_text("utf-8")
    assert [url for url in W3LIB_DIFFERENCES if f"`{url}`" not in text] == []


HOSTS = st.sampled_from(["a.b", "ex-ample.com", "[::1]", "127.0.0.1:8080", "bücher.de", "x.com:80"])
TEXTS = st.text(st.sampled_from(string.printable + "%%%%&&&==;;??éя€/.\\"), max_size=40)
NAMES = st.sampled_from(["utm_source", "sid", "jsessionid", "s", "a", "b", "%41", "%61", ""])
PARTS = st.builds(lambda name, text: f"{name}={text}", NAMES, TEXTS) | TEXTS
QUERIES = st.lists(PARTS, max_size=5).map("&".join)


@st.composite
def urls(draw: st.DrawFn) -> Url:
    """URLs with much that canonicalisation has to look at."""
    scheme = draw(st.sampled_from(["http", "https"]))
    text = f"{scheme}://{draw(HOSTS)}/{draw(TEXTS)};{draw(PARTS)}?{draw(QUERIES)}"
    try:
        return parse(text)
    except InvalidUrl:
        assume(False)
        raise


@given(urls())
@example(parse("http://a.b/%%34%31"))
@example(parse("http://a.b/?%%34%31&%2541"))
@example(parse("http://a.b/;a;jsessionid=1;b"))
@example(parse("http://a.b/x%2E%2e/%2E/"))
def test_canonical_is_idempotent(url: Url) -> None:
    """Canonicalising twice equals once, and a canonical URL parses to itself."""
    once = Canonicalizer().canonical(url)
    assert parse(once).href == once
    assert Canonicalizer().canonical(parse(once)) == once


@given(urls())
def test_canonical_keeps_the_host(url: Url) -> None:
    """Canonicalisation never changes scheme or host."""
    once = parse(Canonicalizer().canonical(url))
    assert (once.scheme, once.host) == (url.scheme, url.host)


@given(urls())
def test_parse_is_idempotent(url: Url) -> None:
    """A parsed URL parses to itself, and is its own parts."""
    assert parse(url.href) == url
    query = f"?{url.query}" if "?" in url.href else ""
    assert f"{url.scheme}://{url.host}{url.path}{query}" == url.href


@given(st.text(max_size=60), st.none() | st.just("http://a.b/c?d"))
def test_parse_raises_only_invalid_url(text: str, base: str | None) -> None:
    """Whatever the text, parsing gives a URL or `InvalidUrl`."""
    assert normalised(text, base) == INVALID or urlsplit(normalised(text, base)).scheme in {"http", "https"}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=8))
def test_order_of_equal_names(pairs: list[tuple[str, str]]) -> None:
    """Sorting the query keeps the order of parameters of the same name."""
    query = "&".join(f"{name}={value}" for name, value in pairs)
    expected = "&".join(f"{name}={value}" for name, value in sorted(pairs, key=lambda pair: pair[0]))
    assert parse(Canonicalizer().canonical(parse(f"http://a.b/?{query}"))).query == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.b/?utm_source=x&utm_medium=y", "http://a.b/"),
        ("http://a.b/?a=1&UTM_Source=x", "http://a.b/?a=1"),
        ("http://a.b/p.php?PHPSESSID=abc&t=3", "http://a.b/p.php?t=3"),
        ("http://a.b/x;jsessionid=0A.n1/y?z", "http://a.b/x/y?z"),
        ("http://a.b/x;v=1;jsessionid=0A", "http://a.b/x;v=1"),
        (
            "http://a.b/entry?sid=0123456789abcdef0123456789abcdef",
            "http://a.b/entry?sid=0123456789abcdef0123456789abcdef",
        ),
        ("http://a.b/?ref=x&id=2&page=1", "http://a.b/?id=2&page=1&ref=x"),
        ("http://a.b/?", "http://a.b/"),
        ("http://a.b/?&&", "http://a.b/"),
        ("http://a.b/%7euser?%7e", "http://a.b/~user?~"),
        ("http://a.b/%2f", "http://a.b/%2F"),
        ("http://a.b/[x]|", "http://a.b/%5Bx%5D%7C"),
        ("http://a.b/100%", "http://a.b/100%"),
        ("http://a.b/%zz%7E", "http://a.b/%zz~"),
    ],
)
def test_canonical(url: str, expected: str) -> None:
    """Tracking, sessions and spellings go; what may choose content stays."""
    assert Canonicalizer().canonical(parse(url)) == expected


def test_dropped_parameters_can_be_changed() -> None:
    """The list of dropped parameters is the caller's: names and prefixes."""
    mine = Canonicalizer(drop=["Lang", "x-*"])
    url = parse("http://a.b/?utm_source=1&lang=de&X-y=2&token=12")
    assert mine.canonical(url) == "http://a.b/?token=12&utm_source=1"
    assert Canonicalizer(drop=()).canonical(parse("http://a.b/?utm_source=1")) == "http://a.b/?utm_source=1"


def test_parse_drops_fragment_and_credentials() -> None:
    """What is fetched carries neither fragment nor credentials."""
    assert parse("https://user:secret@Example.com:8443/a#b") == Url("https://example.com:8443/a", "example.com:8443")


@pytest.mark.parametrize(
    "url", ["mailto:a@b.c", "javascript:void(0)", "data:,x", "ftp://a/", "/relative", "", "http://"]
)
def test_parse_refuses(url: str) -> None:
    """What is no absolute http(s) URL is an error that shows it."""
    with pytest.raises(InvalidUrl, match=r"no URL|no http"):
        parse(url)


@pytest.mark.parametrize(
    ("url", "href", "canonical"),
    [
        ("FTP://joe:pw@A.example:21/x/../y#z", "ftp://a.example/y", "ftp://a.example/y"),
        ("ftp://h", "ftp://h/", "ftp://h/"),
        ("ftp://h/%7ejoe/%c3", "ftp://h/%7ejoe/%c3", "ftp://h/~joe/%C3"),
        ("ftp://h/a;type=I", "ftp://h/a;type=I", "ftp://h/a"),
        ("ftp://h/a;type=d", "ftp://h/a;type=d", "ftp://h/a;type=d"),
        ("ftp://h/a;jsessionid=1?b&a&utm_x", "ftp://h/a;jsessionid=1?b&a&utm_x", "ftp://h/a;jsessionid=1?b&a&utm_x"),
    ],
)
def test_ftp(url: str, href: str, canonical: str) -> None:
    """All of the path names a file, so nothing of it is dropped but how the file is to be sent."""
    parsed = parse(url, schemes=CRAWLED)
    assert (parsed.href, parsed.path + "?" * bool(parsed.query) + parsed.query) == (href, href[path_start(href) :])
    assert Canonicalizer().canonical(parsed) == canonical
    assert Canonicalizer().canonical(parse(canonical, schemes=CRAWLED)) == canonical


@pytest.mark.parametrize(
    "url", ["ftp://h/a%0aDELE b", "ftp://h/a%0D", "ftp://h/a%00", "gopher://h/", "ftp:/", "ftps://h/"]
)
def test_ftp_refuses(url: str) -> None:
    """What would be two commands is no URL, whoever asks."""
    with pytest.raises(InvalidUrl, match=r"no http.* or ftp URL|no URL"):
        parse(url, schemes=CRAWLED)


@pytest.mark.parametrize("url", ["http://a.b/" + "x" * 10_000_000, "http://a.b/" + "é" * 2000])
def test_parse_refuses_what_is_too_long(url: str) -> None:
    """A URL that is too long, also only when it is encoded, is refused in a message that is short."""
    with pytest.raises(InvalidUrl, match=f"{MAX_URL_LENGTH} is the limit") as error:
        parse(url)
    assert len(str(error.value)) < 300


def test_parse_refuses_lone_surrogates() -> None:
    """A string that is no Unicode text is no URL."""
    with pytest.raises(InvalidUrl):
        parse("http://a.b/\ud800")


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("www.example.com", "example.com"),
        ("www.example.com:8080", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("one.github.io", "one.github.io"),
        ("www.one.github.io", "one.github.io"),
        ("github.io", "github.io"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("www.example.com.", "example.com"),
        ("localhost", "localhost"),
        ("localhost:8000", "localhost:8000"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("[::1]", "[::1]"),
        ("[::1]:8000", "[::1]:8000"),
        ("intranet", "intranet"),
    ],
)
def test_site_of(host: str, site: str) -> None:
    """A site is the registrable domain; what has none is a site of its own, port included."""
    assert site_of(host) == site


def test_site_of_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Public Suffix List comes with the package."""

    def refuse(*args: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert site_of("never.asked.before.example.org") == "example.org"


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("example.com", "http://example.com/"),
        ("  example.com/path \n", "http://example.com/path"),
        ("example.com?q=a@b", "http://example.com/?q=a@b"),
        ("EXAMPLE.com:8080", "http://example.com:8080/"),
        ("localhost", "http://localhost/"),
        ("localhost:8000/x", "http://localhost:8000/x"),
        ("intranet:8000", "http://intranet:8000/"),
        ("//host/x", "http://host/x"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/"),
        ("[::1]:8000/x", "http://[::1]:8000/x"),
        ("bücher.de", "http://xn--bcher-kva.de/"),
        ("https://bücher.de/ä", "https://xn--bcher-kva.de/%C3%A4"),
        ("HTTPS://Example.com", "https://example.com/"),
        ("http://intranet/", "http://intranet/"),
        ("example.com/a b", "http://example.com/a%20b"),
        ("example.com/a//b@c", "http://example.com/a//b@c"),
        ("http:\\\\example.com\\x", "http://example.com/x"),
        ("HTTPS:/\\example.com/@x", "https://example.com/@x"),
        ("http:///example.com:80/a:b@c", "http://example.com/a:b@c"),
    ],
)
def test_guess_url(text: str, href: str) -> None:
    """What people type as a seed is understood."""
    assert guess_url(text).href == href


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("not a url", "is no URL: write one like"),
        ("word", "is no URL: write one like"),
        ("/a/path", "is no URL: write one like"),
        ("./here", "is no URL: write one like"),
        ("///x", "is no URL: write one like"),
        ("me@example.com", "is no URL: write one like"),
        ("http:example.com", "is no URL: write one like"),
        ("mailto:me@example.com", "its scheme is mailto:"),
        ("ftp://example.com/", "its scheme is ftp:"),
        ("file:///etc/passwd", "its scheme is file:"),
        ("javascript:alert(1)", "its scheme is javascript:"),
        ("http://", "is no URL"),
        ("example.com:99999", "is no URL"),
        ("https://user:secret@example.com/", "user name"),
        ("http:///user:secret@example.com/", "user name"),
        ("http:\\\\user:secret@example.com/", "user name"),
        ("http:/\\user:secret@example.com/", "user name"),
        ("http://\tuser:secret@example.com/", "user name"),
        ("//user:secret@example.com/", "user name"),
        ("user:secret@example.com/x", "its scheme is user:"),
        ("http:user:secret@example.com/", "is no URL: write one like"),
        ("http:/user:secret@example.com/", "is no URL: write one like"),
        ("http://user:secret@example.com:99999/", "is no URL"),
        ("http://user:se/secret@example.com/", "is no URL"),
        ("http://user:a@secret@exa mple.com/@x", "is no URL"),
        ("http://user:secret", "is no URL"),
        (f"http://user:{'x' * 90}secret@example.com:99999/", "is no URL"),
        ("ftp://user:secret@example.com/", "its scheme is ftp:"),
    ],
)
def test_guess_url_refuses(text: str, message: str) -> None:
    """What cannot be a seed is refused in one line that tells why, and that shows no password."""
    with pytest.raises(InvalidUrl, match=message) as error:
        guess_url(text)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a.example.com", True),
        ("example.co.uk:8080", True),
        ("a.github.io", True),
        ("com", True),
        ("localhost", False),
        ("intranet:8080", False),
        ("wiki.intranet", False),
        ("a.internal", False),
        ("a.test", False),
        ("nas.home.arpa", False),
        ("10.0.0.1:80", False),
        ("[fd00::1]:80", False),
    ],
)
def test_names_that_anybody_could_have(host: str, expected: bool) -> None:
    """Those below a suffix of the Public Suffix List."""
    assert is_public_name(host) is expected


@given(st.sampled_from(["http://", "https://"]), st.lists(PIECES).map("".join))
@example("http://", "example.com/a/.../..b?c=%2e/..")
@example("http://", "127.0.0.1:8080//a/")
def test_what_needs_no_parser(beginning: str, rest: str) -> None:
    """What is taken for its own serialisation is what the parser makes of it, whatever it is relative to."""
    url = beginning + rest
    if (found := _plain(url)) is not None:
        assert ada_url.normalize_url(url) == ada_url.join_url("http://other.example/a/b?c", url) == found.href == url
        assert found.host == ada_url.URL(url).host
    for plain in ("example.com/", "example.com:8080/a/b.html?c=d", "127.0.0.1/a"):
        assert _plain(beginning + plain) is not None
