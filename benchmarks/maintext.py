"""The main text of pages, plain or as Markdown: which library finds it, and what it costs.

    python benchmarks/maintext.py --pages 60
    python benchmarks/maintext.py --pages 60 --markdown

Pages of the seven real sites (../shared/tools/real_web.py unpacks them). Each site is made by a known generator,
which puts the content into an element of its own: that is the label. What an extractor gives is compared with the
words in it, as multisets: precision, recall, F1, the mean over pages. The sites are of two halves: options were
chosen on the first, and the second was looked at once. Milliseconds are of CPU, for a page as text.

Markdown is rendered before its words are compared. Of its structure it says how many of the content's headings, list
items, blocks of code, table cells and links there are at least in what is rendered, over all pages.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

import lxml.html  # noqa: E402 - the path comes first
from markdown_it import MarkdownIt  # noqa: E402
from realweb import tool  # noqa: E402
from resiliparse.extract.html2text import extract_plain_text  # noqa: E402

from sitecrawl.page.text_lines import html_lines  # noqa: E402
from sitecrawl.plugins.export.markdown import blocks_of, joined  # noqa: E402
from sitecrawl.plugins.export.text import markdown_of, text_of  # noqa: E402

LABELS = {
    "junit4-site": ("//*[@id='bodyColumn']", "//div[@class='contentContainer']"),
    "dataframes-jl-docs": ("//article[@id='documenter-page']", "//article[@class='content']"),
    "crawler-commons-javadoc": ("//main", "//div[@class='contentContainer']"),
    "ada-doxygen": ("//div[@class='contents']",),
    "range-v3-doxygen": ("//div[@class='contents']",),
    "httpx": ("//article[contains(@class, 'md-content__inner')]",),
    "starlette": ("//article[contains(@class, 'md-content__inner')]",),
}
"""Where the content is, the first that is there; of a site by its folder."""
HELD_BACK = ("range-v3-doxygen", "httpx", "starlette")
_WORD = re.compile(r"\w+")
_LEAST = 20
"""Words of content that a page has to have to be looked at."""


def trafilatura(html: str, **options: Any) -> str:
    from trafilatura import extract  # noqa: PLC0415 - it is no part of the environment unless it is compared

    return extract(html, include_comments=False, **options) or ""


def ours(html: str) -> str:
    blocks = markdown_of(html.encode(), "text/html", "utf-8", BASE)
    return joined(blocks or ())


def crawl4ai(html: str, *, filtered: bool) -> str:
    from crawl4ai import DefaultMarkdownGenerator  # noqa: PLC0415 - as above
    from crawl4ai.content_filter_strategy import PruningContentFilterLXML  # noqa: PLC0415

    generator = DefaultMarkdownGenerator(content_filter=PruningContentFilterLXML() if filtered else None)
    made = generator.generate_markdown(html, base_url=BASE, citations=False)
    return made.fit_markdown if filtered else made.raw_markdown


def markdownify(html: str) -> str:
    from markdownify import markdownify as convert  # noqa: PLC0415 - as above

    return convert(html, heading_style="ATX")


def html2text(html: str) -> str:
    from html2text import HTML2Text  # noqa: PLC0415 - as above

    return HTML2Text(bodywidth=0, baseurl=BASE).handle(html)


def html_to_markdown(html: str) -> str:
    from html_to_markdown import convert  # noqa: PLC0415 - as above

    return str(getattr(made := convert(html), "content", made))


def careful(html: str, share: float) -> str:
    """The main content, or everything where that leaves less than a `share` of it."""
    everything = extract_plain_text(html)
    main = extract_plain_text(html, main_content=True)
    return main if len(main) >= share * len(everything) else everything


EXTRACTORS: dict[str, Callable[[str], str]] = {
    "every line (`page/text_lines.py`)": lambda html: "\n".join(line.text for line in html_lines(html)),
    "Resiliparse, main content": lambda html: extract_plain_text(html, main_content=True),
    "Resiliparse, main content if at least a tenth": lambda html: careful(html, 0.1),
    "Resiliparse, main content if at least a quarter": lambda html: careful(html, 0.25),
    "Resiliparse, main content if at least a half": lambda html: careful(html, 0.5),
    "Resiliparse, all": extract_plain_text,
    "as `scrapy export` has it": lambda html: text_of(html.encode(), "text/html", "utf-8") or "",
    "Trafilatura": trafilatura,
    "Trafilatura, for recall": lambda html: trafilatura(html, favor_recall=True),
    "Trafilatura, fast": lambda html: trafilatura(html, fast=True),
}
MARKDOWN: dict[str, Callable[[str], str]] = {
    "as `scrapy export` has it": ours,
    "every block (`page/markdown.py`)": lambda html: joined(blocks_of(html, BASE)),
    "Trafilatura": lambda html: trafilatura(html, output_format="markdown", include_links=True),
    "crawl4ai, raw": lambda html: crawl4ai(html, filtered=False),
    "crawl4ai, fit": lambda html: crawl4ai(html, filtered=True),
    "markdownify": markdownify,
    "html2text": html2text,
    "html-to-markdown": html_to_markdown,
}
PARTS = ("headings", "items", "code", "cells", "links")
BASE = "http://site.example/folder/page.html"
_INLINE = MarkdownIt("commonmark").enable("table")


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def rendered(markdown: str) -> tuple[str, Counter[str]]:
    """What a reader of CommonMark shows of it: the words, and how many there are of each of `PARTS`.

    So a bracket, a link's address and a fence are nobody's words, and what is no Markdown is no heading.
    """
    return _parts(_INLINE.render(markdown))


def _parts(html: str) -> tuple[str, Counter[str]]:
    try:
        tree = lxml.html.document_fromstring(f"<div>{html}</div>")
    except lxml.etree.ParserError:
        return "", Counter()
    paths = {"headings": "//h1|//h2|//h3|//h4|//h5|//h6", "items": "//li", "code": "//pre", "cells": "//td|//th"}
    counts = Counter({name: len(tree.xpath(path)) for name, path in paths.items()})
    counts["links"] = len(tree.xpath("//a[@href and not(starts-with(@href, '#'))]"))
    return " ".join(tree.itertext()), counts


def labelled(folder: Path, paths: tuple[str, ...], count: int) -> Iterator[tuple[str, Counter[str], Counter[str]]]:
    """At most `count` pages of a site, by chance, the words of their content, and what of `PARTS` it has."""
    files = sorted(folder.rglob("*.htm*"))
    Random(1).shuffle(files)
    for file in files:
        html = file.read_bytes().decode("utf-8", "replace")
        try:
            tree = lxml.html.document_fromstring(html.encode(), parser=lxml.html.HTMLParser(encoding="utf-8"))
        except lxml.etree.ParserError:
            continue
        found = next((nodes[0] for path in paths if (nodes := tree.xpath(path))), None)
        if found is None:
            continue
        for unseen in found.xpath(".//script | .//style"):
            unseen.drop_tree()
        content = words(" ".join(found.itertext()))
        if content.total() >= _LEAST:
            yield html, content, _parts(lxml.html.tostring(found, encoding="unicode"))[1]
            count -= 1
        if not count:
            return


def scores(said: Counter[str], meant: Counter[str]) -> tuple[float, float, float]:
    """Precision, recall, F1."""
    both = (said & meant).total()
    return both / (said.total() or 1), both / meant.total(), 2 * both / (said.total() + meant.total())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=60, help="of each site")
    parser.add_argument("--markdown", action="store_true", help="compare makers of Markdown")
    parser.add_argument("--only", help="extractors with this in their names")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="maintext-") as name:
        tool().unpack(Path(name))
        sites = {site: list(labelled(Path(name) / site, paths, options.pages)) for site, paths in LABELS.items()}
    for extractor, extract in (MARKDOWN if options.markdown else EXTRACTORS).items():
        if options.only and options.only not in extractor:
            continue
        extract(next(iter(sites.values()))[0][0])  # what is loaded at the first time is no cost of a page
        for group in ([site for site in sites if site not in HELD_BACK], [*HELD_BACK]):
            found, seconds, said, meant = [], 0.0, Counter[str](), Counter[str]()
            for site in group:
                for html, content, parts in sites[site]:
                    started = time.process_time()
                    text = extract(html)
                    seconds += time.process_time() - started
                    if options.markdown:
                        text, shown = rendered(text)
                        said, meant = said + (shown & parts), meant + parts
                    found.append((site, scores(words(text), content)))
            precision, recall, f1 = (fmean(one[1][place] for one in found) for place in range(3))
            by_site = ", ".join(f"{site} {fmean(s[2] for w, s in found if w == site):.2f}" for site in group)
            kind = "held back" if group == [*HELD_BACK] else "chosen on"
            print(
                f"{extractor} | {kind}, {len(found)} pages | precision {precision:.3f} | recall {recall:.3f} | "
                f"F1 {f1:.3f} | {1000 * seconds / len(found):.1f} ms | {by_site}"
                + "".join(f" | {name} {said[name] / (meant[name] or 1):.2f}" for name in PARTS if options.markdown),
                flush=True,
            )


if __name__ == "__main__":
    main()
