"""What it costs to read pages in a process of their own, beside reading them here, in the same run.

    python benchmarks/isolation.py [folder of HTML files]

Without a folder, a page of 19 KB with 40 links is made up; it comes plain and with gzip. The best of several rounds
that take turns. Real time is what a page waits; CPU time is what the crawl's own process spends on it.
"""

from __future__ import annotations

import gzip
import resource
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from url_links import HEADERS, ROUNDS, URL, made_up_page, pages_of

from sitecrawl.page.codings import at_once, decoding
from sitecrawl.page.links import PageOptions
from sitecrawl.page.process_pool import PoolOptions
from sitecrawl.plugins.isolation.isolated_reading import _Parsers
from sitecrawl.plugins.isolation.worker import read

MOST = 64 << 20
OPTIONS = PageOptions()
GZIPPED = [*HEADERS, (b"Content-Encoding", b"gzip")]
Pages = list[tuple[str, bytes]]


def here(pages: Pages, *, coded: bool) -> None:
    for url, body in pages:
        content = at_once(decoding(body, ["gzip"], MOST)).body if coded else body
        read(url, content, HEADERS, OPTIONS)


def elsewhere(pages: Pages, parsers: _Parsers, *, coded: bool) -> None:
    for url, body in pages:
        parsers.read(url, body, GZIPPED if coded else HEADERS, max_size=MOST)


def measured(action: Callable[[], None], number: int) -> tuple[float, float]:
    """Milliseconds a page: real time, and CPU time of this process."""
    real, cpu = time.perf_counter(), time.process_time()
    action()
    return (time.perf_counter() - real) * 1000 / number, (time.process_time() - cpu) * 1000 / number


def compare(name: str, pages: Pages, parsers: _Parsers, *, coded: bool) -> None:
    ways: dict[str, Callable[[], None]] = {
        "in the crawl's process": lambda: here(pages, coded=coded),
        "in one of its own": lambda: elsewhere(pages, parsers, coded=coded),
    }
    rounds = [{way: measured(action, len(pages)) for way, action in ways.items()} for _ in range(ROUNDS)]
    for way in ways:
        real, cpu = (min(one[way][kind] for one in rounds) for kind in (0, 1))
        print(f"{name:<10} {way:<24} {real:7.3f} ms a page, {cpu:7.3f} ms of CPU in the crawl's process")


def main() -> None:
    pages = pages_of(Path(sys.argv[1])) if len(sys.argv) > 1 else [(URL, made_up_page())] * 200
    print(f"{len(pages)} pages of {sum(len(body) for _, body in pages) / len(pages) / 1000:.1f} kB")
    started = time.perf_counter()
    with closing(_Parsers(PoolOptions(1, 60.0, 2 << 30), OPTIONS)) as parsers:
        milliseconds = (time.perf_counter() - started) * 1000
        print(f"a process starts in {milliseconds:.0f} ms; held by {', '.join(parsers.fences)}")
        compare("plain", pages, parsers, coded=False)
        compare("gzip", [(url, gzip.compress(body)) for url, body in pages], parsers, coded=True)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"the process had {largest / 1024:.0f} MB at most")


if __name__ == "__main__":
    main()
