"""Where a page's time goes, by part: `benchmarks/peers.py --profile`.

py-spy looks at the crawl's Python stacks from outside, some hundred times a second. A sample belongs to the part
whose code is innermost in it, whatever library that code is in the midst of: `zlib` under the page store is the page
store's. What is in no part of ours is Scrapy's engine, and samples in the midst of an import are the start-up.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

RATE: Final = 200
"""Samples a second."""

ENGINE: Final = "engine: Scrapy, Twisted, the event loop"
START: Final = "start-up: imports"
PARTS: Final = {
    ENGINE: ("sitecrawl/extensions/downloader",),
    "download: HTTP client, robots.txt, middlewares": (
        "sitecrawl/extensions/download_handler.py", "sitecrawl/http/", "middlewares/",
    ),
    "duplicates: SimHash, digests": ("sitecrawl/frontier/forms/duplicates.py", "sitecrawl/page/simhash.py"),
    "URL: parsing, identity, fingerprint, scope": ("sitecrawl/urls/", "sitecrawl/frontier/scope.py"),
    "parse: HTML, links, text": ("sitecrawl/page/", "sitecrawl/crawl/page_item.py", "sitecrawl/spiders/"),
    "seen: CLOCK, Bloom": ("sitecrawl/seen/", "sitecrawl/frontier/urls/crawl_seen.py"),
    "credit: ledger, trust": ("sitecrawl/credit/", "sitecrawl/frontier/urls/link_credit.py"),
    "frontier: records, queues, judge": (
        "sitecrawl/frontier/", "sitecrawl/scheduler.py", "sitecrawl/crawl/requests.py",
    ),
    "database: RocksDB": ("sitecrawl/crawldir/database.py",),
    "store: WARC, index, pipelines": ("sitecrawl/pagestore/", "pipelines/"),
    "crawl, progress, the rest of ours": ("sitecrawl/",),
}  # fmt: skip
"""Parts, and the files that are theirs; the first that fits counts."""

_OUTERMOST: Final = "sitecrawl/console/commands/"
"""The command that runs all of it."""
_FRAME: Final = re.compile(r"\(([^()]*?)(?::\d+)?\)$")


def profiler() -> str:
    """py-spy's program. Exits where it is not installed."""
    beside = str(Path(sys.executable).parent / "py-spy")
    if (program := shutil.which("py-spy") or shutil.which(beside)) is None:
        raise SystemExit("A profile is taken by py-spy, which is not installed: pip install py-spy")
    return program


def command(crawl: list[str], output: Path) -> list[str]:
    """`crawl` under py-spy, which writes its samples to `output`."""
    return [profiler(), "record", "--rate", str(RATE), "--format", "raw", "--output", str(output), "--", *crawl]


def samples(output: Path) -> Counter[str]:
    """How many samples each part has."""
    found: Counter[str] = Counter()
    for line in output.read_text(encoding="utf-8", errors="replace").splitlines():
        stack, _, count = line.rpartition(" ")
        if (part := part_of(stack.split(";"))) is not None:
            found[part] += int(count)
    return found


def part_of(frames: list[str]) -> str | None:
    """The part that a stack belongs to, the outermost frame first; None for a thread that waits."""
    if frames[-1].startswith(("wait ", "Condition.wait ", "select ", "poll ")):
        return None
    if any("<frozen importlib" in frame for frame in frames):
        return START
    for frame in reversed(frames):
        match = _FRAME.search(frame)
        file = match[1] if match else ""
        if file.startswith(_OUTERMOST):
            break
        for part, files in PARTS.items():
            if file.startswith(files):
                return part
    return ENGINE


def table(found: Counter[str], cpu: float, pages: int) -> Iterator[str]:
    """CPU ms a page by part, of `cpu` seconds in all."""
    total = found.total() or 1
    yield "| part | CPU, ms/page | share |"
    yield "|---|---|---|"
    for part, count in found.most_common():
        yield f"| {part} | {1000 * cpu * count / total / max(pages, 1):.3f} | {count / total:.0%} |"
    yield f"| together | {1000 * cpu / max(pages, 1):.3f} | |"
