"""How to install optional dependencies."""

from __future__ import annotations

from typing import Final

DISTRIBUTION: Final = "scrapy-sitecrawl"
"""What `pip` calls it: `sitecrawl` on PyPI is another project."""


def how_to_install(extra: str) -> str:
    """The command, for messages. If sitecrawl is installed already, pip adds only what the extra needs."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
