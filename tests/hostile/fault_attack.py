"""What becomes of a crawl's pages under faults of the system.

    python fault_attack.py FOLDER SEED COUNT [KIND ...]

Crawls a web of some hundred pages on thirty hosts, under COUNT faults one after another, of all kinds or of these; a
crawl that ends for one is resumed with the same command. The web is in no hurry before the last fault has come. In
the end every page has to be stored once. Prints a `Result` as JSON, and on stderr each fault as it comes.

In a network and a mount namespace of its own (`fault_cases.own_machine`), a disk for the crawl is mounted on FOLDER.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE.parents[1]),
    *(str(HERE.parent / path) for path in ("helpers", "helpers/spiders", "hostile")),
]

from fault_cases import DISK_SIZE, ENDS, FAULTS, ON_OWN_MACHINE, Fault, faults  # noqa: E402
from fault_crawl import FaultyCrawl  # noqa: E402
from lost_network import loopback  # noqa: E402
from waiting import until  # noqa: E402

from sitecrawl.plugins.checking.crawl import check  # noqa: E402

PAGES_PER_FAULT = 50
FEWEST_PAGES = 200


@dataclass
class Record:
    """What came of the faults of one kind."""

    count: int = 0
    ended: int = 0
    """So many of them ended the crawl."""
    tracebacks: int = 0
    longest: float = 0.0
    """Seconds after a fault until the next page was asked for, at the most."""


@dataclass
class Result:
    seed: int
    pages: int
    records: dict[str, Record]
    wants: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What `check-crawl` finds."""
    wrong: list[str] = field(default_factory=list)
    """Exit codes that no fault explains; a crawl that does not go on."""
    tracebacks: list[str] = field(default_factory=list)


class _Over(Exception):
    """The crawl has ended by itself."""


class Attack:
    """The faults, one after another, and what came of them."""

    def __init__(self, crawl: FaultyCrawl, result: Result) -> None:
        self._crawl = crawl
        self._result = result
        self._read = 0
        """Lines of the log that were looked at."""

    def run(self, coming: Sequence[Fault]) -> None:
        with suppress(_Over):
            for number, fault in enumerate(coming):
                self._crawl.share = number / len(coming)
                self._await(fault)
                self._suffer(fault)
        self._crawl.share = 1.0
        self._finish()

    def _await(self, fault: Fault) -> None:
        """Wait for its moment."""
        if not fault.at_start:
            self._until_work(0.0)
        with suppress(subprocess.TimeoutExpired):
            self._crawl.process.wait(fault.after)
            self._resume()
            self._await(fault)

    def _suffer(self, fault: Fault) -> None:
        crawl, record = self._crawl, self._result.records[fault.kind]
        print(fault, file=sys.stderr)
        record.count += 1
        crawl.suffered.append(fault.kind)
        with FAULTS[fault.kind](crawl, fault), suppress(subprocess.TimeoutExpired):
            crawl.process.wait(fault.seconds)
        over = time.monotonic()
        try:
            record.longest = max(record.longest, self._until_work(over) - over)
        finally:
            record.tracebacks += self._tracebacks(str(fault))

    def _until_work(self, since: float) -> float:
        """When a page was asked for, after `since` and by a crawl that goes on, which is resumed if need be."""
        crawl = self._crawl
        while True:
            until(lambda: crawl.is_ending or crawl.asked > max(since, crawl.begun), lambda: crawl.run_log)
            if not crawl.is_ending:
                return crawl.asked
            self._resume()

    def _resume(self) -> None:
        """Once it has ended."""
        self._note(self._crawl.until_ended())
        self._crawl.start()

    def _note(self, code: int) -> None:
        crawl = self._crawl
        if crawl.is_complete:
            raise _Over
        to_blame = [kind for kind in crawl.suffered if code in ENDS.get(kind, ())]
        if to_blame:
            self._result.records[to_blame[-1]].ended += 1
        else:
            self._result.wrong.append(f"exit code {code} after {crawl.suffered}: {crawl.run_log[-3000:]}")

    def _finish(self) -> None:
        """To its end. Hosts that were silent when it ended are asked again by one more run."""
        crawl, result = self._crawl, self._result
        with suppress(_Over):
            while True:
                self._note(crawl.until_ended())
                crawl.start()
        if crawl.urls() - crawl.crawler.stored().keys():
            crawl.start()
            crawl.until_ended()
        self._tracebacks("in the end")
        stored = crawl.crawler.stored()
        result.wants = dict(crawl.wants)
        result.lost = sorted(crawl.urls() - stored.keys())
        result.twice = sorted(url for url, times in stored.items() if times > 1)
        result.problems = [str(problem) for problem in check(crawl.crawler.job).problems]

    def _tracebacks(self, when: str) -> int:
        """So many more are in the log."""
        lines, begun = self._crawl.log, self._read
        self._read = len(lines)
        found = [at for at in range(begun, self._read) if "Traceback (most" in lines[at]]
        if not when.startswith("memory"):  # for want of that there may be one anywhere
            self._result.tracebacks += [f"{when}\n" + "\n".join(lines[max(0, at - 2) : at + 40]) for at in found]
        return len(found)


def attack(folder: Path, seed: int, count: int, kinds: Sequence[str] = ()) -> Result:
    own = _own_machine(folder)
    kinds = [kind for kind in kinds or FAULTS if own or kind not in ON_OWN_MACHINE]
    pages = max(FEWEST_PAGES, PAGES_PER_FAULT * count)
    result = Result(seed, pages, {kind: Record() for kind in kinds})
    crawl = FaultyCrawl(folder, pages)
    try:
        Attack(crawl, result).run(list(faults(seed, count, kinds)))
    except (AssertionError, subprocess.TimeoutExpired) as error:
        result.wrong.append(f"stuck: {error}")
    finally:
        crawl.close()
    return result


def _own_machine(folder: Path) -> bool:
    """Set up what is this process's alone; False where nothing is."""
    if not _is_new_network():
        return False
    loopback(up=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", str(folder)], check=True)
    return True


def _is_new_network() -> bool:
    """Only in one that has just been made there is no way to oneself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return bool(probe.connect_ex(("127.0.0.1", 9)))


if __name__ == "__main__":
    print(json.dumps(asdict(attack(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))))
