"""Faults of the system under a running crawl: which, when and how badly, drawn from a seed; and how each is done.

A fault is a context: the system is broken while it is entered, and whole again after it. What it is done to is a
`Victim`, the process of a crawl and the web that it crawls. Two kinds need a machine of one's own (`own_machine`): a
network to take down, and a disk to fill.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import which
from typing import Final, Protocol

from clocks import set_clock
from lost_network import loopback

_OWN_MACHINE: Final = ("unshare", "--user", "--map-root-user", "--net", "--mount")
DISK_SIZE: Final = "256m"
"""Of the disk of such a machine: far more than a crawl takes."""
_SPARE: Final = 2 << 20
"""Bytes."""
_PAGE: Final = resource.getpagesize()


def own_machine() -> Sequence[str]:
    """Begins a command on a machine of its own, as far as network and file systems go; empty if there may be none."""
    mount = [*_OWN_MACHINE, "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    can = which("unshare") and not subprocess.run(mount, check=False, capture_output=True).returncode
    return _OWN_MACHINE if can else ()


@dataclass(frozen=True)
class Fault:
    kind: str
    after: float
    """Seconds from when the crawl is at work, or has been started."""
    at_start: bool
    """Whether it may come while the crawl starts."""
    seconds: float
    """How long it lasts, where it does not end by itself."""
    extent: float
    """From 0, the worst, to 1."""

    def __str__(self) -> str:
        start = " of the start" if self.at_start else ""
        return f"{self.kind} after {self.after:.2f} s{start}, for {self.seconds:.2f} s, extent {self.extent:.2f}"


class Victim(Protocol):
    folder: Path
    gone: Path
    """There is no name server while this file exists."""
    clock: Path
    """See `clocks.set_clock`."""
    process: subprocess.Popen[bytes]

    def refuse(self) -> None:
        """Have the web server refuse connections."""
        ...

    def listen(self) -> None: ...

    drops: bool
    """Whether the web server breaks off instead of answering."""


def faults(seed: int, count: int, kinds: Sequence[str]) -> Iterator[Fault]:
    """So many, the same for a seed: every kind comes before any comes again."""
    random, deck = Random(f"faults/{seed}"), list[str]()
    for _ in range(count):
        if not deck:
            deck = list(kinds)
            random.shuffle(deck)
        kind = deck.pop()
        at_start = kind in AT_START and random.random() < 0.2
        after = random.uniform(0, 2.0 if at_start else 0.8)
        seconds = 0.0 if kind in _SIGNALS else random.uniform(0.2, 1.5)
        yield Fault(kind, after, at_start, seconds, random.random())


# What the process may have


@contextmanager
def _limited(victim: Victim, what: int, limit: int) -> Iterator[None]:
    pid = victim.process.pid
    before, hard = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (limit, hard))
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # it may have ended for it
            resource.prlimit(pid, what, (before, hard))


def _files(victim: Victim, fault: Fault) -> AbstractContextManager[None]:
    """No more descriptors than it has, or some fewer, or a few more."""
    opened = len(os.listdir(f"/proc/{victim.process.pid}/fd"))  # noqa: PTH208 - a count is enough
    return _limited(victim, resource.RLIMIT_NOFILE, int(opened - 8 + 16 * fault.extent))


def _memory(victim: Victim, fault: Fault) -> AbstractContextManager[None]:
    """No more memory than it has, or up to `_SPARE` more."""
    taken = int(Path(f"/proc/{victim.process.pid}/statm").read_text().split()[0]) * _PAGE
    return _limited(victim, resource.RLIMIT_AS, taken + int(fault.extent * _SPARE))


def _file_size(victim: Victim, fault: Fault) -> AbstractContextManager[None]:
    """No file may become larger than up to 300 kB, which most are already."""
    return _limited(victim, resource.RLIMIT_FSIZE, int(300_000 * fault.extent))


@contextmanager
def _disk(victim: Victim, fault: Fault) -> Iterator[None]:
    """The disk has up to 200 kB left."""
    disk = os.statvfs(victim.folder)
    _resize(victim.folder, f"{(disk.f_blocks - disk.f_bfree) * disk.f_frsize + int(200_000 * fault.extent)}")
    try:
        yield
    finally:
        _resize(victim.folder, DISK_SIZE)


def _resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", "tmpfs", str(disk)], check=True)


# What is around it


@contextmanager
def _names(victim: Victim, _: Fault) -> Iterator[None]:
    victim.gone.touch()
    try:
        yield
    finally:
        victim.gone.unlink()


@contextmanager
def _network(_: Victim, __: Fault) -> Iterator[None]:
    loopback(up=False)
    try:
        yield
    finally:
        loopback(up=True)


@contextmanager
def _refusal(victim: Victim, _: Fault) -> Iterator[None]:
    """All servers are down."""
    victim.refuse()
    try:
        yield
    finally:
        victim.listen()


@contextmanager
def _drops(victim: Victim, _: Fault) -> Iterator[None]:
    victim.drops = True
    try:
        yield
    finally:
        victim.drops = False


@contextmanager
def _clock(victim: Victim, fault: Fault) -> Iterator[None]:
    """Up to a day ahead or back, and then as it was."""
    set_clock(victim.clock, 86_400 * (2 * fault.extent - 1))
    try:
        yield
    finally:
        set_clock(victim.clock, 0)


# Signals


@contextmanager
def _stopped(victim: Victim, _: Fault) -> Iterator[None]:
    victim.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        victim.process.send_signal(signal.SIGCONT)


@contextmanager
def _killed(victim: Victim, _: Fault) -> Iterator[None]:
    victim.process.kill()
    victim.process.wait()
    yield


@contextmanager
def _terminated(victim: Victim, _: Fault) -> Iterator[None]:
    victim.process.terminate()
    yield


FAULTS: Final[dict[str, Callable[[Victim, Fault], AbstractContextManager[None]]]] = {
    "files": _files,
    "memory": _memory,
    "file size": _file_size,
    "disk": _disk,
    "names": _names,
    "network": _network,
    "refusal": _refusal,
    "drops": _drops,
    "clock": _clock,
    "stop": _stopped,
    "kill": _killed,
    "term": _terminated,
}
ON_OWN_MACHINE: Final = ("disk", "network")
AT_START: Final = ("stop", "kill", "term")
"""These may come before the crawl has begun its work."""
_SIGNALS: Final = ("kill", "term")
"""These do not last."""
ENDS: Final = {
    "files": {1},
    "memory": {1, 3, -signal.SIGABRT, -signal.SIGSEGV},
    "file size": {1},
    "disk": {1},
    "kill": {-signal.SIGKILL},
    "term": {0, -signal.SIGTERM},
}
"""How a crawl may end for a fault; -SIGTERM: it had not begun. For others it goes on. Out of memory it may end in any
way that loses nothing."""
