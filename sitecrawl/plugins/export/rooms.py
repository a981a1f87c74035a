"""Folders beside a file that is being made, for what is needed on the way to it.

A folder is locked by the process that works in it, for as long as that lives. So whoever comes next can tell what a
killed process has left from what another is at, and takes the former away. That a name is taken again does no harm:
of two that lock one folder, one finds that it is gone, and makes another.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_MARK: Final = ".sitecrawl-export-"


@contextmanager
def room_beside(target: Path) -> Iterator[Path]:
    """An empty folder on the disk of `target`, which is gone afterwards. Raises `OSError`."""
    for left in target.parent.glob(f".*{_MARK}*"):
        _take_away(left)
    descriptor, room = _locked(target)
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)
        os.close(descriptor)


def _locked(target: Path) -> tuple[int, Path]:
    while True:
        room = Path(tempfile.mkdtemp(prefix=f".{target.name}{_MARK}", dir=target.parent))
        with suppress(FileNotFoundError):
            descriptor = os.open(room, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if room.exists():
                return descriptor, room
            os.close(descriptor)


def _take_away(room: Path) -> None:
    """Unless somebody works in it, or may not be asked."""
    try:
        descriptor = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(room, ignore_errors=True)
    except OSError:
        return
    finally:
        os.close(descriptor)
