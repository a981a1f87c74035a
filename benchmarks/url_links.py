"""What a URL, a fingerprint and the links of a page cost, beside what Scrapy spends on the same.

    python benchmarks/url_links.py [folder of HTML files]

Without a folder, a page of 19 KB with 40 links is made up. CPU time, the best of several rounds, in one process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.utils.request import fingerprint as scrapy_fingerprint
from w3lib.url import canonicalize_url

from sitecrawl.base.hashing import new_key
from sitecrawl.page import link_set, markup
from sitecrawl.page.items import PageItem
from sitecrawl.page.links import read_page
from sitecrawl.urls.fingerprint import Fingerprinter
from sitecrawl.urls.url import Canonicalizer, Url, parse

URL = "http://www.example.com/docs/stable/index.html"
HEADERS = [(b"Content-Type", b"text/html; charset=utf-8")]
ROUNDS = 7
PAGES = 500


def made_up_page() -> bytes:
    """19 KB, 40 links: navigation, paragraphs, a query here and there."""
    links = "".join(
        f'<li class="item"><a class="ref" href="../types/page-{i}.html{f"?v=2&id={i}" if i % 4 == 0 else ""}">'
        f"Page <b>number</b> {i}</a></li>\n"
        for i in range(40)
    )
    text = "<p>" + "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod. " * 6 + "</p>\n"
    head = (
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Page</title><link rel="canonical" href="/x"></head>'
    )
    return (head + "<ul>" + links + "</ul>" + text * 33 + "</html>").encode()


def pages_of(folder: Path) -> list[tuple[str, bytes]]:
    files = sorted(file for file in folder.rglob("*.html") if file.is_file())
    chosen = Random(1).sample(files, min(PAGES, len(files)))
    return [(f"http://www.example.com/{file.relative_to(folder)}", file.read_bytes()) for file in chosen]


def cost(action: Callable[[], object], repeat: int = 1) -> float:
    """CPU microseconds of one `action`, the best of `ROUNDS`."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeat):
            action()
        best = min(best, time.process_time() - start)
    return best / repeat * 1e6


def report(name: str, microseconds: float, count: int = 1) -> None:
    print(f"{name:52} {microseconds / count:9.2f} us")


def main() -> None:
    pages = pages_of(Path(sys.argv[1])) if len(sys.argv) > 1 else [(URL, made_up_page())] * 50
    found = [link for url, body in pages for link in read_page(url, body, HEADERS).links]
    hrefs = [link.url for link in found]
    urls = [parse(href) for href in hrefs]
    canonicalizer, fingerprinter = Canonicalizer(), Fingerprinter(new_key())
    identities = [canonicalizer.canonical(url) for url in urls]
    responses = [HtmlResponse(url, body=body, encoding="utf-8") for url, body in pages]
    size = sum(len(body) for _, body in pages) / len(pages)
    print(f"{len(pages)} pages, {size:.0f} bytes and {len(found) / len(pages):.0f} targets each\n\na URL")
    report("parse(href)", cost(lambda: [parse(href) for href in hrefs]), len(hrefs))
    report("parse(relative, base)", cost(lambda: parse("../types/page-12.html?x=1#f", URL), 10_000))
    report("Canonicalizer.canonical", cost(lambda: [canonicalizer.canonical(url) for url in urls]), len(urls))
    report("  the same, query and escapes", cost(lambda: canonicalizer.canonical(parse_hard), 10_000))
    report("Fingerprinter.url", cost(lambda: [fingerprinter.url(text) for text in identities]), len(urls))
    sample = hrefs[:2000]
    report("w3lib canonicalize_url", cost(lambda: [canonicalize_url(href) for href in sample]), len(sample))
    report("scrapy.Request()", cost(lambda: [Request(href) for href in sample]), len(sample))
    requests = [[Request(href) for href in sample] for _ in range(ROUNDS)]  # Scrapy remembers a request's fingerprint
    report("scrapy fingerprint()", cost(lambda: [scrapy_fingerprint(r) for r in requests.pop()]), len(sample))
    print("\na page")
    report("read_page", cost(lambda: [read_page(url, body, HEADERS) for url, body in pages]), len(pages))
    report("  when no link was seen before", cost(lambda: [read_anew(url, body) for url, body in pages]), len(pages))
    report("  elements alone", cost(lambda: [markup.elements(body, 50_000) for _, body in pages]), len(pages))
    report(
        "  canonical, fingerprint of its links",
        cost(lambda: identify(fingerprinter, canonicalizer, urls)),
        len(pages),
    )
    extractor = LinkExtractor()
    report("scrapy LinkExtractor", cost(lambda: [extractor.extract_links(fresh(r)) for r in responses]), len(pages))


parse_hard = parse("http://www.example.com/a%7eb/c?utm_source=x&b=%2f&a=1&sid=12")


def read_anew(url: str, body: bytes) -> PageItem:
    link_set._remembered.cache_clear()  # noqa: SLF001 - what it saves is what is measured
    return read_page(url, body, HEADERS)


def identify(fingerprinter: Fingerprinter, canonicalizer: Canonicalizer, urls: list[Url]) -> list[bytes]:
    return [fingerprinter.url(canonicalizer.canonical(url)) for url in urls]


def fresh(response: HtmlResponse) -> HtmlResponse:
    """A copy without the tree that a response remembers."""
    return response.replace()


if __name__ == "__main__":
    main()
