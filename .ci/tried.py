#!/usr/bin/env python3
"""Says on which Python the tests have just run, and on which of those that pyproject.toml claims they have not."""

from __future__ import annotations

import platform
import re
import sys
import tomllib
from pathlib import Path

_CLAIM = re.compile(r"Programming Language :: Python :: (\d+\.\d+)")


def claimed() -> list[str]:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    return [found[1] for found in map(_CLAIM.fullmatch, project["classifiers"]) if found is not None]


here = "{}.{}".format(*sys.version_info)
missing = ", ".join(version for version in claimed() if version != here)
print(f"Tried on Python {platform.python_version()}; claimed and not tried here: {missing or 'none'}")
