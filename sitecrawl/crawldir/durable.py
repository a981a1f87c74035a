"""What the file system does not do by itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Make what was created, renamed or removed in the directory `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, parts: Iterable[bytes]) -> None:
    """Replace a file durably: after a crash the old one or the new one is there. Raises `OSError`.

    The parts are asked for and written one after the other.
    """
    draft = path.with_name(f"{path.name}.new")
    try:
        with draft.open("wb") as stream:
            for part in parts:
                stream.write(part)
                del part  # it may be as large as the file: the next one need not find it here
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    finally:
        with contextlib.suppress(OSError):  # the error that counts is the first one
            draft.unlink(missing_ok=True)
