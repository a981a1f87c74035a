"""Does the millionth page cost what the hundred thousandth did? One crawl, watched as it grows.

    python benchmarks/flat.py --samples flat.json --picture docs/flat.svg
    python benchmarks/flat.py --draw flat.json --picture docs/flat.svg

`syntheticweb.py` serves a web of small pages, three times as many as `--pages`, in which a page brings two new URLs,
the millionth as the first: so as many wait as have been fetched. One crawl with everything on (robots.txt, seen set,
credit, WARC files, index, no pauses, 64 requests at once) fetches `--pages` of it. Every `--step` of them a sample is
taken: time of the processor (user and system, all processes of the crawl), memory (anonymous, and of files that are
mapped), bytes on disk by part.

The crawl is then stopped as by Ctrl-C and started again, until it asks for its first page.

A machine that does other work makes every second of a processor worth less. So with each look at the crawl a short
piece of work, always the same, is timed as well: `yardstick` is what it took on average since the last sample. CPU is
told as it was measured, and beside it in yardsticks of the first window.

Samples are written as they are taken: a run that is stopped early (Ctrl-C, SIGTERM) has all up to then.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from peers import Job, Ours, _environment, serving, told
from syntheticweb import Web

STEP: Final = 10_000
WINDOW: Final = 5
"""Samples over which the cost of a page is averaged."""
LOOK_EVERY: Final = 0.5
"""Seconds between two looks at how far the crawl is."""
LEAST_WEB: Final = 20_000
"""Pages that are served at least: so many come in between no two looks, and something is left to be opened again."""
HOSTS: Final = 200
LINKS: Final = 10
TICK: Final = os.sysconf("SC_CLK_TCK")
_WORK: Final = Random(1).sample(range(1 << 30), 20_000)


@dataclass(frozen=True)
class Sample:
    pages: int
    wall: float
    """Seconds since the start."""
    cpu: float
    """Seconds of the processor since the start."""
    anonymous: int
    mapped: int
    """Bytes in memory: of its own, and of files."""
    disk: Mapping[str, int]
    """Bytes by part of the crawl's directory."""
    yardstick: float
    """Seconds of the processor that a fixed piece of work took."""


@dataclass
class Run:
    """What one crawl has shown."""

    web: int
    samples: list[Sample] = field(default_factory=list)
    opened: dict[str, float] = field(default_factory=dict)
    """Seconds from the start of the second run to its first request for a page: of the `wall`, and `cpu`."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Run:
        stored = json.loads(path.read_text())
        return cls(stored["web"], [Sample(**sample) for sample in stored["samples"]], stored["opened"])


# The crawl


class Crawler:
    """A crawl in `job`, in a session of its own, by which all of its processes are found."""

    def __init__(self, job: Job) -> None:
        with (job.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                Ours().command(job),
                cwd=job.folder,
                env=_environment(Ours()),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def cpu(self) -> float:
        ticks = sum(sum(map(int, fields[11:15])) for _, fields in self._processes())
        return ticks / TICK

    def memory(self) -> tuple[int, int]:
        """Bytes: anonymous, and of files."""
        found: Counter[str] = Counter()
        for process, _ in self._processes():
            with suppress(OSError):
                for line in (process / "status").read_text().splitlines():
                    name, _, value = line.partition(":")
                    if name in {"RssAnon", "RssFile"}:
                        found[name] += 1024 * int(value.split()[0])
        return found["RssAnon"], found["RssFile"]

    def _processes(self) -> Iterator[tuple[Path, list[str]]]:
        """Each with the fields of its `stat` from the state on (proc(5))."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == self._process.pid:
                    yield process, fields

    def stop(self) -> None:
        """As Ctrl-C does, and wait for it."""
        if not self.is_over:
            self._process.send_signal(signal.SIGINT)
        self._process.wait()


class Yardstick:
    """How long the same work takes."""

    def __init__(self) -> None:
        self._seconds, self._times = 0.0, 0

    def measure(self) -> None:
        begun = time.thread_time()
        sorted(_WORK)
        self._seconds += time.thread_time() - begun
        self._times += 1

    def take(self) -> float:
        """The mean since the last one was taken."""
        mean = self._seconds / max(self._times, 1)
        self._seconds, self._times = 0.0, 0
        return mean


