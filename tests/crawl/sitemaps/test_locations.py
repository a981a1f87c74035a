"""Finding sitemaps: what robots.txt and front pages name, the usual addresses, and what is no sitemap."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from io import BytesIO

import pytest
from protego import Protego
from shareddata import shared

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.crawl.sitemaps.entry import Form, ParseReport
from sitecrawl.crawl.sitemaps.locations import (
    SitemapAnswer,
    _is_name,
    in_robots,
    is_sitemap,
    may_list,
    on_page,
    usual,
)
from sitecrawl.page.links import read_page
from sitecrawl.urls.url import parse

try:
    from compression import zstd
except ImportError:
    from backports import zstd

ROBOTS = "http://a.example/robots.txt"
HTML = [(b"content-type", b"text/html; charset=utf-8")]


def hrefs(body: bytes) -> list[str]:
    return [url.href for url in in_robots(body, ROBOTS)]


def real_robots() -> Iterator[tuple[str, bytes]]:
    """Host and robots.txt of 600 well-known sites."""
    packed = shared("robots/real-robots-600.tar.zst").read_bytes()
    with tarfile.open(fileobj=BytesIO(zstd.decompress(packed))) as files:
        for member in files:
            if member.isfile() and (file := files.extractfile(member)):
                yield member.name.rpartition("/")[2], file.read()


class TestRobots:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("Sitemap: http://a.example/s.xml", "s.xml"),
            ("sitemap:/s.xml", "s.xml"),
            ("  SITEMAP :\thttp://a.example/s.xml # ours", "s.xml"),
            ("Site-map: s.xml", "s.xml"),
            ("Sitemap:\u00a0http://a.example/s.xml", "s.xml"),
            ("http://a.example/my-sitemap.xml.gz # generated", "my-sitemap.xml.gz"),
            ("Disallow: /sitemap.xml", None),
            ("# Sitemap: http://a.example/s.xml", None),
            ("<a href='http://a.example/sitemap'>Sitemap</a>", None),
            ("Sitemap:", None),
            ("Sitemap: mailto:a@a.example", None),
        ],
    )
    def test_line(self, line: str, expected: str | None) -> None:
        """A line names a sitemap in the spellings that occur; comments, rules and markup do not."""
        assert hrefs(f"User-agent: *\r{line}\rDisallow:\n".encode()) == (
            [f"http://a.example/{expected}"] if expected else []
        )

    def test_each_once(self) -> None:
        """A sitemap that is named twice is one."""
        assert hrefs(b"Sitemap: /s.xml\nSitemap: http://a.example/s.xml") == ["http://a.example/s.xml"]

    @pytest.mark.parametrize("name", ["robots-with-utf16be-bom.txt", "robots-with-utf16le-bom.txt"])
    def test_utf16(self, name: str) -> None:
        """UTF-16 with a byte order mark is read as such."""
        assert hrefs(shared(f"robots/{name}").read_bytes()) == ["http://www.newsweek.com/sitemap_index.xml"]

    def test_shared_files(self) -> None:
        """A relative line, duplicates, mixed case, and a line that forgot its name."""
        assert hrefs(shared("robots/relative-sitemap-robots.txt").read_bytes()) == ["http://a.example/sitemap.xml"]
        assert len(hrefs(shared("robots/sitemap-robots-dedup.txt").read_bytes())) == 1
        assert hrefs(shared("robots/sitemap-robots.txt").read_bytes()) == [
            "http://domain.com/sitemap.xml",
            "http://domain.com/dir/my-sitemap.xml",
            "http://domain.com/dir/MixedCased-sitemap.xml",
        ]

    def test_600_real_ones(self) -> None:
        """What Protego finds in 600 real files is found, but for two lines; they are in docs/sitemaps.md."""
        differ = {}
        found = 0
        for host, body in real_robots():
            base = f"http://{host}/robots.txt"
            ours = {url.href for url in in_robots(body, base)}
            theirs = set()
            for line in Protego.parse(body.decode("utf-8", "replace")).sitemaps:
                try:
                    theirs.add(parse(line, base).href)
                except InvalidUrl:
                    continue
            found += len(ours)
            if ours != theirs:
                differ[host] = len(ours - theirs), len(theirs - ours)
        assert differ == {"case.edu": (1, 1), "www.hotnigerianjobs.com": (1, 0)}
        assert found == 2_246


class TestFrontPage:
    @pytest.mark.parametrize(
        "text",
        [
            "站点地图", "网站地图", "网站导航", "site map", "Sitemap", "SITE-MAP", "plan du site",
            "Inhaltsverzeichnis", "mapa del sitio", "карта сайта", "サイトマップ", "XML Sitemap", "» Karta weba",
            "Site\u00a0Map", "साइट मैप",
        ],
    )  # fmt: skip
    def test_name(self, text: str) -> None:
        """A link's text names a site map in many languages."""
        assert _is_name(text)

    @pytest.mark.parametrize(
        "text", ["", "map", "site", "How to write a sitemap for your new web shop", "mapa", "Plan", "!!", "Contents"]
    )
    def test_no_name(self, text: str) -> None:
        """Other words do not, nor does a sentence about site maps."""
        assert not _is_name(text)

    def test_links(self) -> None:
        """Anchors by their text or title, `rel=sitemap`, and feeds; relative to the page's base, each once."""
        page = """<base href="/de/"><link rel="sitemap" href="/s.xml"><link rel="alternate" href="/de/other">
            <link rel="alternate" type="application/rss+xml" href="/rss">
            <link rel=stylesheet href=x.css>
            <link rel="alternate" type="application/atom+xml" href="/atom"><link rel=sitemap>
            <a href="karte"><img alt=""><b>Site</b>map</a><a href="about">About us</a>
            <a href="karte#top">Inhaltsverzeichnis</a><a href="x" title="Mapa web">*</a>
            <a href="mailto:x">Sitemap</a>"""
        for charset in ("utf-8", "windows-1252"):
            body = page.encode(charset)
            facts = read_page("http://a.example/", body, [(b"content-type", f"text/html;charset={charset}".encode())])
            assert [url.href for url in on_page(body, facts)] == [
                f"http://a.example/{path}" for path in ("s.xml", "rss", "atom", "de/karte", "de/x")
            ]

    def test_chinese(self) -> None:
        """The page's charset is minded."""
        body = '<a href="/m">网站地图</a>'.encode("gb18030")
        facts = read_page("http://a.example/", body, [(b"content-type", b"text/html; charset=gb2312")])
        assert [url.href for url in on_page(body, facts)] == ["http://a.example/m"]


