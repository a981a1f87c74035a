"""Known items: is a page found by what links to it say, and what do anchors and importance do for that?

    scrapy crawl generic -a seeds=... -s JOBDIR=crawls/mine
    python benchmarks/knownitems.py crawls/mine

An item is a page with a title that no other page has; it is asked for by the longest text of a link to it that leads
to no other page and has a letter. The first row has the page's own words alone (BM25 of title, URL and text), the
second anchors as well, the third importance, too: that is `scrapy search`. *Held out*: the text that is asked for is
taken out of the index first, so other links have to say it, or the page itself. What is printed is how many items
were found first, how many among ten, and the mean of 1/rank.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean

from sitecrawl.pagestore.workers import open_pages
from sitecrawl.plugins.export.fulltext import FILE, SearchIndex
from sitecrawl.plugins.export.pages import pages_with_texts

AMONG = 10
_ITEMS = """
SELECT pages.url, pages.url_key, links.text, max(length(links.text)) AS length
FROM pages JOIN links ON links.target = pages.url_key
WHERE pages.title IN (SELECT title FROM pages GROUP BY title HAVING count(*) = 1)
AND links.text IN (SELECT text FROM links GROUP BY text HAVING count(*) = 1) AND links.text GLOB '*[a-zA-Z]*'
GROUP BY pages.url_key ORDER BY pages.url_key
"""
_ANCHORS = "UPDATE pages SET anchors = ? WHERE url_key = ?"

Importance = Callable[[str], float | None]


def nowhere(_: str) -> None:
    """The importance of no page."""


@contextmanager
def held_out(db: sqlite3.Connection, key: str, text: str) -> Iterator[None]:
    """The index without a text of a link to the page."""
    (anchors,) = db.execute("SELECT anchors FROM pages WHERE url_key = ?", (key,)).fetchone()
    db.execute(_ANCHORS, ("\n".join(one for one in anchors.split("\n") if one != text), key))
    yield
    db.execute(_ANCHORS, (anchors, key))


def rank_of(index: SearchIndex, url: str, text: str, importance: Importance) -> int:
    """From 1; 0 where the page is not among the first ten."""
    found = [hit.url for hit in index.find(text, AMONG, importance=importance)]
    return found.index(url) + 1 if url in found else 0


def row(name: str, ranks: list[int]) -> str:
    first, among = (sum(1 <= rank <= limit for rank in ranks) / len(ranks) for limit in (1, AMONG))
    return f"| {name} | {first:.1%} | {among:.1%} | {fmean(1 / rank if rank else 0.0 for rank in ranks):.3f} |"


def compare(directory: Path, importance: Importance) -> None:
    """Of the index in `directory`, which is changed."""
    with SearchIndex(directory) as index, closing(sqlite3.connect(directory / FILE, isolation_level=None)) as db:
        items = [(url, key, text) for url, key, text, _ in db.execute(_ITEMS)]
        (size,) = db.execute("SELECT count(*) FROM pages").fetchone()
        print(f"{len(items)} items in {size} pages\n\n| ranked by | first | among {AMONG} | mean of 1/rank |")
        print("|---|---|---|---|")
        rows = []
        for name, counts in (("and anchors", nowhere), ("and importance", importance)):
            rows.append(row(name, [rank_of(index, url, text, counts) for url, _, text in items]))
            ranks = []
            for url, key, text in items:
                with held_out(db, key, text):
                    ranks.append(rank_of(index, url, text, counts))
            rows.append(row(f"{name}, held out", ranks))
        db.execute("UPDATE pages SET anchors = ''")
        print(row("words of the page alone", [rank_of(index, url, text, nowhere) for url, _, text in items]))
        print(*rows, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    with open_pages(directory) as reader, pages_with_texts(reader, agent="") as pages:
        with SearchIndex(directory) as index:
            index.update(pages)
        with tempfile.TemporaryDirectory(prefix="knownitems-") as copy:
            shutil.copy(directory / FILE, copy)
            compare(Path(copy), pages.importance_of)


if __name__ == "__main__":
    main()
