"""How much of a page is new, by kinds of pages of the real sites, and on labelled pairs of them.

    python benchmarks/novelty.py --cache /tmp/real-sites

The sites are the seven of ../shared/data/sites; all pages of one are shown to its host, version after version and in
the order of their paths. A line a site and kind of page: how many, how their shares of
new words lie (5, 25, 50, 75, 95% of them are below), and how many new words they have of how many. Then the pairs of
`nearduplicates.py`: of *one page* in two versions that follow each other, the second is shown after the first; of
*two pages*, one after the other. What resembles nearly has to bring little, what does not much.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from nearduplicates import ALIKE, Page, real_sites, resemblance, same_page, two_pages

from sitecrawl.page.shingles import shingles
from sitecrawl.page.shown_text import ShownText, _Novelty

KINDS: Final = {
    "list": re.compile(
        r"allclasses|package-(?:frame|tree|use)|overview-|index-all|deprecated|constant-values|serialized|class-use"
        r"|functions|globals|namespacemembers|hierarchy|annotated|classes\.|files\.|graph_legend|dir_|search|/index-\d"
    ),
    "source": re.compile("xref|_source"),
    "index": re.compile(r"/(?:index|package-summary)\.html?$"),
}
MISSING: Final = "404 Not found. The page that you have asked for is not here. Go to the front page."
MAX_PAIRS: Final = 4_000


def kind_of(path: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if pattern.search(path)), "article")


def spread(found: Sequence[_Novelty]) -> str:
    shares = sorted(one.share for one in found)
    return " ".join(f"{shares[int(part * (len(shares) - 1))]:.2f}" for part in (0.05, 0.25, 0.5, 0.75, 0.95))


def by_kind(site: str, found: Iterable[Page]) -> None:
    shown, kinds = ShownText(), defaultdict(list)
    words: defaultdict[str, int] = defaultdict(int)
    versions: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for page in sorted(found, key=lambda page: (page.version, page.path)):
        novelty, count = shown.look(shingles(page.text)), len(page.text.split())
        kinds[kind_of(page.path)].append(novelty)
        words[kind_of(page.path)] += count
        versions[page.version] = [a + b for a, b in zip(versions[page.version], (1, count, novelty.new), strict=True)]
    words["404"] = 19 * len(MISSING.split())
    kinds["404"] = [shown.look(shingles(MISSING)) for _ in range(20)][1:]
    print(f"\n{site}: {shown.size:,} bytes")
    for kind, novelties in kinds.items():
        new = sum(one.new for one in novelties)
        print(f"  {kind:8} {len(novelties):5,} pages: {spread(novelties)}; {new:9,} new of {words[kind]:,} words")
    for version, (count, in_all, new) in list(versions.items())[:6] if len(versions) > 1 else ():
        name = ".".join(map(str, version)) or "none"
        print(f"  version {name:8} {count:5,} pages: {new:9,} new of {in_all:,} words")


def second(one: Page, other: Page) -> float:
    """The share of the second page that is new after the first."""
    shown = ShownText()
    shown.look(shingles(one.text))
    return shown.look(shingles(other.text)).share


def by_pair(found: Sequence[Page]) -> None:
    for name, pairs in (("one page", same_page(found)), ("two pages", two_pages(found))):
        some = list(itertools.islice(pairs, 0, None, 1 if name == "one page" else 97))[:MAX_PAIRS]
        alike: dict[bool, list[float]] = {True: [], False: []}
        for one, other in some:
            if one.text and other.text:
                alike[resemblance(one, other) >= ALIKE].append(second(one, other))
        for is_alike, shares in alike.items():
            if shares:
                little = sum(share < 0.2 for share in shares) / len(shares)
                print(
                    f"  {name}, {'alike' if is_alike else 'not alike'}: {len(shares):,} pairs, under 0.2 {little:.1%}"
                )


def main() -> None:
    for host, found in real_sites(__doc__):
        by_kind(host, found)
        by_pair(found)


if __name__ == "__main__":
    main()
