"""Reading sitemaps: every form, every way of being broken, any size."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Iterator
from itertools import pairwise, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shareddata import shared

from sitecrawl.crawl.sitemaps import parse, parse_xml
from sitecrawl.crawl.sitemaps.entry import Entry, Form, Limits, ParseReport, Problem, Resolver, unix_time
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_in_steps, read_sitemap
from sitecrawl.page.codings import MAX_MEMBERS

BASE = "http://a.example/maps/sitemap.xml"
HEAD = b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
END = b"</urlset>"
IMAGE = "<image:image><image:title>t</image:title> <image:loc>/i</image:loc>\n</image:image>"


def url(path: bytes) -> bytes:
    return b"<url><loc>http://a.example/" + path + b"</loc></url>"


def read(data: bytes, base: str | None = BASE, **options: object) -> tuple[list[Entry], ParseReport]:
    report = ParseReport()
    return list(read_sitemap(chunks_of(data), base, report, **options)), report  # type: ignore[arg-type]


def paths(data: bytes) -> list[str]:
    return [entry.url.href.removeprefix("http://a.example/") for entry in read(data)[0]]


# Real files: form, entries, skipped.
REAL = {
    "rss/feed.rss": (Form.RSS, 4, 0),
    "rss/xmlRss_pubDate.xml": (Form.RSS, 7, 0),
    "sitemaps/atom.xml": (Form.ATOM, 1, 0),
    "sitemaps/do-not-visit.txt": (Form.TEXT, 1, 0),
    "sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml": (Form.URLSET, 74, 0),
    "sitemaps/extension/pagemaps-sitemap.xml": (Form.URLSET, 2, 0),
    "sitemaps/extension/shinpaideshou-news-sitemap.xml": (Form.URLSET, 3, 0),
    "sitemaps/extension/sitemap-images.xml": (Form.URLSET, 1, 0),
    "sitemaps/extension/sitemap-links.xml": (Form.URLSET, 3, 0),
    "sitemaps/extension/sitemap-mobile.xml": (Form.URLSET, 3, 0),
    "sitemaps/extension/sitemap-news.xml": (Form.URLSET, 2, 0),
    "sitemaps/extension/sitemap-videos-tvshow.xml": (Form.URLSET, 1, 0),
    "sitemaps/extension/sitemap-videos.xml": (Form.URLSET, 3, 0),
    "sitemaps/sitemap-with-bom.txt": (Form.TEXT, 2, 0),
    "sitemaps/sitemap.badns.xml": (Form.URLSET, 2, 0),
    "sitemaps/sitemap.index.xml": (Form.INDEX, 15, 0),
    "sitemaps/sitemap.ns.xml": (Form.URLSET, 2, 0),
    "sitemaps/sitemap.txt": (Form.TEXT, 2, 0),
    "sitemaps/sitemap.txt.gz": (Form.TEXT, 5, 0),
    "sitemaps/xmlSitemap.gz": (Form.URLSET, 5, 0),
}


class TestRealFiles:
    def test_the_table_is_whole(self) -> None:
        """Every file of the shared data has its row."""
        root = shared("sitemaps")
        assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == REAL.keys()

    @pytest.mark.parametrize("name", REAL)
    def test_file(self, name: str) -> None:
        """Every real file is read as what it is, and all of its entries."""
        entries, report = read(shared(f"sitemaps/{name}").read_bytes())
        assert (report.form, len(entries), report.skipped) == REAL[name]
        assert report.problems == Problem.NONE
        assert all(entry.is_sitemap == (report.form == Form.INDEX) for entry in entries)

    def test_values(self) -> None:
        """Dates, frequencies and alternates are those of the entry around them."""
        first = read(shared("sitemaps/sitemaps/xmlSitemap.gz").read_bytes())[0][0]
        assert (first.lastmod, first.changefreq) == (unix_time("2005-01-01"), "monthly")
        links = read(shared("sitemaps/sitemaps/extension/sitemap-links.xml").read_bytes())[0]
        assert [len(entry.alternates) for entry in links] == [3, 3, 3]
        (image,) = read(shared("sitemaps/sitemaps/extension/sitemap-images.xml").read_bytes())[0]
        assert image.url.href == "http://www.example.com/images/some_image_landing_page.html"
        news = read(shared("sitemaps/sitemaps/extension/sitemap-news.xml").read_bytes())[0]
        assert [entry.lastmod for entry in news] == [unix_time("2008-12-23"), unix_time("2025-05-27")]
        rss = read(shared("sitemaps/rss/xmlRss_pubDate.xml").read_bytes())[0]
        assert [entry.lastmod for entry in rss[:4]] == [1483619691.0 + second for second in range(4)]


BROKEN = {
    "an ampersand": url(b"1") + url(b"2?a=1&b=2") + url(b"3"),
    "Windows-1252": url(b"1") + url(b"2caf\xe9") + url(b"3"),
    "an undeclared entity": url(b"1") + b"<url><loc>http://a.example/2</loc><t>&nbsp;</t></url>" + url(b"3"),
    "a control character": url(b"1") + url(b"2\x0b") + url(b"3"),
    "a NUL": url(b"1") + b"<url>\0<loc>http://a.example/2</loc></url>" + url(b"3"),
    "an unclosed loc": url(b"1") + b"<url><loc>http://a.example/2</url>" + url(b"3"),
    "an unclosed url": url(b"1") + b"<url><loc>http://a.example/2</loc>" + url(b"3"),
    "an unclosed image": url(b"1") + b"<url><loc>http://a.example/2</loc><image:image></url>" + url(b"3"),
    "a bare <": url(b"1") + b"<url><loc>http://a.example/2</loc><t>a < b</t></url>" + url(b"3"),
    "an unquoted attribute": url(b"1") + b"<url a=b><loc>http://a.example/2</loc></url>" + url(b"3"),
    "an attribute twice": url(b"1") + b"<url a='' a=''><loc>http://a.example/2</loc></url>" + url(b"3"),
    "an undeclared prefix": url(b"1") + b"<x:url><x:loc>http://a.example/2</x:loc></x:url>" + url(b"3"),
    "capitals": url(b"1") + b"<URL><LOC>http://a.example/2</LOC></URL>" + url(b"3"),
    "CDATA": url(b"1") + url(b"<![CDATA[2?a=1&b=2]]>") + url(b"3"),
    "dashes in a comment": url(b"1") + b"<!-- a -- b -->" + url(b"2") + url(b"3"),
    "two documents": url(b"1") + END + HEAD + url(b"2") + url(b"3"),
    "a second declaration": url(b"1") + b'<?xml version="1.0"?>' + url(b"2") + url(b"3"),
    "an end without beginning": url(b"1") + b"</sitemap></loc>" + url(b"2") + url(b"3"),
}


ENTRY_PARTS = [
    "<url>", "</url>", "<sitemap>", "</sitemap>", "<loc>http://a.example/1</loc>", "<loc> /2 </loc>", "<loc></loc>",
    "<loc><![CDATA[http://a.example/3?a=1&amp;b=2]]></loc>", "<loc>/x<![CDATA[/4", "]]></loc>", "<loc>", "</loc>",
    "<lastmod>2024-01-01</lastmod>", "<lastmod>2025-01-01</lastmod>", "<changefreq>daily</changefreq>",
    "<changefreq>x</changefreq>", "<priority>0.5</priority>", "<mobile:mobile/>", " ", "text", "<!-- -->",
    "<image:image>",
    "<image:loc>/i</image:loc>", "<image:loc> <![CDATA[/j?a&amp;b]]></image:loc>", "<image:loc></image:loc>",
    "<image:title>t</image:title>", "<image:caption><![CDATA[c]]></image:caption>", IMAGE, "</image:image>",
    "<image:x/>", '<xhtml:link rel="alternate" href="/de"/>',
    '<xhtml:link rel="x" href="/en" />', "<xhtml:link href='/fr'>",
]  # fmt: skip


PART = st.sampled_from(ENTRY_PARTS)
LOC = st.sampled_from(["", "<loc>/0</loc>", "<priority>http://a.example/5</priority>"])


@given(st.lists(st.builds(lambda loc, parts: [loc, *parts], LOC, st.lists(PART, max_size=7)), max_size=4))
def test_short_ways(records: list[list[str]]) -> None:
    """Entries that are read as a whole are the same as by their tags."""
    text = "".join(f"<url>{''.join(parts)}</url>" for parts in records)
    found = []
    for has_plain in (True, False):
        reader = parse_xml._Reader(Form.URLSET, Resolver(BASE), report := ParseReport())
        reader._has_short_way = has_plain
        reader.feed(text)
        reader.end()
        found.append((reader.take(), report))
    assert found[0] == found[1]


class TestBroken:
    @pytest.mark.parametrize("what", BROKEN)
    def test_three_entries(self, what: str) -> None:
        """Whatever is wrong with one entry, all three are read."""
        assert [path[:1] for path in paths(HEAD + BROKEN[what] + END)] == ["1", "2", "3"]

    @pytest.mark.parametrize("junk", [b"\n\n", b"<br />\n<b>Warning</b>: x.php on line 3\n", b"\xef\xbb\xbf"])
    def test_junk_before_the_declaration(self, junk: bytes) -> None:
        """What stands before the XML does not matter."""
        assert paths(junk + HEAD + url(b"1") + END) == ["1"]

    def test_no_root(self) -> None:
        """Entries count without a root element, and with one that is none."""
        assert paths(url(b"1")) == ["1"]
        assert paths(b"<map>" + url(b"1") + b"</map>") == ["1"]
        assert read(b"<sitemap><loc>http://a.example/1</loc></sitemap>")[1].form == Form.INDEX

    def test_torn(self) -> None:
        """Of a sitemap that ends too early, whole entries count, and no URL that may be cut."""
        entries, report = read(HEAD + url(b"1") + b"<url><loc>http://a.example/2</loc><lastm")
        assert (len(entries), report.problems) == (2, Problem.TORN)
        entries, report = read(HEAD + url(b"1") + b"<url><loc>http://a.example/2/and-mo")
        assert (len(entries), report.problems) == (1, Problem.TORN)

    def test_utf16(self) -> None:
        """UTF-16 is read with a byte order mark and without, whatever the declaration says."""
        text = (HEAD + url(b"1") + END).decode()
        for encoding in ("utf-16", "utf-16le", "utf-16be"):
            assert paths(text.encode(encoding)) == ["1"]

    def test_declared_charset(self) -> None:
        """The XML declaration's encoding is stronger than the header's."""
        data = HEAD.replace(b"UTF-8", b"windows-1251") + url("я".encode("windows-1251")) + END
        assert read(data, label="utf-8")[0][0].url.href == "http://a.example/%D1%8F"

    def test_entities(self) -> None:
        """Declared entities are not expanded: their URLs are skipped, the others are read."""
        bomb = b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b SYSTEM 'file:///etc/passwd'>]>" + HEAD
        entries, report = read(bomb + url(b"1") + url(b"&a;") + url(b"&b;") + END)
        assert [entry.url.href for entry in entries] == ["http://a.example/1"]
        assert (report.skipped, report.problems) == (2, Problem.ENTITIES)

    def test_relative(self) -> None:
        """A relative URL counts from the sitemap, and one without scheme is what its author meant."""
        locs = [b"x", b"/y", b"//b.example/z", b"www.b.example/v", b"a.example/w"]
        data = HEAD + b"".join(b"<url><loc> %s\n</loc></url>" % loc for loc in locs) + END
        found = [entry.url.href for entry in read(data)[0]]
        assert found == [
            "http://a.example/maps/x", "http://a.example/y", "http://b.example/z", "http://www.b.example/v",
            "http://a.example/w",
        ]  # fmt: skip

    def test_no_url(self) -> None:
        """What is no http(s) URL is counted, and the first is named."""
        locs = [b"", b"mailto:a@b.example", b"http://", b"x" * 20_000]
        entries, report = read(HEAD + b"".join(b"<url><loc>%s</loc></url>" % loc for loc in locs) + END)
        assert (entries, report.skipped, report.wrong) == ([], 4, "mailto:a@b.example")


class TestForms:
    def test_index_and_pages_mixed(self) -> None:
        """What an entry is, its own element says."""
        data = HEAD + url(b"1") + b"<sitemap><loc>http://a.example/2</loc></sitemap>" + END
        assert [entry.is_sitemap for entry in read(data)[0]] == [False, True]

    def test_rss_1(self) -> None:
        """RSS 1 is RDF: items outside of the channel, dates from Dublin Core."""
        data = b"""<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><link>http://a.example/</link></channel>
            <image><url>http://a.example/logo.png</url><link>http://a.example/</link></image>
            <item rdf:about="http://a.example/1"><link>http://a.example/1</link><dc:date>2024-05-01</dc:date></item>
            <item rdf:about="http://a.example/2"><title>no link</title></item></rdf:RDF>"""
        entries, report = read(data)
        assert (report.form, [entry.url.href[-1] for entry in entries]) == (Form.RSS, ["1", "2"])
        assert entries[0].lastmod == unix_time("2024-05-01")

    def test_rss_2_link_of_atom(self) -> None:
        """An `atom:link` of an item is not its link."""
        data = b"<rss><item><atom:link href='/self'/><link>/1</link><source url='/o'>o</source></item></rss>"
        assert paths(data) == ["1"]

    def test_atom(self) -> None:
        """An entry's alternate link counts from `xml:base`, and nothing within its content counts."""
        data = b"""<feed xml:base="/blog/"><link href="/"/><entry><link rel="self" href="no"/>
            <content type="xhtml"><link href="no"/><updated>1999-01-01</updated></content>
            <link href="1"/><updated>2024-05-01T00:00:00Z</updated></entry></feed>"""
        (entry,) = read(data)[0]
        assert (entry.url.href, entry.lastmod) == ("http://a.example/blog/1", unix_time("2024-05-01"))

    def test_json(self) -> None:
        """A JSON Feed's items have their URL, or an id that is one."""
        items = [{"url": "/1", "date_published": "2024-05-01"}, {"id": "http://a.example/2"}, {"id": "3"}, 4]
        entries, report = read(json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items}).encode())
        assert [entry.url.href for entry in entries] == ["http://a.example/1", "http://a.example/2"]
        assert (report.form, report.skipped, entries[0].lastmod) == (Form.JSON, 2, unix_time("2024-05-01"))

    def test_text(self) -> None:
        """Text has a URL a line; comments, empty lines and what follows the URL do not count."""
        entries, report = read(b"# map\r\n\r\nhttp://a.example/1\r\nhttp://a.example/2\t2024-01-01\nword\n")
        assert ([entry.url.href[-1] for entry in entries], report.skipped) == (["1", "2"], 1)

    def test_html(self) -> None:
        """A page lists what it links to, but for what is nofollow."""
        data = b"<!doctype html><title>Map</title><a href=1>1</a><a href=2 rel=nofollow>2</a><a href='mailto:x'>x</a>"
        entries, report = read(data)
        assert [entry.url.href for entry in entries] == ["http://a.example/maps/1"]
        assert report.form == Form.HTML

    @pytest.mark.parametrize(
        "data", [b"", b"\0\0", b"hello", b"{}", b"[1]", b"<svg></svg>", b"\x89PNG\r\n", b"<", b"\x1f\x8b"]
    )
    def test_none(self, data: bytes) -> None:
        """What lists nothing is no sitemap."""
        assert read(data)[0] == []
        assert read(data)[1].form in {Form.UNKNOWN, Form.JSON}


