#!/usr/bin/env python3
"""`make newest-scrapy`: a crawl on the newest Scrapy that the registry has, pre-releases included, and whether all is
there that has no public name.

That Scrapy is put in front of the installed one for these tests alone. Ends with 0 where there is no newer one, and
where no registry says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from tempfile import TemporaryDirectory

TESTS = "tests/whole_crawls/test_private_names.py"
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--pre", "--upgrade"]
SECONDS = 600
"""That each step may take."""


def main() -> int:
    looked = subprocess.run(  # noqa: S603
        [*PIP, "--dry-run", "--no-deps", "--report", "-", "scrapy"],
        stdout=subprocess.PIPE, timeout=SECONDS, check=False,
    )  # fmt: skip
    if looked.returncode:
        print("No registry says which Scrapy is the newest: none was tried besides the installed one")
        return 0
    found = json.loads(looked.stdout)["install"]
    if not found:
        print(f"Scrapy {version('scrapy')}, which is installed, is the newest")
        return 0
    return tried(found[0]["metadata"]["version"])


def tried(newest: str) -> int:
    """What the tests end with."""
    print(f"Trying Scrapy {newest}", flush=True)
    with TemporaryDirectory(prefix="newest-scrapy-") as folder:
        subprocess.run([*PIP, "--target", folder, f"scrapy=={newest}"], timeout=SECONDS, check=True)  # noqa: S603
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]
        env = {**os.environ, "PYTHONPATH": folder}
        return subprocess.run(command, env=env, timeout=SECONDS, check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
