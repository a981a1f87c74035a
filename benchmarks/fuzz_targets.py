"""What is fuzzed: functions that take any bytes at all, and raise nothing where the code keeps its promises.

`fuzz.py` mutates inputs for them; the tests try the inputs that once were too much.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from scrapy import Request, Spider

from sitecrawl.base.errors import CorruptFile, InvalidUrl, OptionError
from sitecrawl.base.limits import LINKS, ROBOTS_RULES, ROBOTS_SIZE
from sitecrawl.crawl.requests import Unstorable, pack_request, unpack_request
from sitecrawl.crawl.seeds import read_seeds
from sitecrawl.crawl.sitemaps.entry import Limits, ParseReport
from sitecrawl.crawl.sitemaps.locations import in_robots
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_sitemap
from sitecrawl.crawl.sitemaps.record import SitemapRecord
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.http import BadResponse, OverLimit, ReadLimits, ResponseReader, Truncated
from sitecrawl.http.robots_txt import RobotsTxt
from sitecrawl.page import charset
from sitecrawl.page import media_type as media
from sitecrawl.page.codings import without_codings
from sitecrawl.page.directives import header_links, refresh_target, robots_of_headers, robots_of_meta
from sitecrawl.page.links import read_page
from sitecrawl.urls.shape import shape_of
from sitecrawl.urls.url import MAX_URL_LENGTH, Canonicalizer, guess_url, parse, site_of, target_of

CANONICALIZER: Final = Canonicalizer()
PAGE: Final = "http://site.example/a/page.html?x=1"


def url(data: bytes) -> None:
    """URLs, relative and absolute: canonical is once and for all, and every part of the engine takes it."""
    text = data.decode("utf-8", "surrogateescape")
    for base in (None, PAGE):
        try:
            found = parse(text, base)
        except InvalidUrl:
            continue
        assert found.href.isascii()
        assert found.host
        assert len(found.href) <= MAX_URL_LENGTH
        assert parse(found.href) == found
        canonical = CANONICALIZER.canonical(found)
        assert CANONICALIZER.canonical(parse(canonical)) == canonical
        assert parse(canonical).host == found.host
        assert site_of(found.host)
        assert target_of(found.href).startswith("/")
        str(shape_of(found.href))
    with suppress(InvalidUrl):
        guess_url(text)


def links(data: bytes) -> None:
    """A response: its first line is a header's value, the rest the body."""
    value, _, body = data.partition(b"\n")
    headers = [(b"Content-Type", value), (b"Link", value), (b"X-Robots-Tag", value)]
    for given in ([], headers):
        page = read_page(PAGE, body, given)
        assert len(page.links) <= LINKS.value
        for link in page.links:
            assert parse(link.url).host == link.host
            assert len(link.text) <= 200
        assert page.text_hash is None or 0 <= page.text_hash < 1 << 64


def labels(data: bytes) -> None:
    """Headers, directives, media types and character sets."""
    text = data.decode("utf-8", "surrogateescape")
    header_links(text)
    refresh_target(text)
    robots_of_meta(text)
    robots_of_headers([text, text.upper()], "sitecrawl")
    declared = media.declared_type([text])
    media.actual_type(declared, data)
    "".encode(charset.of_body(data, declared.charset))
    charset.with_encoded_query("?q=" + parse("http://a.example/").path, charset.of_body(data, text))


def robots(data: bytes) -> None:
    """robots.txt files: every answer is yes or no, and a delay is a number."""
    rules = RobotsTxt(data[: ROBOTS_SIZE.value], "sitecrawl", max_rules=ROBOTS_RULES.value)
    for target in (target_of(PAGE), "/", "/" + "a" * 2000):
        assert rules.allows(target) in {True, False}
    assert (rules.crawl_delay or 0.0) >= 0.0


def codecs(data: bytes) -> None:
    """Records off a disk: either `CorruptFile`, or a record that is the same when it is written and read again."""
    records: tuple[Callable[[bytes], UrlRecord | Ledger | Host], ...] = (
        UrlRecord.unpack,
        Ledger.unpack,
        lambda found: Host.unpack(bytes(8), found),
    )
    for read in records:
        with suppress(CorruptFile):
            packed = read(data).pack()
            assert read(packed).pack() == packed
    with suppress(CorruptFile):
        Section.unpack(bytes(12), data, None).pack()  # type: ignore[arg-type]


def requests(data: bytes) -> None:
    """Stored requests: either a request that can be stored again, or `CorruptFile`."""
    spider = Spider("fuzz")
    try:
        request = unpack_request("http://site.example/", data, spider)
    except CorruptFile:
        return
    assert isinstance(request, Request)
    with suppress(Unstorable):
        pack_request(request, spider)


def codings(data: bytes) -> None:
    """Bodies under content codings, broken and whole: what cannot be decoded comes back as it is."""
    coding, _, body = data.partition(b"\n")
    for name in (b"gzip", b"deflate", b"br", b"zstd", coding):
        without_codings(body, [(b"Content-Encoding", name)])


def seeds(data: bytes) -> None:
    """What someone gives as `seeds`, be it text or a sitemap."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(data)
        file.flush()
        with suppress(OptionError):
            read_seeds(file.name)


def sitemaps(data: bytes) -> None:
    """Sitemaps of any form: read as a whole and, behind its first 64 KB, byte by byte; robots.txt; stored records."""
    report = ParseReport()
    found = list(read_sitemap(chunks_of(data), PAGE, report, limits=Limits(max_bytes=1 << 20, max_entries=10_000)))
    assert report.entries == len(found)
    assert all(parse(entry.url.href) == entry.url for entry in found)
    head = b"<urlset>" + b" " * (1 << 16)
    whole, pieces = ParseReport(), ParseReport()
    entries = list(read_sitemap([head + data], PAGE, whole))
    assert list(read_sitemap([head, *(data[n : n + 1] for n in range(len(data)))], PAGE, pieces)) == entries
    assert whole == pieces
    in_robots(data, PAGE)
    with suppress(CorruptFile):
        SitemapRecord.unpack(data).pack()


def responses(data: bytes) -> None:
    """HTTP responses: whole, or an error of ours, and the same however the network cuts them."""
    limits = ReadLimits(headers=50, header_size=10_000, chunks=100)
    for given in (data, b"HTTP/1.1 200 OK\r\n" + data):
        outcomes = [_response(pieces, limits) for pieces in ([given], [given[:7], given[7:40], given[40:]])]
        assert outcomes[0] == outcomes[1]


def _response(pieces: list[bytes], limits: ReadLimits) -> object:
    """What came of a response; of one that went beyond a limit only that: how far it came may differ."""
    reader = ResponseReader(limits, max_size=5000)
    try:
        for piece in pieces:
            if piece and not reader.is_whole:
                reader.feed(piece)
        reader.end()
    except (OverLimit, BadResponse) as error:
        return type(error)
    except Truncated:
        pass
    assert sum(map(len, reader.body)) == reader.size
    return reader.status, reader.headers, b"".join(reader.body), reader.is_whole


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    target.__name__: target
    for target in (url, links, labels, robots, codecs, requests, codings, seeds, sitemaps, responses)
}
