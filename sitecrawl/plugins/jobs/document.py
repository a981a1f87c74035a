"""A TOML file as plain values, and the line of each: bounded, for a file may be anything."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Place, Problem
from sitecrawl.base.text_files import Wrong, text_in
from sitecrawl.plugins.jobs.toml_lines import lines_of

MAX_DEPTH: Final = 16
"""Tables and lists within one another: the deepest that a job has is a header in a sheet, or a feed's option."""
_LONG_KEY: Final = re.compile(r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")
"""A dotted key of so many parts takes `tomllib` their square, seconds for some thousands."""
_TOO_DEEP: Final = "too many lists or tables within one another"


@dataclass(frozen=True, slots=True)
class Document:
    path: Path
    text: str
    values: dict[str, Any]

    def told(self, found: list[Problem]) -> str:
        """Each problem with its line, in their order."""
        lines = lines_of(self.text)
        placed = sorted((_line(lines, problem.place), problem.message) for problem in found)
        return "\n".join(f"{self.path}, line {line}: {message}" for line, message in dict.fromkeys(placed))


def _line(lines: dict[Place, int], place: Place) -> int:
    """Of what is missing, the line of that in which it is."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def read_document(path: Path) -> Document:
    """Raises `OptionError`, which names the file, and the line where there is one."""
    if path.suffix.lower() != ".toml":
        raise OptionError(f"{path} is no job file: those are TOML, and their names end with .toml")
    try:
        text = text_in(path, "job")
        return Document(path, text, _values(path, text))
    except Wrong as error:
        raise OptionError(f"{path}, line {error.line}: {error}") from error


def _values(path: Path, text: str) -> dict[str, Any]:
    if found := _LONG_KEY.search(text):
        raise Wrong(text.count("\n", 0, found.start()) + 1, _TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r" \(at line (\d+), column \d+\)$", message)
        line = int(at[1]) if at else max(1, text.count("\n") + (not text.endswith("\n")))
        raise Wrong(line, re.sub(r" [(]at .*[)]$", "", message)) from None
    except (RecursionError, ValueError) as error:  # the latter: a whole number of thousands of digits
        why = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise OptionError(f"{path}: {why}") from None
    if _is_too_deep(values):
        raise OptionError(f"{path}: {_TOO_DEEP}")
    return values


def _is_too_deep(values: object) -> bool:
    stack = [(values, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        stack.extend((one, depth + 1) for one in inner)
    return False
