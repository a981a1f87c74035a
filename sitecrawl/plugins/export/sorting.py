"""Sorting more lines than memory holds: sorted runs on disk, merged (Knuth, The Art of Computer Programming 3, 5.4).

Lines are gathered to `held` bytes, sorted, and written as a run, gzipped. When there are `_RUNS` runs they become
one, so the files that are open at once, and the lines in memory, are bounded.
"""

from __future__ import annotations

import gzip
import heapq
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Final

from sitecrawl.crawldir.faults import file_errors

_HELD: Final = 64 << 20
_OVERHEAD: Final = 60
"""Bytes of a line in memory besides its own."""
_RUNS: Final = 64


class Sorted:
    """Bytes without line feeds, added in any order; iterated once, in order, each once. `directory` is for nothing
    else. Raises `StorageError`.
    """

    def __init__(self, directory: Path, held: int = _HELD) -> None:
        self._directory = directory
        self._most = held
        self._lines: list[bytes] = []
        self._held = 0
        self._runs: list[Path] = []
        self._serial = 0
        with file_errors(directory):
            directory.mkdir()

    def add(self, line: bytes) -> None:
        assert b"\n" not in line
        self._lines.append(line)
        self._held += len(line) + _OVERHEAD
        if self._held > self._most:
            self._spill()

    def __iter__(self) -> Iterator[bytes]:
        self._lines.sort()
        with ExitStack() as files:
            runs = [_lines_of(run, files) for run in self._runs]
            yield from _once(heapq.merge(*runs, self._lines))
        self.clear()

    def clear(self) -> None:
        """Forget all lines."""
        self._lines, self._held = [], 0
        for run in self._runs:
            run.unlink()
        self._runs = []

    def _spill(self) -> None:
        self._lines.sort()
        self._runs.append(self._written(self._lines))
        self._lines, self._held = [], 0
        if len(self._runs) == _RUNS:
            with ExitStack() as files:
                joined = self._written(heapq.merge(*(_lines_of(run, files) for run in self._runs)))
            for run in self._runs:
                run.unlink()
            self._runs = [joined]

    def _written(self, lines: Iterable[bytes]) -> Path:
        self._serial += 1
        path = self._directory / f"{self._serial}.gz"
        with file_errors(path), gzip.open(path, "wb", compresslevel=1) as file:
            file.writelines(line + b"\n" for line in _once(lines))
        return path


def _read(run: Path) -> Generator[bytes, None, None]:
    with file_errors(run), gzip.open(run) as file:
        yield from (line[:-1] for line in file)


def _lines_of(run: Path, files: ExitStack) -> Iterator[bytes]:
    lines = _read(run)
    files.callback(lines.close)
    return lines


def _once(lines: Iterable[bytes]) -> Iterator[bytes]:
    return (line for line, _ in groupby(lines))
