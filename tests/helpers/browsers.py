"""Processes below another, such as those of a browser."""

from __future__ import annotations

from pathlib import Path


def processes() -> dict[int, tuple[int, str]]:
    """Of all that run: the parent and the command line."""
    found: dict[int, tuple[int, str]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ValueError):
            continue
        if words:  # a zombie has none
            found[int(path.name)] = (parent, words)
    return found


def below(root: int) -> dict[int, str]:
    """The descendants of a process, with their command lines."""
    table, new = processes(), {root}
    found: dict[int, str] = {}
    while new:
        new = {pid for pid, (parent, _) in table.items() if parent in new}
        found |= {pid: table[pid][1] for pid in new}
    return found
