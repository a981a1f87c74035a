"""How many cores this process may use: fewer than the machine has, in a container or under `taskset`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def usable_cores(root: Path = _ROOT) -> int:
    """Number of cores by processor affinity and control groups' limits, whichever is less, rounded down; at least 1.
    `root` is the folder of `proc` and `sys`.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([float(cores), *_limits(root)])))


def _limits(root: Path) -> Iterator[float]:
    """Yield the limit, in cores, of each control group of this process (man 7 cgroups: cpu.max of version 2,
    cpu.cfs_* of version 1). In a container the path may be the host's; then only the topmost group is visible.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.lstrip("/")
        while group.is_relative_to(top):
            if controllers:
                quota = [_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")]
            else:
                quota = _text(group / "cpu.max").split()
            if len(quota) == 2 and all(part.strip().isdigit() for part in quota) and int(quota[1]):
                yield int(quota[0]) / int(quota[1])
            group = group.parent


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
