"""How well the test for near duplicates knows a page again: precision and recall on labelled pairs of real pages.

    python benchmarks/nearduplicates.py --cache /tmp/real-sites

The pairs are of the seven real sites of ../shared/data/sites. Three of them keep many versions of their
documentation: one page in two versions that follow each other is a pair that is *one page*, by its path. Two paths of
one version, and any two of a site that keeps no versions, are *two pages*. Many of the first have changed so much
that nobody would call them near duplicates, so all are measured by their resemblance too: the share of runs of five
words that both have (Broder, "On the resemblance and containment of documents", 1997).

A line a site and number of bits: of one page, how many are found (recall); of two pages, how many are taken for one,
and how many of these do not even resemble each other; and the precision, the share of what is found that is one page.
Below it the same with the title left out of the test.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from focused import TOOL, imported

from sitecrawl.page.items import sha1
from sitecrawl.page.links import read_page
from sitecrawl.page.markup import elements
from sitecrawl.page.simhash import MAX_DISTANCE, distance

DISTANCES = (0, 1, 2, MAX_DISTANCE, 4, 6, 8)
ALIKE = 0.9
"""From this resemblance on two texts are nearly the same."""
MAX_PAGES = 1500
"""Pages of a version that are compared with one another: their pairs grow with the square."""
HTML = [(b"content-type", b"text/html; charset=utf-8")]
_RUN = 5
_VERSION = re.compile(r"/(?:v?\d+(?:\.\d+)+[^/]*)(?=/)")


@dataclass(frozen=True)
class Page:
    """What the test knows of a page, and what it does not."""

    version: tuple[int, ...]
    path: str
    """Without the version."""
    title: str
    digest: bytes
    text: str
    text_hash: int


class Pair(NamedTuple):
    """Two pages as the test sees them, and how alike they are."""

    bits: int
    """How far their texts' SimHashes are apart: -1 for one body, 65 where one has no text."""
    same_title: bool
    alike: bool

    def is_near(self, bits: int, *, by_title: bool) -> bool:
        """What the test says if it allows so many bits."""
        return self.bits <= bits and (self.same_title or not by_title or self.bits < 0)


def compared(one: Page, other: Page) -> Pair:
    if one.digest == other.digest:
        return Pair(-1, same_title=True, alike=True)
    bits = distance(one.text_hash, other.text_hash) if one.text and other.text else 65
    return Pair(bits, one.title == other.title, resemblance(one, other) >= ALIKE)


@lru_cache(maxsize=4)
def runs(text: str) -> frozenset[tuple[str, ...]]:
    words = text.lower().split()
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))


def resemblance(one: Page, other: Page) -> float:
    a, b = runs(one.text), runs(other.text)
    return len(a & b) / len(a | b) if a or b else float(one.text == other.text)


def pages(site: str, folder: Path) -> Iterator[Page]:
    """The HTML pages below `folder`."""
    for file in sorted(folder.rglob("*.htm*")):
        path = "/" + file.relative_to(folder).as_posix()
        found = _VERSION.search(path)
        version = tuple(map(int, re.findall(r"\d+", found.group()))) if found else ()
        body = file.read_bytes()
        read = read_page(f"http://{site}{path}", body, HTML)
        text = elements(body, 100).text
        yield Page(version, _VERSION.sub("", path, count=1), read.title or "", sha1(body), text, read.text_hash or 0)


def same_page(found: Iterable[Page]) -> Iterator[tuple[Page, Page]]:
    """One page in two versions that follow each other."""
    by_path = defaultdict(list)
    for page in found:
        if page.version:
            by_path[page.path].append(page)
    for versions in by_path.values():
        yield from itertools.pairwise(sorted(versions, key=lambda page: page.version))


def two_pages(found: Iterable[Page]) -> Iterator[tuple[Page, Page]]:
    """Two paths of one version."""
    by_version = defaultdict(list)
    for page in found:
        by_version[page.version].append(page)
    for some in by_version.values():
        yield from itertools.combinations(some[:MAX_PAGES], 2)


def candidates(found: list[Page]) -> Iterator[Pair]:
    """Those of two pages that some test below may take for one: the others need no look at their texts."""
    for one, other in two_pages(found):
        if one.digest == other.digest or distance(one.text_hash, other.text_hash) <= DISTANCES[-1]:
            yield compared(one, other)


def table(site: str, found: list[Page]) -> None:
    one = [compared(*pair) for pair in same_page(found)]
    two = list(candidates(found))
    alike = [pair for pair in one if pair.alike]
    print(f"\n{site}: {len(found):,} pages; {len(one):,} pairs are one page, {len(alike):,} of these alike;", end=" ")
    print(f"{sum(1 for _ in two_pages(found)):,} are two pages")
    for by_title in (True, False):
        for bits in DISTANCES:
            near = partial(Pair.is_near, bits=bits, by_title=by_title)
            known, wrong = sum(map(near, one)), [pair for pair in two if near(pair)]
            print(
                f"  {'title and ' if by_title else ''}{bits} bits".ljust(20),
                f"recall {share(known, len(one))}, of those alike {share(sum(map(near, alike)), len(alike))};",
                f"two pages taken for one {len(wrong):,}, of which {sum(not pair.alike for pair in wrong):,} are not",
                f"alike; precision {share(known, known + len(wrong))}",
            )


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def real_sites(description: str | None) -> Iterator[tuple[str, list[Page]]]:
    """The host and the pages of each of the seven, unpacked where the command line says."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="where the sites are, or shall be, unpacked")
    cache = parser.parse_args().cache
    tool = imported(TOOL)
    tool.unpack(cache)
    for host, folder in tool.HOSTS.items():
        yield host, list(pages(host, cache / folder))


def main() -> None:
    for host, found in real_sites(__doc__):
        table(host, found)


if __name__ == "__main__":
    main()
