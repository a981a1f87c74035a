"""Rows that are made for a copy of a site are those that a crawl of it leaves."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from copied import Copy, copies
from copied_rows import SiteRows
from grown import Crawl

from sitecrawl.frontier.moving import Row, rows_of

pytestmark = pytest.mark.deep

URLS = [
    "http://a.example/",
    *(f"http://a.example/item/{page}.html" for page in range(60)),
    *(f"http://a.example/guest/list.php?topic={page}&user=high" for page in range(60)),
]
BY_CONTENT = {"content", "classes", "rules"}
"""Digests, titles and SimHashes are random, and what repeats what follows from them."""
SECTION_COUNTS = 48
"""Bytes that a section's record begins with; behind them are SimHashes of its pages, and what follows from these."""


@pytest.fixture
def sites(tmp_path: Path) -> list[Copy]:
    """A small site, of which every third page is linked to and missing, and its first copy."""
    lines = []
    for page, url in enumerate(URLS):
        links = " ".join(URLS[(page * step + 1) % len(URLS)] for step in range(1, 8))
        text = f"200\tcontent\t-\tbody{page}\ttext{page}" if page % 3 != 2 else "404\t\t\t\t"
        lines.append(f"{url}\t{text}\t{links}\n")
    with gzip.open(tmp_path / "site.tsv.gz", "wt") as file:
        file.writelines(lines)
    return copies(tmp_path, 2)


def crawled(folder: Path, site: Copy, urls: int) -> SiteRows:
    folder.mkdir()
    crawl = Crawl(folder, [site], 1)
    with closing(crawl.database):
        crawl.grow(urls)
        rows = rows_of(crawl.database, crawl.territory.regions(0))
        return SiteRows(site, rows, crawl.fingerprints, crawl.fingerprint)


def told(rows: Iterable[Row]) -> dict[tuple[str, bytes], bytes]:
    """What is the same whatever pages say."""
    ends = {"sections": SECTION_COUNTS}
    return {(family, key): value[: ends.get(family)] for family, key, value in rows if family not in BY_CONTENT}


def test_as_a_crawl_of_the_copy(sites: list[Copy], tmp_path: Path) -> None:
    """Row by row, with every fingerprint and number."""
    of_first, of_copy = (crawled(tmp_path / str(site.number), site, 90) for site in sites)
    assert told(of_first.copied(sites[1])) == told(of_copy)
    assert len(of_first.families["urls"]) >= 90


def test_as_much_content(sites: list[Copy], tmp_path: Path) -> None:
    """Of each kind and size, about the same pages."""
    of_first, of_copy = (crawled(tmp_path / str(site.number), site, 90) for site in sites)
    copied = SiteRows(sites[1], of_first.copied(sites[1]), of_first.hosts, of_first.fingerprint)

    def contents(rows: SiteRows) -> list[tuple[bytes, int, bytes]]:
        """Kind and originals."""
        return sorted((key[:1], len(value), value[-16:]) for key, value in rows.families["content"])

    assert contents(copied) == contents(of_copy)