class TestGzip:
    PLAIN = HEAD + b"".join(url(b"%d" % number) for number in range(5_000)) + END

    @pytest.mark.parametrize("times", [1, 2])
    def test_packed(self, times: int) -> None:
        """gzip is seen by its bytes, also when it was applied twice, and in several members."""
        data = self.PLAIN
        for _ in range(times):
            data = gzip.compress(data[:1000]) + gzip.compress(data[1000:])
        entries, report = read(data)
        assert (len(entries), report.size, report.problems) == (5_000, len(self.PLAIN), Problem.NONE)

    def test_damaged(self) -> None:
        """What stands before the damage counts, and the damage is told."""
        packed = gzip.compress(self.PLAIN)
        for data in (packed[: len(packed) // 2], packed[: len(packed) // 2] + bytes(500), packed[:-8] + bytes(8)):
            entries, report = read(data)
            assert len(entries) > 100
            assert Problem.TORN in report.problems

    def test_bomb(self) -> None:
        """A bomb is unpacked in small pieces, and no farther than the limit."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        packed = packer.compress(HEAD) + b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
        tracemalloc.start()
        _, report = read(packed, limits=Limits(max_bytes=8 << 20))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        tracemalloc.stop()
        assert Problem.CUT in report.problems

    def test_empty_members(self) -> None:
        """They are work, and there are so many: what follows is not read."""
        empty = gzip.compress(b"")
        entries, report = read(gzip.compress(self.PLAIN) + empty * (MAX_MEMBERS - 2) + bytes(3) + empty)
        assert (len(entries), report.problems) == (5_000, Problem.NONE)
        entries, report = read(gzip.compress(self.PLAIN) + empty * MAX_MEMBERS)
        assert (len(entries), report.problems) == (5_000, Problem.CUT)

    def test_a_bomb_within_a_bomb(self) -> None:
        """What unpacks to nothing has a limit where it is unpacked first."""
        nothing = bytes((0, 0, 0, 255, 255)) * (2 << 20)
        packed = gzip.compress(gzip.compress(self.PLAIN)[:10] + nothing)
        _, report = read(packed, limits=Limits(max_bytes=1 << 20))
        assert Problem.CUT in report.problems


class TestLimits:
    def test_the_protocols(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the protocol's limits all is read, and told."""
        monkeypatch.setattr(parse, "PROTOCOL_ENTRIES", 2)
        monkeypatch.setattr(parse, "PROTOCOL_BYTES", 100)
        entries, report = read(HEAD + url(b"1") + url(b"2") + url(b"3") + END)
        assert (len(entries), report.problems) == (3, Problem.LARGE | Problem.LONG)

    def test_ours(self) -> None:
        """Reading ends at the hard limits, which is told."""
        data = HEAD + url(b"1") + url(b"2") + url(b"3") + END
        entries, report = read(data, limits=Limits(max_entries=2))
        assert (len(entries), report.problems) == (2, Problem.CUT)
        entries, report = read(data, limits=Limits(max_bytes=len(HEAD) + len(url(b"1")) + 10))
        assert (len(entries), report.problems) == (1, Problem.CUT | Problem.TORN)
        assert read(data, limits=Limits(max_entries=3, max_bytes=len(data)))[1].problems == Problem.NONE

    def test_steps(self) -> None:
        """However a sitemap is made, each step is short, also where there is nothing in it."""
        packed = gzip.compress(HEAD + b" " * (5 << 20) + url(b"1") * 5000 + END)
        steps = [len(entries) for entries in read_in_steps(chunks_of(packed), BASE, ParseReport())]
        assert (sum(steps), len(steps) > 80, max(steps) < 2000) == (5000, True, True)

    @pytest.mark.parametrize(
        ("head", "piece"),
        [
            (HEAD, url(b"some/page.html") * 1000),
            (HEAD + b"<url><loc>", b"x" * 65_536),
            (HEAD + b"<url a='", b"x" * 65_536),
            (HEAD + b"<!--", b"- " * 30_000),
            (HEAD + b"<![CDATA[", b"]] " * 20_000),
            pytest.param(HEAD, b"<" * 65_536, marks=pytest.mark.deep),
            pytest.param(
                HEAD + b"<url>",
                b"<image:image><image:loc>http://a.example/i</image:loc></image:image>" * 900,
                marks=pytest.mark.deep,
            ),
            pytest.param(HEAD + b"<url>", b"<xhtml:link href='/a'/>" * 2_000, marks=pytest.mark.deep),
            (HEAD, b"<!DOCTYPE a [" * 5_000),
            (b"http://a.example/\n", b"x" * 65_536),
            (b'{"items": [', b"[" * 65_536),
            pytest.param(b"<html>", b"<a href=1>" * 6_000, marks=pytest.mark.deep),
        ],
        ids=range(12),
    )
    def test_memory_does_not_grow(self, head: bytes, piece: bytes) -> None:
        """Megabytes of anything take no more memory than one would, but for what is read whole."""
        tracemalloc.start()
        report = ParseReport()
        for _ in read_sitemap(_stream(head, piece, 5 << 19), BASE, report):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < (32 << 20 if report.form in {Form.HTML, Form.JSON} else 2 << 20)


def _stream(head: bytes, piece: bytes, size: int) -> Iterator[bytes]:
    yield head
    yield from repeat(piece, size // len(piece))


WORDS = b"""<url> </url> <loc> </loc> <sitemap> </sitemap> http://a.example/ x &amp; & <lastmod> </lastmod> 2024-01-01
    <image:image> <image:loc> </image:loc> </image:image> <!-- --> <![CDATA[ ]]> < > / <x:link/href='y'/> <item>
    </item> <link> </link> <rss> <feed> <urlset> <entry> </entry> <!ENTITY ] - ! ' " { <html> \xe9 \0
    <changefreq>daily</changefreq>"""
PARTS = st.sampled_from([*WORDS.split(), b" ", b"\n", url(b"1"), url(b"2"), b"<link href='y'/>"])


class TestProperties:
    @given(st.lists(PARTS, max_size=40).map(b"".join), st.lists(st.integers(0, 400), max_size=12))
    def test_pieces(self, body: bytes, cuts: list[int]) -> None:
        """However a document comes in pieces, behind its first 64 KB, its entries are the same."""
        head = HEAD + b" " * (1 << 16)
        expected = read(head + body)
        bounds = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
        pieces = [body[start:stop] for start, stop in pairwise(bounds)]
        report = ParseReport()
        assert (list(read_sitemap([head, *pieces], BASE, report)), report) == expected

    @given(st.lists(PARTS, max_size=40).map(b"".join) | st.binary(max_size=300))
    def test_anything(self, body: bytes) -> None:
        """Whatever bytes come, nothing raises, and every entry is a URL that parses to itself."""
        entries, report = read(body)
        assert report.entries == len(entries)
        for entry in entries:
            assert entry.url.href.startswith(("http://", "https://"))

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["1", "2?a=1&amp;b=2", " 3 ", "", "&#x41;", "é"]),
                st.sampled_from([None, "2024-01-01", "", "no date", " 2024 "]),
                st.sampled_from([None, "daily", "Weekly ", "sometimes", ""]),
                st.sampled_from(["", IMAGE, IMAGE * 2, IMAGE.replace("/i", ""), "<image:image></image:image>"]),
            ),
            max_size=5,
        )
    )
    def test_the_short_way(self, entries: list[tuple[str, str | None, str | None, str]]) -> None:
        """Entries in their plainest form, which are read in one go, are read as those in capitals are."""
        body = ""
        for loc, lastmod, changefreq, images in entries:
            inner = f"<loc>{loc}</loc>"
            inner += "" if lastmod is None else f"<lastmod>{lastmod}</lastmod>"
            inner += "" if changefreq is None else f"<changefreq>{changefreq}</changefreq>"
            inner += images
            body += f"<url>{inner}</url>\n"
        plain = read(b"<urlset>" + body.encode())
        other = body.replace("<url>", "<URL >").replace("</url>", "</URL >")
        assert read(b"<urlset>" + other.encode())[0] == plain[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-02", 86_400), ("1970", 0), ("1970-02", 31 * 86_400), ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01Z", 1), ("19700102", 86_400), ("Fri, 02 Jan 1970 00:00:00 GMT", 86_400),
        ("02 Jan 70 01:00 +0100", 86_400), ("", None), ("soon", None), ("2024-13-01", None), ("0000", None),
        ("1970-01-01T00:00:00.5Z", 0.5), ("x" * 1000, None), ("\uff11\uff19\uff17\uff10", None),
        ("9999-12-31T23:59:59-23:59", 253402387139),
    ],
)  # fmt: skip
def test_dates(text: str, expected: float | None) -> None:
    """W3C and mail dates are Unix seconds; what names no zone is UTC; anything else is no date."""
    assert unix_time(text) == expected
