"""How what a crawl can do without, and is not installed, is installed."""

from __future__ import annotations

from typing import Final

DISTRIBUTION: Final = "scrapy-sitecrawl"
"""What `pip` calls it: `sitecrawl` on PyPI is another project."""


def how_to_install(extra: str) -> str:
    """The command, for messages. Where sitecrawl is installed, pip adds what the extra asks for and nothing else."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
