"""Sitemaps: how soon new links are found, how fast sitemaps are read, and in how much memory.

    python benchmarks/sitemaps.py visits --picture docs/sitemaps.svg
    python benchmarks/sitemaps.py speed
    python benchmarks/sitemaps.py memory

`visits`: a site with 60 sitemaps over 60 days, under a simulated clock. They bring from one link in a hundred days to
300 a day; some fall silent half-way, some wake up, some answer only to lie or with spam. Each policy visits them, and
each link waits from its publication until it is found. `speed`: entries a CPU-second, against Scrapy's `Sitemap` and,
where the extra `bench` is installed, ultimate-sitemap-parser. `memory`: an index of 10,000 sitemaps with 1 GB in all.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from statistics import fmean, median

from sitecrawl.crawl.sitemaps.entry import ParseReport
from sitecrawl.crawl.sitemaps.parse import chunks_of, read_sitemap
from sitecrawl.crawl.sitemaps.record import DAY, ScheduleOptions, SitemapRecord
from sitecrawl.crawl.sitemaps.store import SitemapStore
from sitecrawl.crawldir.database import Database

HOUR = 3600.0
SITEMAPS = 60
DAYS = 60
INTERVALS = (1, 2, 4, 8, 24, 72)
BUDGETS = (1000, 500, 250, 100, 50, 20)
UNBOUNDED = 1e9


# Visits


@dataclass
class Source:
    """A sitemap of the simulated site."""

    published: list[float]
    """When its links come out, in seconds from the start."""
    claims: float = 0.0
    """What it says of itself, in links a second."""
    spam: bool = False
    seen: int = 0
    """Links that have been found."""

    def visit(self, now: float) -> list[float]:
        """How long each new link has waited."""
        start = self.seen
        while self.seen < len(self.published) and self.published[self.seen] <= now:
            self.seen += 1
        return [now - at for at in self.published[start : self.seen]]


@dataclass
class Outcome:
    """What a policy has come to."""

    name: str
    requests: int = 0
    unchanged: int = 0
    waits: list[float] = field(default_factory=list)
    """Of every link, in seconds; to the end of the simulation for one that was not found."""

    def line(self) -> str:
        within = sum(wait <= 6 * HOUR for wait in self.waits) / len(self.waits)
        return (
            f"{self.name:<22} {self.requests / DAYS:>8.0f} {self.unchanged / max(self.requests, 1):>9.0%} "
            f"{fmean(self.waits) / HOUR:>11.2f} {median(self.waits) / HOUR:>9.2f} {within:>9.1%}"
        )


def site(seed: int) -> list[Source]:
    """The sitemaps of a site, alike for every policy."""
    rng = random.Random(seed)
    sources = []
    for number in range(SITEMAPS):
        rate = 10 ** rng.uniform(-2, 2.5) / DAY
        begin, end = 0.0, DAYS * DAY
        if number % 6 == 0:
            end *= rng.uniform(0.3, 0.7)
        elif number % 6 == 1:
            begin = end * rng.uniform(0.3, 0.7)
        times, at = [], begin
        while (at := at + rng.expovariate(rate)) < end:
            times.append(at)
        is_spam = number % 10 == 9
        claims = rate if number % 4 else rate * 50
        sources.append(Source([] if is_spam else times, claims=claims, spam=is_spam))
    return sources


def run_fixed(hours: float, seed: int) -> Outcome:
    """Every sitemap at the same interval."""
    result = Outcome(f"every {hours:g} h")
    step = hours * HOUR
    for number, source in enumerate(site(seed)):
        at = step * number / SITEMAPS
        while at < DAYS * DAY:
            _count(result, source, at)
            at += step
        _end(result, source)
    return result


def run_scheduled(budget: float, seed: int) -> Outcome:
    """By yield, within `budget` requests a day."""
    result = Outcome("by yield" if budget == UNBOUNDED else f"by yield, {budget:g} a day")
    options = ScheduleOptions(budget=budget)
    sources = site(seed)
    with tempfile.TemporaryDirectory() as directory:
        database = Database(Path(directory) / "db", hash_name="benchmark")
        with closing(database):
            store = SitemapStore(database, options)
            for number in range(len(sources)):
                store.put(number.to_bytes(16, "big"), SitemapRecord(f"{number}", "a.example", next_visit=0.0))
            while (now := store.next_time()) is not None and now < DAYS * DAY:
                for key in store.due(now):
                    record, source = store.get(key), sources[int.from_bytes(key, "big")]
                    assert record is not None
                    new = _count(result, source, now)
                    record.entries, record.alien = (0, 100) if source.spam else (100, 0)
                    record.claimed = source.claims
                    record.succeeded(now, new=new, seconds=0.5, unchanged=not new)
                    store.plan(key, now)
    for source in sources:
        _end(result, source)
    return result


def _count(result: Outcome, source: Source, now: float) -> int:
    waits = source.visit(now)
    result.requests += 1
    result.unchanged += not waits
    result.waits += waits
    return len(waits)


def _end(result: Outcome, source: Source) -> None:
    result.waits += source.visit(DAYS * DAY)


def visits(arguments: argparse.Namespace) -> None:
    fixed = [run_fixed(hours, arguments.seed) for hours in INTERVALS]
    ours = [run_scheduled(budget, arguments.seed) for budget in (UNBOUNDED, *BUDGETS)]
    print(f"{SITEMAPS} sitemaps, {DAYS} days, {len(fixed[0].waits):,} links\n")
    print(f"{'policy':<22} requests unchanged  wait: mean    median  within")
    print(f"{'':<22}    a day                 hours     hours     6 h")
    for outcome in [*fixed, *ours]:
        print(outcome.line())
    if arguments.picture:
        arguments.picture.write_text(picture({"fixed interval": fixed, "by yield": ours}))


_COLOURS = ("#c0392b", "#1f6fb2")


def picture(lines: dict[str, Sequence[Outcome]]) -> str:
    """Requests a day against the hours that a new link waits, both on logarithmic scales, as SVG."""
    width, height, margin = 640, 400, 60
    points = [(o.requests / DAYS, fmean(o.waits) / HOUR) for outcomes in lines.values() for o in outcomes]
    scale_x = _scale([x for x, _ in points], margin, width - 20)
    scale_y = _scale([y for _, y in points], height - margin, 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        f'<g font-size="12"><rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{width / 2}" y="{height - 15}" text-anchor="middle">requests a day</text>',
        f'<text x="{margin}" y="14">hours until a new link is found, on average</text>',
    ]
    for value in (10, 20, 50, 100, 200, 500, 1000):
        if margin <= (x := scale_x(value)) <= width - 20:
            parts.append(f'<path d="M{x:.1f} 20V{height - margin}" stroke="#ddd"/>')
            parts.append(f'<text x="{x:.1f}" y="{height - margin + 18}" text-anchor="middle">{value}</text>')
    for hours in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50):
        if 20 <= (y := scale_y(hours)) <= height - margin:
            parts.append(f'<path d="M{margin} {y:.1f}H{width - 20}" stroke="#ddd"/>')
            parts.append(f'<text x="{margin - 8}" y="{y + 4:.1f}" text-anchor="end">{hours:g}</text>')
    for number, (name, outcomes) in enumerate(lines.items()):
        places = sorted((scale_x(o.requests / DAYS), scale_y(fmean(o.waits) / HOUR)) for o in outcomes)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_COLOURS[number]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_COLOURS[number]}"/>' for x, y in places]
        parts.append(f'<text x="{width - 150}" y="{40 + 18 * number}" fill="{_COLOURS[number]}">{name}</text>')
    return "\n".join([*parts, "</g></svg>\n"])


def _scale(values: Sequence[float], start: float, stop: float) -> Callable[[float], float]:
    low, high = log(min(values)), log(max(values))
    return lambda value: start + (stop - start) * (log(value) - low) / (high - low)


# Speed and memory


def document(entries: int, number: int = 0) -> bytes:
    """A sitemap as WordPress, Yoast and most others write it."""
    lines = b"".join(
        b"<url><loc>https://www.example.com/catalog/%d/item-%d.html?a=1&amp;b=%d</loc>"
        b"<lastmod>2024-01-01T00:00:00+00:00</lastmod><changefreq>daily</changefreq><priority>0.5</priority></url>\n"
        % (number, item, item)
        for item in range(entries)
    )
    head = (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        b'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">\n'
    )
    return head + lines + b"</urlset>\n"


def with_images(entries: int) -> bytes:
    """The same with an image each, as a shop's."""
    image = b"<image:image><image:loc>https://www.example.com/i.jpg</image:loc></image:image></url>"
    return document(entries).replace(b"</url>\n", image + b"\n")


