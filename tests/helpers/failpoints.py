"""Kills a process at a durable step of the product that is named: no moment of a crash is left to chance.

A step is one call that changes what outlives the process: a file that is synced, renamed or removed, a batch of
RocksDB, a transaction of SQLite, records that are added to a WARC file, a step on Redis, a file that is sent. The
source is read for all of them (`all_points`), so that none is forgotten, and each is named by where it stands:
`crawl.checkpoints.Checkpoints.write: batch`. A process that was told a point's name (`arm`) kills itself there:

- before the step: what the step before it has left is all that there is;
- in it, for records that are added to a WARC file: half of them are there;
- before a step on Redis, and, as another point (`answer`), behind it: it has happened, and its worker does not know.

The product knows nothing of this: the functions that it calls are wrapped, in the process that is to be killed alone.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2] / "sitecrawl"
POINT, TIMES, PAGES = "FAILPOINT", "FAILPOINT_TIMES", "FAILPOINT_PAGES"
"""Variables of `environment`."""
_REPLACED = ("fsync", "replace", "directory")
_ONE_CALL = {
    "fsync": ("fsync",),
    "rename": ("rename",),
    "link": ("link",),
    "unlink": ("unlink",),
    "rmtree": ("rmtree",),
    "sync_directory": ("directory",),
    "executescript": ("script",),
    "replaced": _REPLACED,
    "write_atomically": _REPLACED,
    "write_file": _REPLACED,
    "_write_all": ("append",),
    "eval": ("eval", "answer"),
}
"""Names of functions, and the steps that they take."""
_WAYS = frozenset({"crawldir/durable.py", "frontier/seen/files.py", "cluster/steps.py"})
"""Modules whose functions take a step for whoever calls them: that is where the point is."""


@dataclass(frozen=True)
class Point:
    """A step, and the lines of the call that takes it."""

    module: str
    function: str
    step: str
    lines: range

    def __str__(self) -> str:
        return f"{self.module}.{self.function}: {self.step}"


# In the source


def all_points() -> list[Point]:
    """Those of the whole product; where a function takes a step of one kind several times, these are numbered."""
    return [point for file in sorted(ROOT.rglob("*.py")) for point in _numbered(_points_of(file))]


def _point_named(name: str) -> tuple[Point, Path]:
    """The point, and the file that it is in: no other is read."""
    parts = name.partition(":")[0].split(".")
    file = next(
        path for end in range(len(parts), 0, -1) if (path := ROOT.joinpath(*parts[:end]).with_suffix(".py")).exists()
    )
    return next(point for point in _numbered(_points_of(file)) if str(point) == name), file


def _numbered(points: Iterable[Point]) -> Iterator[Point]:
    taken: dict[str, int] = {}
    for point in points:
        taken[str(point)] = number = taken.get(str(point), 0) + 1
        step = point.step if number == 1 else f"{point.step} {number}"
        yield Point(point.module, point.function, step, point.lines)


def _points_of(file: Path) -> Iterator[Point]:
    path = file.relative_to(ROOT)
    if str(path) not in _WAYS:
        module = ".".join(path.with_suffix("").parts)
        for function, call, lines in _calls(ast.parse(file.read_bytes())):
            for step in _steps_of(call):
                yield Point(module, function, step, lines)


def _calls(node: ast.AST, within: tuple[str, ...] = ()) -> Iterator[tuple[str, ast.Call, range]]:
    """All calls, the functions that they stand in, and their lines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _calls(child, (*within, child.name))
            continue
        if isinstance(child, ast.Call):
            yield ".".join(within), child, range(child.lineno, (child.end_lineno or child.lineno) + 1)
        if isinstance(child, ast.With):  # what it ends with has the line at which it begins
            head = range(child.lineno, child.body[0].lineno)
            for item in child.items:
                yield from ((function, call, head) for function, call, _ in _calls(item, within))
            for statement in child.body:
                yield from _calls(ast.Module([statement], []), within)
        else:
            yield from _calls(child, within)


def _steps_of(call: ast.Call) -> tuple[str, ...]:
    called = ast.unparse(call.func)
    first = ast.unparse(call.args[0]) if call.args else ""
    name = called.rpartition(".")[2]
    by_argument = {
        "step answer": name in {"run", "run_all"} and "steps" in called,
        "replace": name == "replace" and len(call.args) == 1 and not call.keywords,  # a path's: a text's takes two
        "batch": name == "write" and "batch" in first and "raw" not in first,
        "put": called == "self._put" and first == "path",
        "commit": name == "execute" and "COMMIT" in first,
    }
    found = [step for steps, is_taken in by_argument.items() if is_taken for step in steps.split()]
    is_of_files = not called.endswith("_client.unlink") and (name != "link" or called == "os.link")
    return tuple(found) or (_ONE_CALL.get(name, ()) if is_of_files else ())


