"""How large must a cache of URLs be, and how should it forget?

    python benchmarks/url_cache.py --edges cnr-2000.tsv.gz --picture docs/url-cache.svg
    python benchmarks/url_cache.py --recorded links.bin
    python benchmarks/url_cache.py --made-up 10000000
    python benchmarks/url_cache.py --seen-tests 2000000

The study of Broder, Najork and Wiener ("Efficient URL caching for World Wide Web crawling", WWW 2003) on our
streams: each is replayed through caches of 2^4 to 2^22 entries, once with all links and once with those that lead to
another host, which a crawler of several machines sends over the network. Prints the miss rate of each policy, its
ratio to MIN, and CLOCK's critical point: the least size from which on no cache, however large, answers 2 more of 100
requests.

`--seen-tests` instead adds so many URLs to other ways of telling whether a URL was seen: errors, memory, time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import seentests
import urlstreams
from caches import POLICIES
from urlstreams import UrlStream, totals

EXPONENTS = range(4, 23)
LITTLE = 0.02
"""Of all requests: what a cache beyond the critical point cannot gain."""
SIZED = [name for name in POLICIES if name != "INFINITE"]

_replayed: array[int] = array("q")


@dataclass
class Study:
    """One stream's miss rates: policy → a rate for every size."""

    name: str
    requests: str
    exponents: Sequence[int]
    rates: dict[str, list[float]]
    new: float
    """The rate of INFINITE."""

    @property
    def critical(self) -> int:
        """Where in `exponents` the critical point is; behind them if it is not reached."""
        rates = self.rates["CLOCK"]
        return next((n for n, rate in enumerate(rates) if rate - self.new < LITTLE), len(rates))


def _misses(task: tuple[str, int]) -> int:
    name, size = task
    return POLICIES[name](_replayed, size)


def study(name: str, stream: array[int], exponents: Sequence[int], jobs: int) -> Study:
    """Replay `stream` through every policy at every size, in processes that share it."""
    global _replayed  # noqa: PLW0603 - what a forked process sees without a copy
    _replayed = stream
    distinct = POLICIES["INFINITE"](stream, 0)
    # A cache that holds all URLs misses each once, whatever it would forget; but one that is static, never.
    tasks = [(p, 1 << e) for p in SIZED for e in exponents if 1 << e < distinct or p == "STATIC"]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        found = dict(zip(tasks, pool.map(_misses, tasks, chunksize=1), strict=True))
    rates = {p: [found.get((p, 1 << e), distinct) / len(stream) for e in exponents] for p in SIZED}
    return Study(name, totals(stream), exponents, rates, distinct / len(stream))


def report(found: Study) -> None:
    print(f"\n{found.name}: {found.requests}; INFINITE misses {found.new:.1%}\n")
    print("| entries | " + " | ".join(SIZED) + " | LRU / MIN | CLOCK / MIN | RANDOM / MIN |")
    print("|---|" + "---|" * (len(SIZED) + 3))
    for place, exponent in enumerate(found.exponents):
        least = found.rates["MIN"][place]
        shares = [f"{found.rates[policy][place]:.1%}" for policy in SIZED]
        ratios = [f"{found.rates[policy][place] / least:.3f}" for policy in ("LRU", "CLOCK", "RANDOM")]
        mark = " **critical**" if place == found.critical else ""
        print(f"| 2^{exponent}{mark} | {' | '.join([*shares, *ratios])} |")


COLOURS = {"MIN": "#333", "LRU": "#08c", "CLOCK": "#0b6", "RANDOM": "#c60", "STATIC": "#a3a", "FIRST": "#888"}
_WIDTH, _HEIGHT, _MARGIN = 720, 360, 56


