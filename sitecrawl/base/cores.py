"""How many cores this process may use: fewer than the machine has, in a container or under `taskset`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")


def usable_cores(root: Path = _ROOT) -> int:
    """Those of the processor affinity, or as many as the limits of the control groups are worth, rounded down; at
    least 1. `root` is where `proc` and `sys` are.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(min([float(cores), *_limits(root)])))


def _limits(root: Path) -> Iterator[float]:
    """In cores, of all groups that this process is in (man 7 cgroups: cpu.max of the second version, cpu.cfs_* of the
    first). In a container the group's path may be the host's, and then only the topmost is to be seen.
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
