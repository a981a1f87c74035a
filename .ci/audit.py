#!/usr/bin/env python3
"""`make audit`: what is known against the packages of the lock, by pip-audit.

Ends with 1 if there is something, and with 2 where the advisories could not be asked for all of them: a package that
nobody was asked about is not one that nothing is known against.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LOCK = "requirements/crawl.txt"


def main() -> int:
    program = Path(sys.executable).with_name("pip-audit")
    options = ["--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json"]
    done = subprocess.run([program, *options, "-r", LOCK], capture_output=True, text=True, check=False)  # noqa: S603
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"Not audited: pip-audit could not ask for advisories\n{done.stderr[-2000:]}")
        return 2
    return told(packages)


def told(packages: list[dict[str, object]]) -> int:
    """Says what `packages`, as pip-audit lists them, are known for; gives the exit status."""
    skipped = [str(package["name"]) for package in packages if "skip_reason" in package]
    found = [(package, weakness) for package in packages for weakness in package.get("vulns", [])]  # type: ignore[attr-defined]
    for package, weakness in found:
        fixed = ", ".join(weakness.get("fix_versions", [])) or "none yet"
        print(f"{package['name']} {package['version']}: {weakness['id']}, mended in {fixed}")
    print(f"{len(packages) - len(skipped)} packages audited, {len(found)} known weaknesses")
    if skipped:
        print(
            f"Not audited, for the advisories cannot be asked from here: {len(skipped)} packages, {skipped[0]} first"
        )
    return 1 if found else 2 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
