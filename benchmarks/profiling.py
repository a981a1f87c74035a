"""What a page costs in instructions, by part: the same however busy the machine is.

    python benchmarks/profiling.py

A site of 1, 101 and 601 pages is crawled under valgrind, the last two also with `frames.c`, by which valgrind tells
the parts of ours from one another; so what a page more costs is in no part the start's. What a part calls of
libraries is its own: `zlib` under the page store is the page store's. What is in no part of ours is Scrapy's engine.
What comes every second (checkpoints, samples, progress) comes a thousand times less often, for valgrind makes a crawl
fifty times slower.

It takes a quarter of an hour, the port 8123 (or `PORT`), valgrind, a C compiler and CPython 3.11 with its internal
headers.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scrapy.utils.asyncio import AsyncioLoopingCall
from syntheticweb import Web

PROJECT: Final = Path(__file__).resolve().parent.parent
SIZES: Final = (1, 101, 601)
ENGINE: Final = "engine: Scrapy, Twisted, the event loop"
START: Final = "start-up: imports"
PARTS: Final = {
    ENGINE: (
        "sitecrawl/extensions/downloader", "sitecrawl/extensions/shorter_", "sitecrawl/extensions/signal_manager",
    ),
    "download: HTTP client, robots.txt, middlewares": (
        "sitecrawl/extensions/lighter.py", "sitecrawl/extensions/download_handler.py", "sitecrawl/http/",
        "middlewares/",
    ),
    "duplicates: SimHash, digests": ("sitecrawl/frontier/forms/duplicates.py", "sitecrawl/page/simhash.py"),
    "URL: parsing, identity, fingerprint, scope": ("sitecrawl/urls/", "sitecrawl/frontier/scope.py"),
    "parse: HTML, links, text": ("sitecrawl/page/", "sitecrawl/crawl/page_item.py", "sitecrawl/spiders/"),
    "seen: CLOCK, Bloom": ("sitecrawl/frontier/seen/", "sitecrawl/frontier/urls/crawl_seen.py"),
    "credit: ledger, trust": ("sitecrawl/frontier/credit/", "sitecrawl/frontier/urls/link_credit.py"),
    "frontier: records, queues, judge": (
        "sitecrawl/frontier/", "sitecrawl/scheduler.py", "sitecrawl/crawl/requests.py",
    ),
    "database: RocksDB": ("sitecrawl/crawldir/database.py",),
    "store: WARC, index, pipelines": ("sitecrawl/pagestore/", "pipelines/"),
    "crawl, progress, the rest of ours": ("sitecrawl/",),
    START: (),
}  # fmt: skip
"""Parts, and the files that are theirs; the first that fits counts."""

_OUTERMOST: Final = "sitecrawl/console/commands/"
"""The command that runs all of it."""
_CRAWL: Final = {
    "DOWNLOAD_DELAY": 0,
    "LOGSTATS_INTERVAL": 0,
    "SITECRAWL_DASHBOARD": False,
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_PROGRESS": False,
}
_PACKAGES: Final = ("sitecrawl", "middlewares", "pipelines")
_SAME: Final = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_FUNCTION: Final = re.compile(r"(c?)fn=\((\d+)\)(?: ([^']*))?")


def part_of(file: str) -> str | None:
    """The part that a file is of; None for a library's, and for what runs all of it."""
    if file.startswith("<frozen importlib"):
        return START
    name = file.removeprefix(f"{PROJECT}/")
    if name == file or name.startswith(_OUTERMOST):
        return None
    return next((part for part, files in PARTS.items() if name.startswith(files)), None)


# In the process that is watched


def crawl(words: list[str]) -> None:
    """Scrapy with these arguments; where the first is a module, that runs its frames."""
    module, *arguments = words
    start = AsyncioLoopingCall.start
    AsyncioLoopingCall.start = lambda self, interval, now=True: start(self, 1000 * interval, now)  # type: ignore[method-assign]
    if module:
        sys.path.insert(0, module)
        import frames  # noqa: PLC0415

        numbers = {part: number for number, part in enumerate(PARTS)}
        frames.watch(lambda file: numbers.get(part_of(file) or "", -1))
    sys.argv = ["scrapy", *arguments]
    runpy.run_module("scrapy", run_name="__main__", alter_sys=True)


