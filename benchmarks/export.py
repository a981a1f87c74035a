"""What an export costs: made-up rows through a format, and a made-up crawl through all of it.

    python benchmarks/export.py --rows 10000000 --format parquet
    python benchmarks/export.py --stored 200000

The first writes so many made-up rows, with a text of 500 characters each, into a file; the second stores so many
small pages, and exports all fields but text and links, which are the index's, then all of them. Both print rows,
seconds, rows a second, bytes, and the most memory that the process has held, with that at a tenth of the rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from pagestore_helpers import exchange, page  # noqa: E402 - the path comes first

from sitecrawl.pagestore import PageFilter, PageReader, WarcStore  # noqa: E402
from sitecrawl.plugins.export.formats import _FIELDS, USUAL, WRITERS, Field, _Row, row_of  # noqa: E402
from sitecrawl.plugins.export.pages import Choice, Pages  # noqa: E402

WORDS = [f"word{number}" for number in range(5_000)]
FROM_RECORDS = {"text", "links", "modified"}


def held() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000


def made_up(count: int) -> Iterator[_Row]:
    """Rows as a crawl of many sites has them."""
    random, start = Random(1), datetime(2026, 1, 1, tzinfo=UTC)
    texts = [" ".join(random.choices(WORDS, k=70)) for _ in range(2_000)]
    for number in range(count):
        url, time_ = f"http://host{number % 50_000}.example/page/{number}", start + timedelta(seconds=number / 10)
        yield {
            "url": url, "final_url": url, "status": 200, "kind": "page", "first_fetched": time_,
            "last_fetched": time_, "modified": None, "type": "text/html", "charset": "utf-8", "language": "en",
            "title": f"Page {number}", "text": texts[number * 7919 % 2_000], "pages": None,
            "importance": random.random(), "depth": 3,
            "referrer": None, "canonical": None, "noindex": False, "size": 17_600,
            "digest": f"sha1:{number:032}",
            "is_revisit": False, "warc_file": "warc/a.warc.gz", "warc_offset": number * 4_000,
        }  # fmt: skip


class Watched:
    """Rows, with the memory that is held at a tenth of them."""

    def __init__(self, rows: Iterable[_Row], count: int) -> None:
        self._rows, self._tenth = rows, count // 10
        self.seen = 0
        self.early = 0.0

    def __iter__(self) -> Iterator[_Row]:
        for row in self._rows:
            self.seen += 1
            if self.seen == self._tenth:
                self.early = held()
            yield row


def run(what: str, fields: tuple[Field, ...], rows: Iterable[_Row], count: int, target: Path) -> None:
    form = target.suffix[1:]
    watched, started = Watched(rows, count), time.perf_counter()
    with target.open("wb") as file:
        WRITERS[form](fields, watched, file)
    seconds = time.perf_counter() - started
    print(
        f"{what}, {form}: {watched.seen:,} rows in {seconds:,.1f} s, {watched.seen / seconds:,.0f} a second, "
        f"{target.stat().st_size / 1e6:,.0f} MB; memory {watched.early:,.0f} MB at a tenth, {held():,.0f} MB in all",
        flush=True,
    )
    target.unlink()


def stored(directory: Path, count: int) -> None:
    store = WarcStore(directory)
    for number in range(count):
        body = f"<title>Page {number}</title><p>Words of {number}. <a href=/{number + 1}>on</a>".encode()
        one = exchange(f"http://host{number % 1_000}.example/{number}", body, started=1.8e9 + number)
        store.put(one, page(one, title=f"Page {number}"))
        if number % 500 == 499:
            store.checkpoint()
    store.checkpoint()
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--stored", type=int, default=0)
    parser.add_argument("--format", choices=tuple(WRITERS), default="parquet")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="export-") as name:
        target = Path(name) / f"out.{options.format}"
        if options.rows:
            run("made-up rows", USUAL, made_up(options.rows), options.rows, target)
        if options.stored:
            stored(Path(name), options.stored)
            index_only = tuple(field for field in _FIELDS if field.name not in FROM_RECORDS)
            for what, fields in (("the index alone", index_only), ("all fields", _FIELDS)):
                with PageReader(Path(name)) as reader, Pages(reader) as pages:
                    rows = (row_of(fields, one) for one in pages.chosen(Choice(PageFilter(kind="page"))))
                    run(what, fields, rows, options.stored, target)


if __name__ == "__main__":
    main()
