"""Detect a project's own modules that are hidden by our packages `middlewares` and `pipelines`.

Python takes the first on the path, and Scrapy puts a project's folder at its end, so an installed `pipelines` comes
before the project's.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


def hidden_by(name: str) -> Path | None:
    """Path of the project's module `name` beside `scrapy.cfg`, if the imported package `name` is another one."""
    loaded = Path(str(import_module(name).__file__)).resolve()
    for folder in {Path(entry).resolve() for entry in sys.path}:
        for found in (folder / f"{name}.py", folder / name / "__init__.py"):
            if (folder / "scrapy.cfg").is_file() and found.is_file() and found != loaded:
                return found
    return None


def hides(name: str, found: Path) -> str:
    """Message that says what to do."""
    return (
        f"sitecrawl's package {name!r} hides the project's own {found}: move that into the project's package, where "
        f"settings name it as 'shop.{name}'"
    )


def no_member(name: str, member: str) -> Exception:
    """Error to raise if the package `name` has no `member`."""
    found = None if member.startswith("_") else hidden_by(name)
    if found is not None:
        return ImportError(hides(name, found), name=name)
    return AttributeError(f"module {name!r} has no attribute {member!r}")
