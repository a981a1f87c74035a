"""The figures of a running crawl, as one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sitecrawl.base.display import counted, duration, printable, size

_NAMED_HOSTS: Final = 3


@dataclass(frozen=True, slots=True)
class Status:
    """The live line's figures; None where the frontier is not ours."""

    pages: int
    rate: float
    """Pages a second, of late."""
    received: int
    """Bytes."""
    duplicates: int
    errors: int
    seconds: float
    waiting: int | None = None
    resting: int = 0
    """Hosts with work that are not being asked now."""
    active: Sequence[str] = ()
    """Hosts that are being asked now."""
    paused: str = ""
    """What this machine lacks, and since when; empty while nothing is lacking."""
    rests: str = ""
    """Which host has asked for a long rest, and until when; empty without one."""
    left: str = ""
    """How long it may take yet, in words; empty where nobody can tell."""
    last: str = ""
    """What is fetched although nothing is left but what is held back, in words; empty as long as there is more."""

    def line(self) -> str:
        """What names the hosts comes last: a narrow terminal cuts it off."""
        parts = [counted(self.pages, "page"), f"{self.rate:,.1f}/s", size(self.received)]
        if self.waiting is not None:
            parts.append(f"{self.waiting:,} waiting")
        if self.left and not self.last:  # nobody knows the end of what grows
            parts.append(self.left)
        if self.paused:
            parts.append(self.paused)
        if self.rests:
            parts.append(printable(self.rests, 1000))
        if self.last:
            parts.append(printable(self.last, 1000))
        parts += [f"{self.duplicates:,} duplicates", f"{self.errors:,} errors", duration(self.seconds)]
        if self.waiting is not None:
            parts.append(f"hosts {len(self.active):,} active {self.resting:,} resting")
            parts += [printable(name) for name in self.active[:_NAMED_HOSTS]]
        return "  ".join(parts)
