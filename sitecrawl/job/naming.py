"""By what a job file is known."""

from pathlib import Path
from typing import Final

ENDINGS: Final = frozenset({".toml", ".yaml", ".yml"})


def is_file(job: str) -> bool:
    """Whether the spider argument `job` names a file, and not a crawl."""
    return Path(job).suffix.lower() in ENDINGS
