from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INDEX_AGAIN: Final = "--repair makes the index again from the WARC files"
_DATABASE_AGAIN: Final = "--repair makes the database again from the stored pages"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    where: str
    """The part of the crawl's directory."""
    what: str
    """What is wrong with it, in numbers where there are some."""
    remedy: str = _DATABASE_AGAIN
    """What `--repair` does about it or, if it can do nothing, what a person can do."""
    repairable: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. To do: {self.remedy}."
