"""The seen set against a Python set, and each of its tiers against its peers.

    python benchmarks/seen.py --keys 5000000

First `--keys` random adds and look-ups go through the tiers and through a Python set at once: a single different
answer ends the run with exit code 1. Then every contender gets a process of its own, which adds `--keys` new keys
in batches of 1,000 and asks for known and unknown ones. Memory is the growth of the process (RSS), disk what its
directory holds after a clean close. `--quick` does the same with few keys, to show that it works.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from pybloom_live import ScalableBloomFilter
from scrapy.dupefilters import RFPDupeFilter

from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.clock import Clock
from sitecrawl.frontier.seen.exact import RocksSet
from sitecrawl.frontier.seen.store import SeenOptions, SeenStore
from sitecrawl.frontier.seen.tiered import SeenSet

BATCH = 1000
ASKED = 200_000
RATE = 0.01
CACHE = 65_536


@dataclass
class Contender:
    """How to add a batch of new keys, how to ask for a batch, and what ends it."""

    add: Callable[[list[bytes]], Any]
    ask: Callable[[list[bytes]], Sequence[bool]]
    close: Callable[[], Any] = lambda: None
    remembers: int = sys.maxsize
    """How many of the newest keys it can be asked for."""


def python_set(_: Path) -> Contender:
    kept: set[bytes] = set()
    return Contender(kept.update, lambda keys: [key in kept for key in keys])


def scrapys_dupefilter(path: Path) -> Contender:
    """RFPDupeFilter with JOBDIR; its own fingerprint, another 28 µs a request, is left out."""
    fingerprinter = SimpleNamespace(fingerprint=lambda key: key)
    kept: Any = RFPDupeFilter(str(path), fingerprinter=fingerprinter)
    seen = kept.request_seen
    return Contender(
        lambda keys: [seen(key) for key in keys],
        lambda keys: [key in kept._fingerprints for key in keys],  # noqa: SLF001 - to ask without adding
        lambda: kept.close("finished"),
    )


def pybloom_scalable(_: Path) -> Contender:
    kept = ScalableBloomFilter(initial_capacity=1_000_000, error_rate=RATE)
    return Contender(
        lambda keys: [kept.add(key.hex()) for key in keys], lambda keys: [key.hex() in kept for key in keys]
    )


def clock(_: Path) -> Contender:
    kept = Clock(CACHE)
    touch = kept.touch
    return Contender(
        lambda keys: [touch(key) for key in keys], lambda keys: [key in kept for key in keys], remembers=CACHE
    )


def bloom(path: Path) -> Contender:
    kept = ScalableBloom(capacity=1_000_000, error_rate=RATE)
    return Contender(kept.add_many, kept.contains_many, lambda: kept.save(path / "filter", "benchmark"))


def exact(path: Path) -> Contender:
    kept = RocksSet(path / "exact", hash_name="benchmark")
    return Contender(kept.add_many, kept.contains_many, kept.close)


def tiers(path: Path) -> Contender:
    store = SeenStore(path / "seen", SeenOptions())
    return Contender(store.seen.add_many, store.seen.contains_many, store.close)


CONTENDERS: dict[str, Callable[[Path], Contender]] = {
    "peer: Python set": python_set,
    "peer: Scrapy's RFPDupeFilter": scrapys_dupefilter,
    "peer: pybloom_live.ScalableBloomFilter": pybloom_scalable,
    "tier: Clock (65,536 entries)": clock,
    "tier: ScalableBloom": bloom,
    "tier: RocksSet": exact,
    "SeenSet": tiers,
}


def key_of(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8), digest_size=16).digest()


def batches(numbers: Iterable[int]) -> Iterator[list[bytes]]:
    keys: list[bytes] = []
    for number in numbers:
        keys.append(key_of(number))
        if len(keys) == BATCH:
            yield keys
            keys = []
    if keys:
        yield keys


def timed(call: Callable[[list[bytes]], Any], numbers: Iterable[int]) -> tuple[float, int, int]:
    """Microseconds a key, how many answers were yes, and how many answers there were."""
    seconds, yes, asked = 0.0, 0, 0
    for keys in batches(numbers):
        begun = time.perf_counter()
        answers = call(keys)
        seconds += time.perf_counter() - begun
        asked += len(keys)
        yes += sum(answers) if isinstance(answers, list) else 0
    return seconds / asked * 1e6, yes, asked


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Result:
    add: float
    known: float
    unknown: float
    memory: int
    memory_per_key: float
    disk_per_key: float
    wrong_yes: float


def measure(name: str, keys: int) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        before = resident()
        contender = CONTENDERS[name](Path(folder))
        add, _, _ = timed(contender.add, range(keys))
        memory = resident() - before
        rng, asked = Random(1), min(ASKED, keys)
        oldest = max(0, keys - contender.remembers)
        known, yes, questions = timed(contender.ask, (rng.randrange(oldest, keys) for _ in range(asked)))
        if yes != questions:
            raise SystemExit(f"{name}: {questions - yes} of {questions} known keys were not found")
        unknown, wrong, questions = timed(contender.ask, range(keys, keys + asked))
        contender.close()
        disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    kept = min(keys, contender.remembers)
    return Result(add, known, unknown, memory, memory / kept, disk / keys, wrong / questions)


def check(keys: int, options: SeenOptions) -> int:
    """The number of different answers between the tiers and a Python set, over `keys` adds and as many look-ups."""
    reference: set[bytes] = set()
    rng, differences = Random(2), 0
    with tempfile.TemporaryDirectory() as folder:
        exact_set = RocksSet(Path(folder, "exact"), hash_name="benchmark")
        filter_ = ScalableBloom(capacity=options.capacity, error_rate=options.error_rate)
        seen = SeenSet(Clock(options.cache), filter_, exact_set)
        for adds in batches(rng.randrange(keys) for _ in range(keys)):
            expected = []
            for key in adds:
                expected.append(key not in reference)
                reference.add(key)
            differences += sum(map(bool.__ne__, seen.add_many(adds), expected))
            looks = [key_of(rng.randrange(keys)) for _ in range(BATCH)]
            differences += sum(map(bool.__ne__, seen.contains_many(looks), [key in reference for key in looks]))
        print(asdict(seen.stats), flush=True)
        differences += len(exact_set) != len(reference)
        exact_set.close()
    return differences


def in_own_process(name: str, keys: int) -> Result:
    words = [sys.executable, __file__, "--keys", str(keys), "--only", name]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return Result(**json.loads(done.stdout))


def table(keys: int) -> None:
    print("| contender | add, µs | known, µs | unknown, µs | memory | bytes/key | disk, bytes/key | wrong yes |")
    print("|---|---|---|---|---|---|---|---|")
    for name in CONTENDERS:
        r = in_own_process(name, keys)
        print(
            f"| {name} | {r.add:.2f} | {r.known:.2f} | {r.unknown:.2f} | {r.memory / 1e6:.0f} MB "
            f"| {r.memory_per_key:.1f} | {r.disk_per_key:.1f} | {r.wrong_yes:.2%} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 keys and a filter that has to grow")
    parser.add_argument("--only", choices=CONTENDERS, help="measure one contender and print JSON")
    arguments = parser.parse_args()
    keys = 20_000 if arguments.quick else arguments.keys
    if arguments.only:
        print(json.dumps(asdict(measure(arguments.only, keys))))
        return
    capacity = 100 if arguments.quick else 1_000_000
    if differences := check(keys, SeenOptions(capacity=capacity)):
        raise SystemExit(f"{differences} answers differ from those of a Python set")
    print(f"{keys:,} adds and {keys:,} look-ups, no difference to a Python set", flush=True)
    table(keys)


if __name__ == "__main__":
    main()