class TestUsual:
    def test_order(self) -> None:
        """The likeliest come first, then the defaults of systems; no address stands there twice."""
        found = [
            url.href.removeprefix("https://a.example:8443/") for url in usual(parse("https://a.example:8443/x/y?z"))
        ]
        assert found[:12] == [
            "sitemap.xml", "sitemap_index.xml", "sitemap.txt", "sitemap.html", "sitemap.htm", "sitemap.php",
            "sitemap.asp", "sitemap.jsp", "sitemap_baidu.xml", "sitemap", "sitemap.xml.gz", "data/sitemap.html",
        ]  # fmt: skip
        assert {"wp-sitemap.xml", "feed"} < set(found)
        assert len(found) == len(set(found))


def html(url: str, text: str, title: str = "", status: int = 200) -> SitemapAnswer:
    body = f"<title>{title}</title><p>{text}".encode()
    return SitemapAnswer.of(url, status, body, read_page(url, body, HTML))


class TestSoft404:
    MAP = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    LOST = "sorry the page that you are looking for has gone away please use our search or go to the front page"

    def test_xml(self) -> None:
        """What parses as a sitemap and lists something is one; an empty one or an error is none."""
        answer = SitemapAnswer("http://a.example/sitemap.xml", 200)
        assert is_sitemap(answer, ParseReport(Form.URLSET, entries=1), missing=None)
        assert not is_sitemap(answer, ParseReport(Form.URLSET), missing=None)
        assert not is_sitemap(
            SitemapAnswer("http://a.example/s", 404), ParseReport(Form.URLSET, entries=1), missing=None
        )

    def test_page(self) -> None:
        """A page is one where the host tells right addresses from wrong ones, or it links to several pages."""
        page, report = html("http://a.example/sitemap.html", self.MAP), ParseReport(Form.HTML, entries=9)
        honest = html("http://a.example/x", self.LOST, status=404)
        assert is_sitemap(page, report, missing=honest)
        assert is_sitemap(page, ParseReport(Form.HTML, entries=2), missing=honest)
        soft = html("http://a.example/x", self.LOST)
        assert is_sitemap(page, report, missing=soft)
        assert not is_sitemap(page, ParseReport(Form.HTML, entries=2), missing=soft)

    def test_soft_404(self) -> None:
        """What looks like a page that cannot exist, is where that was, says so, or is the front page, is none."""
        report = ParseReport(Form.HTML, entries=9)
        lost = html("http://a.example/x", self.LOST)
        assert not is_sitemap(html("http://a.example/sitemap.html", self.LOST + "!"), report, missing=lost)
        assert not is_sitemap(html("http://a.example/x", self.MAP), report, missing=lost)
        assert not is_sitemap(html("http://a.example/s", self.MAP, "404 - Not Found"), report, missing=None)
        assert not is_sitemap(html("http://a.example/", self.MAP), report, missing=None)


@pytest.mark.parametrize(
    ("sitemap", "vouchers", "host", "allowed"),
    [
        ("a.example", set(), "a.example", True),
        ("www.a.example", set(), "a.example", True),
        ("a.example:8080", set(), "a.example", True),
        ("a.example", set(), "b.example", False),
        ("a.example", set(), "blog.a.example", False),
        ("a.example", {"b.example"}, "b.example", True),
        ("a.example", {"b.example"}, "c.example", False),
    ],
)
def test_may_list(sitemap: str, vouchers: set[str], host: str, *, allowed: bool) -> None:
    """A sitemap speaks for its own host, and for hosts whose robots.txt names it."""
    assert may_list(sitemap, vouchers, host) == allowed