@contextmanager
def crawling(job: Job) -> Iterator[Crawler]:
    crawler = Crawler(job)
    try:
        yield crawler
    finally:
        crawler.stop()


def grow(run: Run, job: Job, pages: int, step: int) -> Iterator[Sample]:
    """Crawl up to `pages`; gives the samples as they are taken. Raises `SystemExit` if the crawl ends before."""
    begun, fetched, yardstick = time.perf_counter(), 0, Yardstick()
    with crawling(job) as crawler:
        while fetched < pages:
            mark = fetched // step * step + step
            while fetched < mark:
                if crawler.is_over:
                    raise SystemExit(f"The crawl ended after {fetched:,} pages:\n{_tail(job)}")
                time.sleep(LOOK_EVERY)
                yardstick.measure()
                fetched += told(job.web)["requests"]
            wall = time.perf_counter() - begun
            disk = by_part(job.folder / "crawl")
            run.samples.append(Sample(fetched, wall, crawler.cpu(), *crawler.memory(), disk, yardstick.take()))
            yield run.samples[-1]


def open_again(job: Job) -> dict[str, float]:
    told(job.web)
    begun = time.perf_counter()
    with crawling(job) as crawler:
        while not told(job.web)["requests"]:
            if crawler.is_over:
                raise SystemExit(f"The crawl did not go on:\n{_tail(job)}")
            time.sleep(0.01)
        return {"wall": time.perf_counter() - begun, "cpu": crawler.cpu()}


def _tail(job: Job) -> str:
    return (job.folder / "log").read_text(errors="replace")[-2000:]


def by_part(folder: Path) -> dict[str, int]:
    """Bytes in each file and folder that is directly in `folder`."""
    found: Counter[str] = Counter()
    for file in folder.rglob("*"):
        with suppress(OSError):  # it may have gone meanwhile
            if file.is_file():
                found[file.relative_to(folder).parts[0]] += file.stat().st_size
    return dict(found)


# Telling


@dataclass(frozen=True)
class Cost:
    """Of a page, over a window that ends after `pages`."""

    pages: int
    cpu: float
    """Milliseconds."""
    even: float
    """The same, had the machine been as quick as in the first window."""


def costs(samples: Sequence[Sample]) -> list[Cost]:
    """Over windows of `WINDOW` samples; the first, with the start in it, is left out where there are others."""
    ends = range(WINDOW, len(samples), WINDOW)
    found, pace = list[Cost](), 0.0
    for end in ends:
        before, last = samples[end - WINDOW], samples[end]
        yardstick = sum(sample.yardstick for sample in samples[end - WINDOW + 1 : end + 1]) / WINDOW
        pace = pace or yardstick
        cpu = 1000 * (last.cpu - before.cpu) / (last.pages - before.pages)
        found.append(Cost(last.pages, cpu, cpu * pace / yardstick))
    return found


def table(run: Run) -> Iterator[str]:
    yield "| pages | CPU, ms/page | the same, even pace | memory | of files | disk, kB/page |"
    yield "|---|---|---|---|---|---|"
    at = {sample.pages: sample for sample in run.samples}
    for cost in costs(run.samples):
        sample = at[cost.pages]
        yield (
            f"| {sample.pages:,} | {cost.cpu:.2f} | {cost.even:.2f} | {sample.anonymous / 1e6:.0f} MB "
            f"| {sample.mapped / 1e6:.0f} MB | {sum(sample.disk.values()) / sample.pages / 1e3:.2f} |"
        )
    if run.opened:
        yield f"opened again in {run.opened['wall']:.1f} s ({run.opened['cpu']:.1f} s of CPU)"


_WIDTH, _HEIGHT, _MARGIN = 360, 240, 44
_COLOURS: Final = ("#08c", "#c50", "#393", "#a3a", "#777")
Line = Sequence[tuple[float, float]]


