"""Durable writes: files and folders that survive a power cut."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO


def sync_directory(path: Path) -> None:
    """Make what was created, renamed or removed in the directory `path` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replaced(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Context: a file to write, which durably replaces the one at `path` at the end, unless there was an error. After
    a crash the old or the new one is there. Links are followed; devices and pipes are written to. Raises `OSError`.

    `mode`: permissions, limited by the umask, from the first byte on.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()
    draft = path.with_name(f"{path.name}.new")
    try:
        with open(draft, "wb", opener=partial(os.open, mode=mode)) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    finally:
        with contextlib.suppress(OSError):  # the error that counts is the first one
            draft.unlink(missing_ok=True)


def write_atomically(path: Path, parts: Iterable[bytes], mode: int = 0o666) -> None:
    """Replace a file as `replaced` does, part by part."""
    with replaced(path, mode) as stream:
        for part in parts:
            stream.write(part)
            del part  # frees memory before the next part is made
