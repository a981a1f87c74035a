"""A TOML file as plain values, and the line of each."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Place, Problem
from sitecrawl.base.text_files import Wrong, text_in
from sitecrawl.plugins.jobs.toml_lines import lines_of


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