def picture(run: Run) -> str:
    """A panel each for time, memory and disk, over the pages that were fetched."""
    found, samples = costs(run.samples), run.samples
    parts = sorted(samples[-1].disk, key=lambda part: -samples[-1].disk[part])
    panels: dict[str, dict[str, Line]] = {
        "CPU, ms a page": {
            "as measured": [(cost.pages, cost.cpu) for cost in found],
            "at an even pace": [(cost.pages, cost.even) for cost in found],
        },
        "memory, MB": {
            "its own": [(sample.pages, sample.anonymous / 1e6) for sample in samples],
            "of files": [(sample.pages, sample.mapped / 1e6) for sample in samples],
        },
        "disk, kB a page": {
            "all": [(sample.pages, sum(sample.disk.values()) / sample.pages / 1e3) for sample in samples],
            **{
                part: [(sample.pages, sample.disk.get(part, 0) / sample.pages / 1e3) for sample in samples]
                for part in parts[: len(_COLOURS) - 1]
            },
        },
    }
    width = _WIDTH * len(panels)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" font-family="sans-serif"',
        ' font-size="12">',
        f'<rect width="{width}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for column, (name, lines) in enumerate(panels.items()):
        drawn += _panel(name, lines, column * _WIDTH, samples[-1].pages)
    return "\n".join([*drawn, "</svg>\n"])


def _panel(name: str, lines: Mapping[str, Line], left: int, pages: int) -> Iterator[str]:
    most = 1.15 * max(value for line in lines.values() for _, value in line)
    start, base = left + _MARGIN, _HEIGHT - _MARGIN
    width, height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    yield f'<text x="{start}" y="20" font-weight="bold">{name}</text>'
    yield f'<path d="M{start},{base - height} v{height} h{width}" fill="none" stroke="#999"/>'
    for share in (0, 0.5, 1):
        x, y = start + width * share, base - height * share
        yield f'<text x="{x:.0f}" y="{base + 16}" text-anchor="middle" fill="#555">{pages * share:,.0f}</text>'
        yield f'<text x="{start - 4}" y="{y + 4:.0f}" text-anchor="end" fill="#555">{most * share:.3g}</text>'
    for number, (label, line) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(f"{start + width * x / pages:.1f},{base - height * y / most:.1f}" for x, y in line)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        x, y = start + 8 + 100 * (number % 3), 36 + 14 * (number // 3)
        yield f'<text x="{x}" y="{y}" fill="{colour}">{label}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=STEP, help="pages between two samples")
    parser.add_argument("--port", type=int, default=Web.port)
    parser.add_argument("--samples", type=Path, default=Path("flat.json"), help="write them there")
    parser.add_argument("--picture", type=Path, help="draw them there (SVG)")
    parser.add_argument("--draw", type=Path, metavar="SAMPLES", help="crawl nothing: show what was measured")
    parser.add_argument("--directory", type=Path, help="where the crawl lies meanwhile; default: the system's")
    arguments = parser.parse_args()
    run = measure(arguments) if arguments.draw is None else Run.load(arguments.draw)
    print(*table(run), sep="\n")
    if arguments.picture:
        arguments.picture.write_text(picture(run))


def measure(arguments: argparse.Namespace) -> Run:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    web = Web(max(3 * arguments.pages, LEAST_WEB), HOSTS, LINKS, size=0, port=arguments.port, back=1)
    run = Run(web.pages)
    *_, served_from = sorted(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory(prefix="flat-", dir=arguments.directory) as folder,
        serving(web, served_from, nginx=False),
    ):
        job = Job(web, Path(folder))
        try:
            for sample in grow(run, job, arguments.pages, arguments.step):
                print(f"{sample.pages:,} pages, {sample.cpu:.0f} s of CPU", file=sys.stderr, flush=True)
                run.save(arguments.samples)
        except KeyboardInterrupt:
            print("stopped early", file=sys.stderr)
        run.opened = open_again(job)
        run.save(arguments.samples)
    return run


if __name__ == "__main__":
    main()
