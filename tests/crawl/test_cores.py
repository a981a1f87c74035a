"""How many cores there are to use, by what the system says of this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sitecrawl.crawl.sharing import _usable_cores

ALL = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def system(root: Path, groups: str, files: dict[str, str]) -> Path:
    """A `/proc` and a `/sys` that say so."""
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_without_limits(tmp_path: Path) -> None:
    """All that the affinity allows."""
    assert _usable_cores(tmp_path) == ALL
    assert _usable_cores(system(tmp_path, "0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"})) == ALL


@pytest.mark.parametrize(
    ("groups", "name", "text"),
    [
        ("0::/\n", "cpu.max", "150000 100000\n"),
        ("0::/jobs/one\n", "jobs/cpu.max", "150000 100000\n"),
        ("0::/jobs/one\n", "jobs/one/cpu.max", "10000 100000\n"),
        ("0::/not/to/be/seen\n", "cpu.max", "100000 100000\n"),
    ],
)
def test_a_limit(tmp_path: Path, groups: str, name: str, text: str) -> None:
    """That of any group above counts, rounded down, and there is always one core."""
    assert _usable_cores(system(tmp_path, groups, {f"sys/fs/cgroup/{name}": text})) == 1


def test_the_first_version(tmp_path: Path) -> None:
    """Its limit is in two files, and -1 is none."""
    folder = "sys/fs/cgroup/cpu/docker"
    files = {f"{folder}/cpu.cfs_quota_us": "100000\n", f"{folder}/cpu.cfs_period_us": "100000\n"}
    groups = "5:memory:/docker\n4:cpu,cpuacct:/docker\n"
    assert _usable_cores(system(tmp_path, groups, files)) == 1
    (tmp_path / f"{folder}/cpu.cfs_quota_us").write_text("-1\n")
    assert _usable_cores(tmp_path) == ALL