# Around it


def counted(folder: Path, pages: int, module: str = "") -> Counter[str]:
    """Instructions by part of a crawl of so many pages, with all of them under `ENGINE` if there is no module."""
    web = Web(pages=pages, hosts=1, port=int(os.environ.get("PORT", "8123")))
    given = [word for name, value in vars(web).items() for word in (f"--{name}", str(value))]
    settings = _CRAWL | {"JOBDIR": folder / f"job{bool(module)}-{pages}"}
    output = folder / "callgrind"
    command = [
        *("valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", sys.executable, __file__, module),
        *("crawl", "generic", "-a", f"seeds={web.seeds[0]}"),
        *(word for name, value in settings.items() for word in ("-s", f"{name}={value}")),
    ]
    with subprocess.Popen(
        [sys.executable, "syntheticweb.py", *given], cwd=PROJECT / "benchmarks", stdout=-1
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        said = subprocess.run(command, cwd=PROJECT, env=_SAME, capture_output=True, text=True, check=False)
        server.terminate()
    assert re.search(rf"2xx pages +{pages}\n", said.stdout + said.stderr), said.stdout + said.stderr
    return by_part(output)


def by_part(output: Path) -> Counter[str]:
    """Of what callgrind has written, the instructions of each part: those in it less those in what it calls."""
    total, callee, names, parts = 0, "", dict[str, str](), list(PARTS)
    found: Counter[str] = Counter()
    for line in output.read_text().splitlines():
        if function := _FUNCTION.match(line):
            is_callee, number, name = function.groups()
            if name:
                names[number] = name
            callee = names[number] if is_callee else ""
        elif line.startswith("totals:"):
            total = int(line.split()[1])
        elif callee and not line.startswith(("calls=", "cfi=", "cob=")):  # what this call has cost
            if entered := re.fullmatch(r"enter_(\d+)_(\d+)", callee):
                caller, part = (parts[int(at)] for at in entered.groups())
                cost = int(line.split()[1])
                found[part] += cost
                found[caller] -= cost
            callee = ""
    found[ENGINE] += total
    return found


def table(plain: list[int], before: Counter[str], after: Counter[str]) -> Iterator[str]:
    """Thousands of instructions a page by part: those of 500 pages more. What watching costs is taken off each part
    in proportion.
    """
    more = SIZES[2] - SIZES[1]
    page, watched = plain[2] - plain[1], after.total() - before.total()
    for pages, cost in zip(SIZES, plain, strict=True):
        yield f"{pages} pages: {cost / 1e6:,.0f} million instructions"
    yield "| part | thousand instructions/page | share |"
    yield "|---|---|---|"
    for part in sorted(PARTS, key=lambda part: before[part] - after[part]):
        share = (after[part] - before[part]) / watched
        yield f"| {part} | {page * share / more / 1000:,.0f} | {share:.0%} |"
    yield f"| together | {page / more / 1000:,.0f} | |"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="profile-") as name:
        folder = Path(name)
        include = sysconfig.get_path("include")
        source = Path(__file__).with_name("frames.c")
        command = ["cc", "-O1", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(folder / "frames.so")]
        subprocess.run(command, check=True)
        # As it is where sitecrawl is installed: to compile its modules takes as much as two thirds of a start.
        subprocess.run([sys.executable, "-m", "compileall", "-q", *_PACKAGES], cwd=PROJECT, check=True)
        plain = [counted(folder, pages).total() for pages in SIZES]
        before, after = (counted(folder, pages, name) for pages in SIZES[1:])
        print(*table(plain, before, after), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        crawl(sys.argv[1:])
    else:
        main()