def _ours(data: bytes) -> int:
    return sum(1 for _ in read_sitemap(chunks_of(data), "https://www.example.com/sitemap.xml", ParseReport()))


def _scrapy(data: bytes) -> int:
    from scrapy.utils.sitemap import Sitemap  # noqa: PLC0415 - the engine is measured without it

    return sum(1 for _ in Sitemap(data))


def _usp(data: bytes) -> int:
    from usp.fetch_parse import XMLSitemapParser  # noqa: PLC0415 - an extra

    parser = XMLSitemapParser(
        url="https://www.example.com/sitemap.xml",
        content=data.decode(),
        recursion_level=0,
        web_client=None,  # type: ignore[arg-type]
        parent_urls=set(),
    )
    return sum(1 for _ in parser.sitemap().all_pages())


def speed(arguments: argparse.Namespace) -> None:
    for name, data in (("plain", document(50_000)), ("with images", with_images(50_000))):
        print(f"{name}: 50,000 entries, {len(data) / 1e6:.1f} MB; entries a CPU-second, best of {arguments.rounds}")
        for reader in (_ours, _scrapy, _usp):
            try:
                best = min(_timed(reader, data) for _ in range(arguments.rounds))
            except ImportError:
                print(f"  {reader.__name__[1:]:<8} not installed")
                continue
            print(f"  {reader.__name__[1:]:<8} {50_000 / best:>10,.0f}")