def picture(studies: Sequence[Study]) -> str:
    """Miss rates over sizes, and below them the ratio to MIN; a column a study."""
    width = _WIDTH * len(studies)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {2 * _HEIGHT}" font-size="13"',
        ' font-family="sans-serif">',
        f'<rect width="{width}" height="{2 * _HEIGHT}" fill="#fff"/>',
    ]
    for column, found in enumerate(studies):
        least = found.rates["MIN"]
        ratios = {p: [r / m for r, m in zip(found.rates[p], least, strict=True)] for p in SIZED}
        most = min(3.0, max(max(rates) for rates in ratios.values()))
        x = column * _WIDTH
        parts += _panel(found, found.rates, (0.0, 1.0), (x, 0), f"{found.name}: miss rate")
        parts += _panel(found, ratios, (1.0, max(most, 1.1)), (x, _HEIGHT), "misses as a multiple of MIN's")
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    found: Study, lines: dict[str, list[float]], span: tuple[float, float], corner: tuple[int, int], title: str
) -> list[str]:
    (low, high), (left, top) = span, corner

    def across(place: int) -> float:
        return left + _MARGIN + (_WIDTH - 2 * _MARGIN) * place / max(1, len(found.exponents) - 1)

    def down(value: float) -> float:
        return top + _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * (min(max(value, low), high) - low) / (high - low)

    bottom = top + _HEIGHT - _MARGIN
    parts = [
        f'<text x="{left + _MARGIN}" y="{top + 30}">{title}</text>',
        f'<path d="M{left + _MARGIN} {top + _MARGIN}V{bottom}H{left + _WIDTH - _MARGIN}" fill="none" stroke="#333"/>',
    ]
    for step in range(5):
        value = low + (high - low) * step / 4
        text = f"{value:.0%}" if low == 0 else f"{value:.2f}"
        parts.append(f'<text x="{left + _MARGIN - 6}" y="{down(value) + 4:.0f}" text-anchor="end">{text}</text>')
    for place, exponent in enumerate(found.exponents):
        if exponent % 2 == 0:
            parts.append(f'<text x="{across(place):.0f}" y="{bottom + 18}" text-anchor="middle">2^{exponent}</text>')
    if found.critical < len(found.exponents):
        at = across(found.critical)
        parts.append(f'<path d="M{at:.0f} {top + _MARGIN}V{bottom}" stroke="#bbb" stroke-dasharray="4 4"/>')
        parts.append(f'<text x="{at - 4:.0f}" y="{top + 150}" text-anchor="end" fill="#777">critical point</text>')
    if low == 0:
        parts.append(
            f'<path d="M{left + _MARGIN} {down(found.new):.1f}H{left + _WIDTH - _MARGIN}" stroke="#bbb"/>'
            f'<text x="{left + _MARGIN + 6}" y="{down(found.new) - 5:.0f}" fill="#777">INFINITE</text>'
        )
    for row, (policy, rates) in enumerate(lines.items()):
        points = " ".join(f"{across(n):.1f},{down(rate):.1f}" for n, rate in enumerate(rates))
        colour = COLOURS[policy]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + _MARGIN + 14 + 18 * row
        parts.append(f'<text x="{left + _WIDTH - _MARGIN}" y="{y}" text-anchor="end" fill="{colour}">{policy}</text>')
    return parts


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--edges", type=Path, help="a graph of links: see benchmarks/order.py")
    source.add_argument("--recorded", type=Path, help="what a crawl wrote with linkrecorder.py")
    source.add_argument("--made-up", type=int, metavar="REQUESTS")
    source.add_argument("--seen-tests", type=int, metavar="URLS")
    parser.add_argument("--host-size", type=int, default=1000, help="of --edges: so many ids in a row are one host")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--to", type=int, default=EXPONENTS[-1], help="the largest cache has 2 to this power entries")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--picture", type=Path)
    return parser.parse_args()


def read(arguments: argparse.Namespace) -> UrlStream:
    if arguments.edges:
        return urlstreams.of_graph(arguments.edges, host_size=arguments.host_size, seeds=arguments.seeds)
    if arguments.recorded:
        return urlstreams.of_recording(arguments.recorded)
    return urlstreams.made_up(arguments.made_up)


def main() -> None:
    arguments = parse()
    if arguments.seen_tests:
        seentests.report(arguments.seen_tests)
        return
    begun = time.monotonic()
    stream = read(arguments)
    exponents = range(EXPONENTS[0], arguments.to + 1)
    streams = {f"{stream.name}, all links": stream.all, "links to other hosts": stream.abroad}
    studies = [study(name, urls, exponents, arguments.jobs) for name, urls in streams.items() if urls]
    for found in studies:
        report(found)
    print(f"\n{time.monotonic() - begun:,.0f} s")
    if arguments.picture:
        arguments.picture.write_text(picture(studies))


if __name__ == "__main__":
    main()
