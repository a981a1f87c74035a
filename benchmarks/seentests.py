"""Ways to tell whether a URL was seen, side by side: what they take and how often they are wrong.

A wrong "seen" is a page that nobody fetches. `MD5(URL) modulo n` is a bitmap of n bits in which each URL has one, as
archive crawlers use it, because it takes two lines of code: its errors fall in proportion to its size, those of a
Bloom filter exponentially.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import md5
from pathlib import Path
from typing import Protocol

from seen import resident

from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore
from sitecrawl.urls.fingerprint import Fingerprinter

_BATCH = 1000


class Test(Protocol):
    def __call__(self, urls: list[str]) -> list[bool]:
        """Adds the URLs, and says which were new."""
        ...


def md5_bitmap(bits: int) -> Test:
    bitmap = bytearray(-(-bits // 8))

    def add(urls: list[str]) -> list[bool]:
        new = []
        for url in urls:
            number = int.from_bytes(md5(url.encode(), usedforsecurity=False).digest(), "big")
            place, bit = divmod(number % bits, 8)
            new.append(not bitmap[place] >> bit & 1)
            bitmap[place] |= 1 << bit
        return new

    return add


def bloom(rate: float) -> Test:
    kept = ScalableBloom(capacity=100_000, error_rate=rate)
    fingerprint = Fingerprinter(bytes(16)).url

    def add(urls: list[str]) -> list[bool]:
        keys = [fingerprint(url) for url in urls]
        new = [not seen for seen in kept.contains_many(keys)]
        kept.add_many([key for key, is_new in zip(keys, new, strict=True) if is_new])
        return new

    return add


def python_set() -> Test:
    kept: set[str] = set()

    def add(urls: list[str]) -> list[bool]:
        new = [url not in kept for url in urls]
        kept.update(urls)
        return new

    return add


@contextmanager
def tiers() -> Iterator[Test]:
    """CLOCK cache, Bloom filter and the exact set on disk."""
    fingerprint = Fingerprinter(bytes(16)).url
    with tempfile.TemporaryDirectory(prefix="seen-") as directory:
        store = SeenStore(Path(directory) / "seen", SeenOptions())
        yield lambda urls: store.seen.add_many([fingerprint(url) for url in urls])
        store.close()


Maker = Callable[[int], AbstractContextManager[Test]]


def plain(make: Callable[[int], Test]) -> Maker:
    return lambda urls: nullcontext(make(urls))


TESTS: dict[str, Maker] = {
    "MD5(URL) modulo n, 8 bits a URL": plain(lambda urls: md5_bitmap(8 * urls)),
    "MD5(URL) modulo n, 16 bits a URL": plain(lambda urls: md5_bitmap(16 * urls)),
    "MD5(URL) modulo n, 64 bits a URL": plain(lambda urls: md5_bitmap(64 * urls)),
    "Bloom filter that grows, asked for 1%": plain(lambda _: bloom(0.01)),
    "Bloom filter that grows, asked for 0.01%": plain(lambda _: bloom(0.0001)),
    "exact: a Python set of URLs": plain(lambda _: python_set()),
    "exact: CLOCK, Bloom filter, set on disk": lambda _: tiers(),
}
"""By name; given how many URLs will come."""


def report(urls: int) -> None:
    """Add so many URLs, each once, to every test, in a process of its own, and print a table."""
    print("| test | URLs wrongly taken for seen | memory, bytes a URL | time, µs a URL |")
    print("|---|---|---|---|")
    for name in TESTS:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            wrong, memory, seconds = pool.apply(_measure, (name, urls))
        print(f"| {name} | {wrong / urls:.4%} | {memory / urls:.1f} | {seconds / urls * 1e6:.2f} |", flush=True)


def _measure(name: str, urls: int) -> tuple[int, int, float]:
    before = resident()
    with TESTS[name](urls) as add:
        wrong, seconds = _add(add, urls)
        return wrong, max(0, resident() - before), seconds


def _add(add: Test, urls: int) -> tuple[int, float]:
    wrong, seconds = 0, 0.0
    for start in range(0, urls, _BATCH):
        batch = [f"http://host{n % 997}.example/section/{n % 31}/page-{n}.html" for n in range(start, start + _BATCH)]
        batch = batch[: urls - start]
        begun = time.perf_counter()
        new = add(batch)
        seconds += time.perf_counter() - begun
        wrong += len(batch) - sum(new)
    return wrong, seconds