def _timed(reader: Callable[[bytes], int], data: bytes) -> float:
    start = time.process_time()
    assert reader(data) == 50_000
    return time.process_time() - start


def memory(arguments: argparse.Namespace) -> None:
    if not arguments.here:
        subprocess.run(
            [sys.executable, __file__, "memory", "--here", "--sitemaps", str(arguments.sitemaps)], check=True
        )
        return
    with tempfile.TemporaryDirectory() as directory, closing(Database(Path(directory), hash_name="b")) as database:
        store = SitemapStore(database, ScheduleOptions())
        before = _peak()
        start = time.process_time()
        size = entries = 0
        for number, entry in enumerate(
            read_sitemap(_index(arguments.sitemaps), "https://www.example.com/i", ParseReport())
        ):
            record = SitemapRecord(entry.url.href, entry.url.host, parent="https://www.example.com/i")
            report = ParseReport()
            new = sum(1 for _ in read_sitemap(chunks_of(document(570, number)), entry.url.href, report))
            record.succeeded(float(number), new=new, seconds=0.1)
            key = number.to_bytes(16, "big")
            store.put(key, record)
            store.plan(key, float(number))
            size, entries = size + report.size, entries + report.entries
        batch = database.batch()
        store.prepare(batch)
        database.write(batch)
        store.committed()
        seconds = time.process_time() - start
        print(f"{len(store):,} sitemaps, {size / 1e9:.2f} GB, {entries:,} entries in {seconds:.0f} s of CPU")
        print(f"peak memory {_peak():.0f} MB, of which {before:.0f} MB before the first sitemap")


def _index(sitemaps: int) -> Iterator[bytes]:
    yield b'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    for number in range(sitemaps):
        yield b"<sitemap><loc>https://www.example.com/sitemap-%d.xml</loc></sitemap>\n" % number
    yield b"</sitemapindex>"


def _peak() -> float:
    """MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("visits")
    one.add_argument("--picture", type=Path, help="write requests against waiting time as SVG")
    one.add_argument("--seed", type=int, default=1)
    one.set_defaults(run=visits)
    two = parts.add_parser("speed")
    two.add_argument("--rounds", type=int, default=3)
    two.set_defaults(run=speed)
    three = parts.add_parser("memory")
    three.add_argument("--sitemaps", type=int, default=10_000)
    three.add_argument("--here", action="store_true", help="measure this process, and not a new one")
    three.set_defaults(run=memory)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
