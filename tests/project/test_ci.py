"""What CI says of itself."""

from __future__ import annotations

import platform
import subprocess
import sys
import tomllib

from crawling import PROJECT


def test_every_claimed_python_is_tried_or_named() -> None:
    """The line names the Python that ran, and each of the others that the classifiers claim."""
    words = [sys.executable, str(PROJECT / ".ci" / "tried.py")]
    line = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    tried, _, missing = line.partition("; claimed and not tried here: ")
    assert tried == f"Tried on Python {platform.python_version()}"
    classifiers = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["classifiers"]
    claims = {name.rpartition(" :: ")[2] for name in classifiers if " :: Python :: " in name}
    assert {*missing.strip().split(", "), "{}.{}".format(*sys.version_info)} == claims
