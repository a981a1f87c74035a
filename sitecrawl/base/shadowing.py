"""A project's own modules that are hidden by packages of ours, whose names are common.

Where both are found, Python takes the first on the path. Scrapy puts a project's folder at its end: an installed
`pipelines` comes before the project's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def hidden_by(name: str) -> Path | None:
    """The module of that name beside a project's `scrapy.cfg`, if the package `name` that Python has is another."""
    loaded = Path(str(import_module(name).__file__)).resolve()
    for folder in {Path(entry).resolve() for entry in sys.path}:
        for found in (folder / f"{name}.py", folder / name / "__init__.py"):
            if (folder / "scrapy.cfg").is_file() and found.is_file() and found != loaded:
                return found
    return None


def hides(name: str, found: Path) -> str:
    """What to do about it."""
    return (
        f"sitecrawl's package {name!r} hides the project's own {found}: move that into the project's package, where "
        f"settings name it as 'shop.{name}'"
    )


def no_member(name: str, member: str) -> Exception:
    """What to raise where `member` is asked of the package `name`, and it has none."""
    found = None if member.startswith("_") else hidden_by(name)
    if found is not None:
        return ImportError(hides(name, found), name=name)
    return AttributeError(f"module {name!r} has no attribute {member!r}")
