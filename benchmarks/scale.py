"""How far it goes: the seen set to a hundred million URLs, the frontier to ten million.

    python benchmarks/scale.py --picture docs/scale.svg
    python benchmarks/scale.py --seen 10000000 --frontier 0

The seen set (CLOCK cache, Bloom filter, exact set on disk) gets `--seen` new fingerprints of 16 bytes in
batches of 1,000. At every mark a line says what it holds in memory (growth of the process), on disk, and what an
operation takes: an add over the last `ADDS`, one flush included, then `LOOK_UPS` of known and of unknown keys. Times
are the processor's, all threads together, so that RocksDB's merging in the background counts; in brackets, of the
clock on the wall.

The frontier's lines are those of `frontier_scale.py`, which this runs. `--quick` is for the tests.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import log10
from pathlib import Path
from random import Random
from typing import Final

from sitecrawl.frontier.seen.store import SeenOptions, SeenStore

FIRST_MARK: Final = 100_000
BATCH: Final = 1000
FLUSH_EVERY: Final = 1_000_000
ADDS: Final = FLUSH_EVERY
"""So that one flush is among them, as among every million."""
LOOK_UPS: Final = 200_000
SHOWN: Final = ("add, µs", "known, µs", "unknown, µs", "memory, bytes/URL", "disk, bytes/URL")


@dataclass(frozen=True)
class Cost:
    """Microseconds a key."""

    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:.2f} ({self.wall:.2f})"


@dataclass(frozen=True)
class Row:
    size: int
    add: Cost
    known: Cost
    unknown: Cost
    memory: int
    disk: int

    @property
    def figures(self) -> tuple[float, ...]:
        """As in `SHOWN`."""
        shares = self.memory / self.size, self.disk / self.size
        return self.add.cpu, self.known.cpu, self.unknown.cpu, *shares

    def __str__(self) -> str:
        memory, disk = self.figures[3:]
        return (
            f"| {self.size:,} | {self.memory / 1e6:,.0f} MB | {memory:.1f} | {disk:.1f} "
            f"| {self.add} | {self.known} | {self.unknown} |"
        )


class SeenSet:
    """The seen set in `directory`, and the numbers that were added to it: from 0 on, each under its digest."""

    def __init__(self, directory: Path, capacity: int) -> None:
        self._directory = directory
        self._before = resident()
        self._store = SeenStore(directory, SeenOptions(capacity=capacity))
        self.size = 0

    def grow(self, size: int) -> Cost:
        """Add up to `size`. Raises `SystemExit` if one is taken for seen."""
        added, cpu, wall = size - self.size, 0.0, 0.0
        while self.size < size:
            keys = [key_of(n) for n in range(self.size, min(size, self.size + BATCH))]
            begun = time.process_time(), time.perf_counter()
            new = self._store.seen.add_many(keys)
            if (self.size + len(keys)) // FLUSH_EVERY > self.size // FLUSH_EVERY:
                self._store.flush()
            cpu += time.process_time() - begun[0]
            wall += time.perf_counter() - begun[1]
            if not all(new):
                raise SystemExit(f"{new.count(False)} of {len(keys)} new keys are taken for seen at {self.size:,}")
            self.size += len(keys)
        return Cost(1e6 * cpu / added, 1e6 * wall / added)

    def ask(self, numbers: Sequence[int], *, known: bool) -> Cost:
        """Raises `SystemExit` for a wrong answer."""
        cpu, wall = 0.0, 0.0
        for start in range(0, len(numbers), BATCH):
            keys = [key_of(n) for n in numbers[start : start + BATCH]]
            begun = time.process_time(), time.perf_counter()
            answers = self._store.seen.contains_many(keys)
            cpu += time.process_time() - begun[0]
            wall += time.perf_counter() - begun[1]
            if answers.count(known) != len(keys):
                raise SystemExit(f"{len(keys) - answers.count(known)} of {len(keys)} answers are wrong")
        return Cost(1e6 * cpu / len(numbers), 1e6 * wall / len(numbers))

    def measure(self, size: int) -> Row:
        self.grow(size - min(ADDS, size // 2))
        add = self.grow(size)
        random, count = Random(size), min(LOOK_UPS, size // 2)
        known = self.ask([random.randrange(size) for _ in range(count)], known=True)
        unknown = self.ask(range(size, size + count), known=False)
        self._store.flush()
        return Row(size, add, known, unknown, resident() - self._before, on_disk(self._directory))

    def close(self) -> None:
        self._store.close()


def key_of(number: int) -> bytes:
    return blake2b(number.to_bytes(8), digest_size=16).digest()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def on_disk(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def marks(size: int, first: int) -> Iterator[int]:
    """Powers of ten from `first` on, and `size`."""
    mark = first
    while mark < size:
        yield mark
        mark *= 10
    yield size


def grow_seen(directory: Path, size: int, first: int, capacity: int) -> list[Row]:
    print("| URLs seen | memory | bytes/URL | disk, bytes/URL | add, µs | known, µs | unknown, µs |")
    print("|---|---|---|---|---|---|---|")
    seen, rows = SeenSet(directory, capacity), []
    for mark in marks(size, first):
        rows.append(seen.measure(mark))
        print(rows[-1], flush=True)
    begun = time.perf_counter()
    seen.close()
    closed = time.perf_counter()
    SeenStore(directory, SeenOptions(capacity=capacity)).close(save=False)
    print(f"closed in {closed - begun:.1f} s, opened again in {time.perf_counter() - closed:.1f} s", flush=True)
    return rows


# The picture

_WIDTH, _HEIGHT, _MARGIN = 300, 220, 40


def picture(rows: Sequence[Row]) -> str:
    """A panel a figure, over the size on a logarithmic scale."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH * len(SHOWN)} {_HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH * len(SHOWN)}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for column, name in enumerate(SHOWN):
        parts += _panel(name, [(row.size, row.figures[column]) for row in rows], column * _WIDTH)
    return "\n".join([*parts, "</svg>\n"])


