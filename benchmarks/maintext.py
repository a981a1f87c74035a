"""The main text of pages: which library finds it, and what it costs.

    python benchmarks/maintext.py --pages 60

Pages of the seven real sites (../shared/tools/real_web.py unpacks them). Each site is made by a known generator,
which puts the content into an element of its own: that is the label. What an extractor gives is compared with the
words in it, as multisets: precision, recall, F1, the mean over pages. The sites are of two halves: options were
chosen on the first, and the second was looked at once. Milliseconds are of CPU, for a page as text.
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

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

import lxml.html  # noqa: E402 - the path comes first
from realweb import tool  # noqa: E402
from resiliparse.extract.html2text import extract_plain_text  # noqa: E402

from sitecrawl.export.text import text_of  # noqa: E402
from sitecrawl.page.text_lines import html_lines  # noqa: E402

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


def trafilatura(html: str, *, fast: bool = False, favor_recall: bool = False) -> str:
    from trafilatura import extract  # noqa: PLC0415 - it is no part of the environment unless it is compared

    return extract(html, include_comments=False, fast=fast, favor_recall=favor_recall) or ""


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


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def labelled(folder: Path, paths: tuple[str, ...], count: int) -> Iterator[tuple[str, Counter[str]]]:
    """At most `count` pages of a site, by chance, and the words of their content."""
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
            yield html, content
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
    parser.add_argument("--only", help="extractors with this in their names")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="maintext-") as name:
        tool().unpack(Path(name))
        sites = {site: list(labelled(Path(name) / site, paths, options.pages)) for site, paths in LABELS.items()}
    for extractor, extract in EXTRACTORS.items():
        if options.only and options.only not in extractor:
            continue
        extract(next(iter(sites.values()))[0][0])  # what is loaded at the first time is no cost of a page
        for group in ([site for site in sites if site not in HELD_BACK], [*HELD_BACK]):
            found, seconds = [], 0.0
            for site in group:
                for html, content in sites[site]:
                    started = time.process_time()
                    text = extract(html)
                    seconds += time.process_time() - started
                    found.append((site, scores(words(text), content)))
            precision, recall, f1 = (fmean(one[1][place] for one in found) for place in range(3))
            by_site = ", ".join(f"{site} {fmean(s[2] for w, s in found if w == site):.2f}" for site in group)
            kind = "held back" if group == [*HELD_BACK] else "chosen on"
            print(
                f"{extractor} | {kind}, {len(found)} pages | precision {precision:.3f} | recall {recall:.3f} | "
                f"F1 {f1:.3f} | {1000 * seconds / len(found):.1f} ms | {by_site}",
                flush=True,
            )


if __name__ == "__main__":
    main()
