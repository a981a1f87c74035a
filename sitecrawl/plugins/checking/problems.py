from __future__ import annotations

from dataclasses import dataclass

REPAIR = "--repair"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    where: str
    """The part of the crawl's directory."""
    what: str
    """What is wrong with it, in numbers where there are some."""
    remedy: str
    """What `--repair` does about it or, if it can do nothing, what a person can do."""
    repairable: bool = True

    def __str__(self) -> str:
        how = f"{REPAIR} {self.remedy}" if self.repairable else self.remedy
        return f"{self.where}: {self.what}. To do: {how}."