def _panel(name: str, points: Sequence[tuple[int, float]], left: int) -> Iterator[str]:
    most = 1.2 * max(value for _, value in points)
    low, high = log10(points[0][0]), log10(points[-1][0])
    width, height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN

    def place(size: int, value: float) -> tuple[float, float]:
        along = (log10(size) - low) / ((high - low) or 1)
        return left + _MARGIN + width * along, _HEIGHT - _MARGIN - height * value / most

    yield f'<text x="{left + _MARGIN}" y="24" font-weight="bold">{name}</text>'
    base = _HEIGHT - _MARGIN
    yield f'<path d="M{left + _MARGIN},{base} h{width}" stroke="#999"/>'
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
    yield f'<polyline points="{line}" fill="none" stroke="#08c" stroke-width="2"/>'
    for size, value in points:
        x, y = place(size, value)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#08c"/>'
        yield f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{value:.3g}</text>'
        yield f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle" fill="#555">1e{log10(size):.3g}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seen", type=int, default=100_000_000)
    parser.add_argument("--frontier", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 URLs each, and a filter that has to grow")
    parser.add_argument("--picture", type=Path, help="draw the seen set's figures there (SVG)")
    parser.add_argument("--directory", type=Path, help="where the data lies meanwhile; default: the system's")
    arguments = parser.parse_args()
    first, capacity = (2000, 1000) if arguments.quick else (FIRST_MARK, SeenOptions().capacity)
    size = 20_000 if arguments.quick else arguments.seen
    if size:
        with tempfile.TemporaryDirectory(prefix="seen-", dir=arguments.directory) as folder:
            rows = grow_seen(Path(folder) / "seen", size, first, capacity)
        if arguments.picture:
            arguments.picture.write_text(picture(rows))
    if arguments.frontier:
        words = ["--quick"] if arguments.quick else ["--urls", str(arguments.frontier)]
        if arguments.directory is not None:
            words += ["--directory", str(arguments.directory)]
        subprocess.run([sys.executable, str(Path(__file__).parent / "frontier_scale.py"), *words], check=True)


if __name__ == "__main__":
    main()