# In the process that is to be killed


def arm(environment: Mapping[str, str]) -> None:
    """Have this process do what the variables say: be killed at a point, the so-many-th time that it comes there; and
    make a checkpoint whenever so many pages have come, and none for the time that has gone by. On Redis it makes
    a snapshot of a log that has hardly grown.
    """
    if PAGES in environment:
        from sitecrawl.cluster import compaction
        from sitecrawl.crawl import checkpoints

        vars(checkpoints).update(PAGES_PER_CHECKPOINT=int(environment[PAGES]), _SECONDS=1e6)
        vars(compaction).update(LEAST=1)
    if POINT in environment:
        _Armed(environment[POINT], int(environment.get(TIMES, "1"))).wrap()


class _Armed:
    def __init__(self, name: str, times: int) -> None:
        self._point, file = _point_named(name)
        self._kind = self._point.step.partition(" ")[0]
        self._file = str(file)
        self._left = times

    def wrap(self) -> None:
        """All that takes steps of the point's kind."""
        from redis.commands.core import ScriptCommands

        from sitecrawl.cluster.steps import Steps
        from sitecrawl.crawldir.database import Database
        from sitecrawl.pagestore import files
        from sitecrawl.plugins.remote.store import Remote

        if self._kind == "append":
            self._wrap(files, "_write_all", self._torn)
        elif self._kind in {"step", "eval", "answer"}:
            Steps.run_all = self._answered(Steps.run_all)  # type: ignore[method-assign]
            self._wrap(ScriptCommands, "eval", self._before if self._kind == "eval" else self._behind)
        elif self._kind in {"commit", "script"}:
            self._wrap_sqlite()
        elif self._kind in {"fsync", "directory"}:
            self._wrap(os, "fsync", self._before, lambda descriptor: self._kind == _kind_of(descriptor))
        else:
            place, name = {
                "batch": (Database, "write"),
                "put": (Remote, "_put"),
                "rmtree": (shutil, "rmtree"),
            }.get(self._kind, (os, self._kind))
            self._wrap(place, name, self._before)

    def _wrap(
        self,
        place: Any,
        name: str,
        how: Callable[..., Any],
        concerns: Callable[..., bool] = lambda *_, **__: True,
    ) -> None:
        real = getattr(place, name)

        @wraps(real)
        def wrapped(*args: Any, **how_else: Any) -> Any:
            if concerns(*args, **how_else) and self._is_here(sys._getframe(1)):
                how(real, *args, **how_else)
            return real(*args, **how_else)

        setattr(place, name, wrapped)

    def _wrap_sqlite(self) -> None:
        armed = self

        class Connection(sqlite3.Connection):
            def execute(self, text: str, *args: Any) -> sqlite3.Cursor:
                if text == "COMMIT" and armed._kind == "commit" and armed._is_here(sys._getframe(1)):
                    armed._before()
                return super().execute(text, *args)

            def executescript(self, text: str) -> sqlite3.Cursor:
                if armed._kind == "script" and armed._is_here(sys._getframe(1)):
                    armed._before()
                return super().executescript(text)

        real = sqlite3.connect
        sqlite3.connect = lambda *args, **how: real(*args, **{"factory": Connection, **how})  # type: ignore[assignment]

    def _answered(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def run_all(*args: Any) -> Any:
            is_here = self._is_here(sys._getframe(1))
            if is_here and self._kind == "step":
                _die()
            answers = await real(*args)
            if is_here:
                _die()
            return answers

        return run_all

    @staticmethod
    def _before(*_: Any, **__: Any) -> None:
        _die()

    @staticmethod
    def _torn(real: Callable[..., Any], file: Any, data: bytes) -> None:
        real(file, data[: len(data) // 2])
        _die()

    @staticmethod
    def _behind(real: Callable[..., Any], *args: Any, **how: Any) -> None:
        real(*args, **how)
        _die()

    def _is_here(self, frame: FrameType | None) -> bool:
        """Whether it is our point that is come to, for the last time that is to be survived."""
        while frame is not None and not _is_ours(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or frame.f_code.co_filename != self._file or frame.f_lineno not in self._point.lines:
            return False
        self._left -= 1
        return self._left == 0


def _is_ours(file: str) -> bool:
    return file.startswith(f"{ROOT}/") and file[len(f"{ROOT}/") :] not in _WAYS


def _kind_of(descriptor: int) -> str:
    return "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "fsync"


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
