"""A TOML file as plain values, and the lines of its mistakes."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Place, Problem
from sitecrawl.base.text_files import Wrong, text_in


@dataclass(frozen=True, slots=True)
class Document:
    path: Path
    text: str
    values: dict[str, Any]

    def told(self, found: list[Problem]) -> str:
        """Each problem with its line, in their order."""
        lines = self.text.splitlines()
        placed = sorted((_line_of(lines, problem.place), problem.message) for problem in found)
        return "\n".join(f"{self.path}, line {line}: {message}" for line, message in dict.fromkeys(placed))


def _line_of(lines: list[str], place: Place) -> int:
    """The line of a key, which `tomllib` does not tell: below the header of its table, as people write it; of what is
    not found, the header's, or the first.
    """
    names = [re.escape(one) for one in place if isinstance(one, str)]
    if not names:
        return 1
    table, key = names[0], names[1] if len(names) > 1 else None
    header = re.compile(rf"\s*\[+\s*[\"']?{table}[\"']?\s*[.\]]")
    starts = [number for number, line in enumerate(lines) if header.match(line)]
    if not starts:
        own = re.compile(rf"\s*[\"']?{table}[\"']?\s*[.=]")
        return next((number for number, line in enumerate(lines, 1) if own.match(line)), 1)
    which = place[1] if len(place) > 1 and isinstance(place[1], int) else 0
    start = starts[min(which, len(starts) - 1)]
    wanted = re.compile(rf"\s*[\"']?{key}[\"']?\s*[.=]") if key is not None else None
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if line.lstrip().startswith("[") and not line.startswith(" "):
            break
        if wanted is not None and wanted.match(line):
            return number
    return start + 1


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
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r" \(at line (\d+), column \d+\)$", message)
        line = int(at[1]) if at else max(1, text.count("\n") + (not text.endswith("\n")))
        raise Wrong(line, re.sub(r" [(]at .*[)]$", "", message)) from None
    except (RecursionError, ValueError) as error:  # the latter: a whole number of thousands of digits
        why = "too many lists or tables within one another" if isinstance(error, RecursionError) else str(error)
        raise OptionError(f"{path}: {why}") from None
