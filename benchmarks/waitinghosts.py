"""What it costs that hosts wait: a synthetic web of many hosts, each of which is asked rarely.

Three crawls of as many pages: of many hosts with a delay, of the same hosts without one, and of few hosts without
one. What the second costs above the third are the robots.txt files and connections of many hosts; what the first
costs above the second is the waiting.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from peers import Job, Ours, Result, run, serving
from syntheticweb import Web

FEW: Final = 50
PORT: Final = 8000


class Delayed(Ours):
    """Ours, with a delay in seconds."""

    def __init__(self, delay: float) -> None:
        self.settings = Ours.settings | {"DOWNLOAD_DELAY": delay}  # type: ignore[misc]


def crawl(web: Web, delay: float) -> Result:
    *_, served_from = cores = sorted(os.sched_getaffinity(0))
    with serving(web, served_from, nginx=False), tempfile.TemporaryDirectory(prefix="waiting-") as folder:
        result = run(Delayed(delay), Job(web, Path(folder)), cores[0])
        if result.status:
            print((Path(folder) / "log").read_text(errors="replace")[-2000:], flush=True)
        return result


def rows(many: int, pages: int, delay: float) -> Iterator[str]:
    """A table of the three."""
    yield "| hosts | delay | pages | pages/s | CPU, ms/page | share of a core | peak memory |"
    yield "|---|---|---|---|---|---|---|"
    for hosts, pause in ((FEW, 0.0), (many, 0.0), (many, delay)):
        done = crawl(Web(pages=pages, hosts=hosts, port=PORT), pause)
        yield (
            f"| {hosts:,} | {pause:g} s | {done.pages:,} | {done.pages / done.wall:.0f} "
            f"| {1000 * done.cpu / max(done.pages, 1):.2f} | {100 * done.cpu / done.wall:.0f}% "
            f"| {done.memory / 1e6:.0f} MB |"
        )
